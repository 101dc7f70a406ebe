package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/drift"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// twinDriftFlags are the flags of the twin drift command.
type twinDriftFlags struct {
	sourceFlags
	scenario string   `flag:"scenario" required:"true" usage:"the scenario of the deployment"`
	set      []string `flag:"set" usage:"override a field: key.path=value (repeatable)"`
	apart    float64  `flag:"apart" default:"1e6" usage:"the least mean number of requests between false alarms of a figure, if nothing changes"`
	print    string   `flag:"print" choice:"table,json" usage:"what to print: table or json"`
	rules    string   `flag:"rules" usage:"file for alerting rules of Prometheus"`
}

func twinDriftCommand() *cobra.Command {
	var flags twinDriftFlags
	return declare(&cobra.Command{
		Use:   "drift DEPLOYMENT [SOURCE…]",
		Short: "Say whether a deployment, or its traffic, is no longer what it was",
		Long: "Runs the traffic of the sources through the twin, and looks at the difference " +
			"as it " +
			"comes in: is the machine still as fast as the twin says, and is the traffic still " +
			"that of " +
			"the fit? The rate of false alarms is a parameter.\n\nExit codes for cron: 0 no " +
			"change, 3 " +
			"the machine changed (and perhaps the traffic), 4 only the traffic changed.",
		Example: `  llmsim twin drift deployment.yaml bench.json --scenario s.yaml
  llmsim twin drift deployment.yaml --scenario s.yaml --rules rules.yaml`,
		Args: arguments(1, noLimit),
		RunE: flags.run,
	}, &flags)
}

func (flags *twinDriftFlags) run(cmd *cobra.Command, args []string) error {
	if !(flags.apart >= 1000 && flags.apart <= 1e12) {
		return fmt.Errorf("--apart: found %g, allowed: 1000 to 1e12", flags.apart)
	}
	fitted, err := scenarios.ReadFitted(files.Disk{}, args[0])
	if err != nil {
		return err
	}
	server := serverOf(flags.scenario, flags.set)
	if flags.rules != "" {
		text, err := drift.Rules(cmd.Context(), &server, fitted)
		if err != nil {
			return err
		}
		if err := files.WriteBytes(flags.rules, []byte(text), 0o666); err != nil {
			return failed(err)
		}
		if len(args) == 1 {
			return nil
		}
	}
	if len(args) == 1 {
		return errors.New("give a source beside the deployment, or --rules")
	}
	o, err := flags.seen(args[1:])
	if err != nil {
		return err
	}
	if err := server.Matches(o); err != nil {
		return err
	}
	found, err := drift.Run(cmd.Context(), drift.Config{Server: server, Fitted: fitted,
		Runs: o.Runs, Apart: flags.apart})
	if err != nil {
		return err
	}
	err = write(cmd, flags.print, found, nil, (*drift.Result).WriteText)
	switch {
	case err != nil:
		return err
	case found.MachineChanged():
		return errMachineDrifted
	case found.TrafficChanged():
		return errTrafficDrifted
	}
	return nil
}

// seen reads sources, or one folder that twin observe wrote.
func (flags *sourceFlags) seen(args []string) (*observed.Observed, error) {
	if len(args) == 1 && files.Exists(files.Disk{}, filepath.Join(args[0], observed.MainFile)) {
		return observed.Open(files.Disk{}, args[0])
	}
	return flags.read(args)
}

// twinReplayFlags are the flags of the twin replay command.
type twinReplayFlags struct {
	sourceFlags
	scenario string   `flag:"scenario" required:"true" usage:"the scenario of the deployment"`
	set      []string `flag:"set" usage:"override a field: key.path=value (repeatable)"`
	out      string   `flag:"out" default:"report.html" usage:"file for the page"`
}

func twinReplayCommand() *cobra.Command {
	var flags twinReplayFlags
	return declare(&cobra.Command{
		Use:   "replay OBSERVED",
		Short: "Show observed requests beside what the twin predicts for them",
		Long: "Runs the observed requests through the scenario, with the deployment that it " +
			"names, and writes a page with the distributions of latencies, measured and " +
			"predicted, and the requests that are farthest from their prediction. It prints " +
			"measured / predicted latencies of each run.",
		Example: `  llmsim twin replay observed --scenario s.yaml --set engine.deployment=deployment.yaml`,
		Args:    arguments(1, noLimit),
		RunE:    flags.run,
	}, &flags)
}

func (flags *twinReplayFlags) run(cmd *cobra.Command, args []string) error {
	o, err := flags.seen(args)
	if err != nil {
		return err
	}
	server := serverOf(flags.scenario, flags.set)
	if err := server.Matches(o); err != nil {
		return err
	}
	runs, err := drift.Simulate(cmd.Context(), &server, o)
	if err != nil {
		return err
	}
	if err := files.Write(flags.out, func(w io.Writer) error {
		return drift.WriteReplayPage(w, "Measured and predicted", runs)
	}); err != nil {
		return failed(err)
	}
	return failed(drift.WriteReplay(cmd.OutOrStdout(), runs))
}
