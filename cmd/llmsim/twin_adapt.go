package main

import (
	"fmt"
	"path/filepath"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// twinAdaptFlags are the flags of the twin adapt command.
type twinAdaptFlags struct {
	scenario string   `flag:"scenario" required:"true" usage:"the scenario of the deployment"`
	set      []string `flag:"set" usage:"override a field: key.path=value (repeatable)"`
	out      string   `flag:"out" usage:"file for the factors, such as deployment.yaml"`
	hold     float64  `flag:"hold" default:"0.3" usage:"the share of the time that is held out, up to 0.9"`
	date     string   `flag:"date" usage:"the day of the measurements, such as 2026-11-23. Default: as the sources say"`
	formatFlag
	keep recordFlag
}

func twinAdaptCommand() *cobra.Command {
	var flags twinAdaptFlags
	return declare(&cobra.Command{
		Use:   "adapt OBSERVED",
		Short: "Fit a few factors of a scenario to what was observed",
		Long: "Fits the factors of engine.factors to what twin observe wrote, and writes a " +
			"file that " +
			"scenarios name as engine.deployment. The last part of the time is held out, and the " +
			"errors before and after are printed, in the fit and held out.",
		Example: `  llmsim twin adapt observed --scenario s.yaml --out deployment.yaml
  llmsim scenario s.yaml --set engine.deployment=deployment.yaml`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}, &flags, &flags.keep)
}

func (flags *twinAdaptFlags) run(cmd *cobra.Command, path string) error {
	if !(flags.hold >= 0 && flags.hold <= 0.9) {
		return fmt.Errorf("--hold: found %g, allowed: 0 to 0.9", flags.hold)
	}
	if flags.date != "" {
		if err := day(flags.date); err != nil {
			return err
		}
	}
	o, err := observed.Open(files.Disk{}, path)
	if err != nil {
		return err
	}
	server := serverOf(flags.scenario, flags.set)
	if err := server.Matches(o); err != nil {
		return err
	}
	result, err := fit.Run(cmd.Context(), fit.Config{Server: server, Runs: o.Runs,
		Hold: flags.hold})
	if err != nil {
		return err
	}
	refused := len(result.Refusals()) > 0
	if !refused {
		if result.Next, err = result.FindNext(cmd.Context()); err != nil {
			return err
		}
	}
	date := flags.date
	if date == "" {
		date = o.Date()
	}
	deployment, err := result.Deployment(&server, o, date)
	if err != nil {
		return err
	}
	if flags.out != "" && !refused {
		text, err := deployment.Encode()
		if err == nil {
			err = files.WriteBytes(flags.out, text, 0o666)
		}
		if err != nil {
			return failed(err)
		}
	}
	if err := flags.keepRun(cmd, path, result); err != nil {
		return err
	}
	err = write(cmd, flags.format, result, nil, (*fit.Result).WriteText)
	if err == nil && refused {
		err = errNoTwin
	}
	return err
}

// keepRun records the fit, with the scenario and what was observed, if --record asks for it.
func (flags *twinAdaptFlags) keepRun(cmd *cobra.Command, path string, result any) error {
	file, err := scenarios.Load(flags.scenario, flags.set...)
	if err != nil {
		return err
	}
	inputs, first := inputsOf(flags.scenario, file)
	seen := path
	if filepath.Base(path) != observed.MainFile {
		seen = filepath.Join(path, observed.MainFile)
	}
	return flags.keep.saveRun(cmd, []string{path}, recorded{name: "twin of " + flags.scenario,
		inputs: append(inputs, seen), scenario: first, result: result})
}

// serverOf returns what builds the server of a scenario.
func serverOf(name string, set []string) fit.Server {
	return fit.Server{Load: func(more ...string) (*scenarios.File, error) {
		return scenarios.Load(name, append(append([]string{}, set...), more...)...)
	}}
}
