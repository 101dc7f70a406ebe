package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// twinCommand is the group of commands around a deployment of one's own.
func twinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "twin",
		Short: "Fit the simulator to a deployment of your own",
		Long: "Reads what a deployment has written or exposes, fits a few factors to it, and " +
			"keeps " +
			"watch over both. docs/twin.md shows it from an own `vllm bench serve` to a plan.",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []*cobra.Command{twinObserveCommand(), twinAdaptCommand(),
		twinDriftCommand(), twinReplayCommand()} {
		c.Long = reflow(c.Long)
		cmd.AddCommand(c)
	}
	return cmd
}

// sourceFlags say how sources are read.
type sourceFlags struct {
	format string   `flag:"format" usage:"the format of the sources. Default: found by itself"`
	fields []string `flag:"map" usage:"the column of a CSV file that has a field, as field=column (repeatable)"`
}

// day refuses what is no date.
func day(text string) error {
	var y, m, d int
	if n, err := fmt.Sscanf(text, "%4d-%2d-%2d", &y, &m, &d); n != 3 || err != nil ||
		len(text) != 10 {
		return fmt.Errorf("--date: found %q, want a day such as 2026-11-23", text)
	}
	return nil
}

// twinObserveFlags are the flags of the twin observe command.
type twinObserveFlags struct {
	sourceFlags
	out        string        `flag:"out" usage:"folder for observed.json and workload.yaml"`
	scrape     string        `flag:"scrape" usage:"address of a server whose /metrics is read over time"`
	prometheus string        `flag:"prometheus" usage:"address of a Prometheus that scrapes the server"`
	selector   string        `flag:"selector" usage:"labels that choose the server's series in Prometheus, such as job=\"vllm\""`
	span       time.Duration `flag:"for" default:"10m" usage:"how long to scrape, or to look back"`
	every      time.Duration `flag:"every" default:"1m" usage:"the time between two pages of metrics"`
}

func twinObserveCommand() *cobra.Command {
	var flags twinObserveFlags
	return declare(&cobra.Command{
		Use:   "observe [SOURCE…]",
		Short: "Read what was seen of a deployment: results, logs, metrics, traces",
		Long: "Reads files and folders of load generators, engines and Prometheus, says what " +
			"is in " +
			"them and what is missing, and writes a folder for the other commands. Nothing of a " +
			"prompt's text is kept.\n\nFormats: " + strings.Join(formats.Names(), ", ") + ".",
		Example: `  llmsim twin observe bench/*.json --out observed
  llmsim twin observe --scrape http://server:8000 --for 10m --out observed
  llmsim twin observe requests.csv --map first=t_first_s --map last=t_last_s --out observed`,
		Args: arguments(0, noLimit),
		RunE: flags.run,
	}, &flags)
}

func (flags *twinObserveFlags) run(cmd *cobra.Command, args []string) error {
	o, err := flags.observe(cmd, args)
	if err != nil {
		return err
	}
	if flags.out != "" {
		if err := o.Save(flags.out); err != nil {
			return failed(err)
		}
	}
	return failed(o.WriteText(cmd.OutOrStdout()))
}

// observe reads all sources.
func (flags *twinObserveFlags) observe(cmd *cobra.Command,
	args []string) (*observed.Observed, error) {
	if len(args) == 0 && flags.scrape == "" && flags.prometheus == "" {
		return nil, errors.New("give a source: files or folders, --scrape or --prometheus")
	}
	o, err := flags.read(args)
	if err != nil {
		return nil, err
	}
	if address := cmp.Or(flags.scrape, flags.prometheus); address != "" {
		how := formats.Scrape{Address: address, For: flags.span, Every: flags.every,
			Selector: flags.selector, Prometheus: flags.scrape == ""}
		live, err := how.Run(cmd.Context())
		if err != nil {
			return nil, failed(err)
		}
		o.Add(live)
	}
	return o, nil
}

// read reads files and folders.
func (flags *sourceFlags) read(args []string) (*observed.Observed, error) {
	columns := map[string]string{}
	for _, pair := range flags.fields {
		field, column, found := strings.Cut(pair, "=")
		if !found || column == "" {
			return nil, fmt.Errorf("--map: found %q, want field=column", pair)
		}
		maps.Copy(columns, map[string]string{field: column})
	}
	all := &observed.Observed{}
	for _, path := range args {
		o, err := formats.Read(files.Disk{}, path,
			formats.Options{Format: flags.format, Columns: columns})
		if err != nil {
			return nil, err
		}
		all.Add(o)
	}
	return all, nil
}

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
		Long: "Fits the factors of engine.factors to what twin observe wrote, and writes a file " +
			"that scenarios name as engine.deployment. The last part of the time is held out, " +
			"and the errors before and after are printed, in the fit and held out.",
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
