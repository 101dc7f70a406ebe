package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/ask/clients"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/report/timeline"
	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// scenarioFlags are the flags of the scenario command.
type scenarioFlags struct {
	set []string `flag:"set" usage:"override a field: key.path=value (repeatable)"`
	formatFlag
	out        string      `flag:"out" usage:"folder for report.html, summary.json, requests.csv, timeseries.csv and pictures"`
	style      plots.Style `flag:"style" choice:"print,slide" usage:"the use of the pictures in --out: print, or slide (16:9, larger letters)"`
	trace      string      `flag:"trace" usage:"file for a timeline, to open at ui.perfetto.dev"`
	checkSLO   bool        `flag:"check-slo" usage:"exit with code 3 if the SLO is missed"`
	explain    bool        `flag:"explain" usage:"print the scenario with every default filled in, without running it"`
	from       string      `flag:"from" usage:"a command that starts an engine, or a file with such a command or with those of prefill and decode pools (a shell script, a Kubernetes manifest, a folder of --emit), in place of a scenario. A load generator's command beside it is the workload"`
	vars       []string    `flag:"var" usage:"the value of a variable in the command of --from: NAME=value, such as TP=8 (repeatable)"`
	strict     strictFlag
	emit       string `flag:"emit" usage:"folder for the files that start the scenario's fleet: start.sh, kubernetes.yaml and notes. The scenario is not simulated"`
	engine     string
	metrics    string `flag:"metrics" usage:"file for the metrics that a vLLM fleet would have had (OpenMetrics with times from 2026 on)"`
	noInterval bool   `flag:"no-interval" usage:"do not run the further simulations that show how uncertain the figures are and what would help"`
	saveCaches string `flag:"save-caches" usage:"file for what the KV caches hold at the end, from which a scenario can start (caches)"`
	keep       recordFlag

	command *launch.Reading                 // of --from; nil without
	load    func() (*scenarios.File, error) // reads the scenario, each time anew
}

func scenarioCommand() *cobra.Command {
	flags := scenarioFlags{strict: strictFlag{reads: "--from"}}
	cmd := declare(&cobra.Command{
		Use:   "scenario [FILE|NAME]",
		Short: "Simulate a scenario from a file, or one that ships (see llmsim list scenarios)",
		Example: `  llmsim scenario llama2-70b.yaml
  llmsim scenario my.yaml --set workload.rate=4/s --format json
  llmsim scenario my.yaml --out results
  llmsim scenario --from 'vllm serve meta-llama/Llama-3.1-8B' --set hardware=h100-sxm
  llmsim scenario my.yaml --emit deploy`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := flags.run(cmd, args)
			if flags.command != nil {
				err = commanded(err, flags.command, flags.set)
			}
			return err
		},
	}, &flags, &flags.strict, &flags.keep)
	cmd.Flags().Var(choice(&flags.engine, append([]string{""}, launch.Engines()...)...), "engine",
		"the engine of --emit. Default: that of the scenario's preset")
	return cmd
}

func (flags *scenarioFlags) run(cmd *cobra.Command, args []string) error {
	var err error
	if flags.load, err = flags.loader(cmd, args); err != nil {
		return err
	}
	file, err := flags.load()
	if err != nil {
		return err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return err
	}
	if flags.explain {
		text, err := simulation.Explain()
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		return failed(err)
	}
	if flags.emit != "" {
		if err := launch.CheckFolder(flags.emit); err != nil {
			return fmt.Errorf("--emit: %w", err)
		}
		return flags.start(simulation)
	}
	for _, out := range []struct{ flag, path, head string }{
		{"trace", flags.trace, timeline.TraceHead}, {"metrics", flags.metrics, "# HELP"},
		{"save-caches", flags.saveCaches, `{"llmsim_caches":`},
	} {
		if err := files.Replaceable(out.path, out.head); err != nil {
			return fmt.Errorf("--%s: %w", out.flag, err)
		}
	}
	result, err := flags.simulate(cmd, simulation)
	if err == nil {
		err = flags.print(cmd, result)
	}
	if err == nil {
		err = flags.keepRun(cmd, args, file, result)
	}
	if err != nil {
		return failed(err)
	}
	if flags.checkSLO && !result.SLOMet {
		return errSLOMissed
	}
	return nil
}

// loader returns what reads the scenario that the arguments name, or the command of --from, each
// time anew.
func (flags *scenarioFlags) loader(cmd *cobra.Command,
	args []string) (func() (*scenarios.File, error), error) {
	switch {
	case flags.from == "" && len(flags.vars) > 0:
		return nil, errors.New("--var gives variables of a command: it needs --from")
	case flags.from == "" && len(args) == 1:
		return func() (*scenarios.File, error) { return scenarios.Load(args[0], flags.set...) }, nil
	case flags.from == "":
		return nil, errors.New(
			"give a scenario: a file, the name of one that ships (llmsim list scenarios), " +
				"or --from")
	case len(args) > 0:
		return nil, errors.New("--from takes the place of a scenario: leave out one of the two")
	}
	given, err := launch.Variables(flags.vars)
	if err != nil {
		return nil, fmt.Errorf("--var: %w", err)
	}
	reading, err := launch.ReadFileOrText(flags.from, given, flags.set...)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	flags.command = reading
	printNotes(cmd, reading.Notes)
	if err := flags.strict.refuse("--from leaves out", reading.Ignored); err != nil {
		return nil, err
	}
	load, notes, err := clients.Beside(flags.from, given)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	printNotes(cmd, notes)
	settings := slices.Concat(reading.Settings, load, flags.set)
	return func() (*scenarios.File, error) {
		return scenarios.Parse("--from", []byte("{}"), settings...)
	}, nil
}

// start writes what starts the scenario's fleet.
func (flags *scenarioFlags) start(simulation *scenarios.Simulation) error {
	bundle, err := launch.NewBundle(simulation, flags.engine)
	if err != nil {
		return err
	}
	if err := flags.strict.refuse("the files do not express", bundle.Notes); err != nil {
		return err
	}
	return failed(bundle.Write(flags.emit))
}

// simulate runs with the observers that the flags ask for.
func (flags *scenarioFlags) simulate(cmd *cobra.Command,
	simulation *scenarios.Simulation) (*scenarios.Result, error) {
	var observers []sim.Observer
	progress := report.NewProgress(cmd.ErrOrStderr(), simulation.Source.Summary().Requests)
	if progress != nil {
		observers = append(observers, progress)
	}
	if flags.metrics == "" {
		return flags.draw(cmd, simulation, progress, observers)
	}
	config := simulation.Config()
	history := telemetry.NewHistory(telemetry.Engines(&config, simulation.Models()))
	result, err := flags.draw(cmd, simulation, progress, append(observers, history))
	if err != nil {
		return nil, err
	}
	return result, history.Save(flags.metrics)
}

// draw runs, and writes the timeline of --trace.
func (flags *scenarioFlags) draw(cmd *cobra.Command, simulation *scenarios.Simulation,
	progress *report.Progress, observers []sim.Observer) (*scenarios.Result, error) {
	if flags.trace == "" {
		return flags.record(cmd, simulation, progress, observers)
	}
	trace, err := timeline.NewTrace(flags.trace, timeline.TraceEvents, simulation.Ledger)
	if err != nil {
		return nil, err
	}
	simulation.StepByStep(trace.Token)
	simulation.OnTransfer(trace.Transfer)
	result, err := flags.record(cmd, simulation, progress, append(observers, trace))
	return result, trace.Close(err)
}

// record runs, and writes the files of --out.
func (flags *scenarioFlags) record(cmd *cobra.Command, simulation *scenarios.Simulation,
	progress *report.Progress, observers []sim.Observer) (*scenarios.Result, error) {
	if flags.out == "" {
		defer progress.End()
		return flags.measure(cmd, simulation, observers)
	}
	recorder, err := report.NewRecorder(flags.out)
	if err != nil {
		return nil, err
	}
	result, err := flags.measure(cmd, simulation, append(observers, recorder))
	progress.End()
	if err != nil {
		return nil, errors.Join(err, recorder.Discard())
	}
	if err := recorder.Finish(result, simulation.Steps()); err != nil {
		return nil, err
	}
	return result, flags.style.SaveRun(flags.out, &page.Run{Result: result,
		Sample: recorder.Sample(), Steps: simulation.Steps()})
}

// measure runs, and says how sure the result is and, where the SLO is missed, what would help.
func (flags *scenarioFlags) measure(cmd *cobra.Command, simulation *scenarios.Simulation,
	observers []sim.Observer) (*scenarios.Result, error) {
	if flags.saveCaches != "" { // refused before the run rather than after it
		if err := simulation.SaveCaches(io.Discard); err != nil {
			return nil, err
		}
	}
	result, err := simulation.Run(cmd.Context(), observers...)
	if err == nil && flags.saveCaches != "" {
		err = files.Write(flags.saveCaches, simulation.SaveCaches)
	}
	if err != nil || flags.noInterval {
		return result, err
	}
	if result.Intervals, err = stats.Ranges(cmd.Context(), flags.load, result); err != nil {
		return nil, err
	}
	return result, planner.TryRemedies(cmd.Context(), flags.load, result)
}

// keepRun records the run, if --record asks for it.
func (flags *scenarioFlags) keepRun(cmd *cobra.Command, args []string, file *scenarios.File,
	result *scenarios.Result) error {
	name := flags.from
	if len(args) > 0 {
		name = args[0]
	}
	inputs, first := inputsOf(name, file)
	return flags.keep.saveRun(cmd, args, recorded{name: cmp.Or(result.Name, name),
		seed: &result.Seed, inputs: inputs, scenario: first, result: diagnosis.NewDocument(result)})
}

func (flags *scenarioFlags) print(cmd *cobra.Command, result *scenarios.Result) error {
	if flags.format == "json" {
		printNotes(cmd, result.Warnings)
	}
	return show(cmd, flags.format, diagnosis.NewDocument(result), nil,
		func(diagnosis.Document) doc.Blocks { return diagnosis.Summary(result) })
}
