package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/sweep"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/scenarios"
)

// sweepFlags are the flags of the sweep command.
type sweepFlags struct {
	set     []string    `flag:"set" usage:"override a field at all points: key.path=value (repeatable)"`
	vary    []string    `flag:"vary" usage:"a key and its values, key.path=value,value or key.path=1/s..40/s:8 (repeatable)"`
	format  string      `flag:"format" choice:"table,csv,json" usage:"what to print: table, csv or json"`
	out     string      `flag:"out" usage:"folder for results.csv and .json, plots, and the journal from which a stopped sweep goes on"`
	noPlots bool        `flag:"no-plots" usage:"write no plots into --out"`
	style   plots.Style `flag:"style" choice:"print,slide" usage:"the use of the pictures: print, or slide (16:9, larger letters)"`
	queue   queueFlags
	shard   shardFlag
	keep    recordFlag
}

func sweepCommand() *cobra.Command {
	var flags sweepFlags
	return declare(&cobra.Command{
		Use:   "sweep FILE|NAME",
		Short: "Run a scenario over a grid of settings; with --out, a stopped sweep can go on",
		Example: `  llmsim sweep chat --vary hardware=a100-80gb,h100 --vary workload.rate=1/s..40/s:8
  llmsim sweep llama2-70b --vary parallelism.tensor=1,2,4,8 --out results`,
		Args: arguments(1, 1),
		RunE: varied(&flags.vary, flags.run),
	}, &flags, &flags.queue, &flags.shard, &flags.keep)
}

func (flags *sweepFlags) run(cmd *cobra.Command, args []string) error {
	name := args[0]
	if len(flags.vary) == 0 {
		return errors.New("--vary is missing: give key.path=value,value, such as --vary " +
			"workload.rate=1/s..40/s:8")
	}
	axes, err := axes(flags.vary)
	if err != nil {
		return err
	}
	s := sweep.Sweep{Name: name, Set: flags.set, Axes: axes}
	if err := flags.shard.begin(flags.out, planner.Question{Command: "sweep", Name: name,
		Set: flags.set, Vary: flags.vary}, scenarios.Read); err != nil {
		return err
	}
	results, err := flags.sweep(cmd, &s)
	if err == nil && !flags.shard.Whole() {
		return failed(flags.shard.printDone(cmd, flags.out))
	}
	if err == nil {
		err = flags.write(cmd, results)
	}
	if err == nil {
		err = flags.keepRun(cmd, name, results)
	}
	if err == nil && results.Failed() > 0 {
		err = fmt.Errorf("%d of %d points failed; the results say why, and the same command "+
			"tries these again", results.Failed(), len(results.Rows))
	}
	return failed(err)
}

// keepRun records the sweep, if --record asks for it.
func (flags *sweepFlags) keepRun(cmd *cobra.Command, name string, results *sweep.Results) error {
	file, err := scenarios.Load(name, flags.set...)
	if err != nil {
		return err
	}
	inputs, first := inputsOf(name, file)
	return flags.keep.saveRun(cmd, []string{name}, recorded{name: cmp.Or(file.Scenario.Name, name),
		seed: &file.Scenario.Seed, inputs: inputs, scenario: first, result: results})
}

// sweep runs, with a journal if there is a folder for it.
func (flags *sweepFlags) sweep(cmd *cobra.Command, s *sweep.Sweep) (*sweep.Results, error) {
	counter := report.NewCounter(cmd.ErrOrStderr(), "runs")
	defer counter.End()
	var results *sweep.Results
	err := flags.queue.withJournal(cmd, flags.out, "runs",
		func(c queue.Config, j *planner.Journal) (err error) {
			results, err = s.Run(cmd.Context(), sweep.Options{Queue: c, Shard: flags.shard.Shard,
				Started: counter.Start, Done: counter.Step, Journal: j})
			return err
		})
	return results, err
}

func (flags *sweepFlags) write(cmd *cobra.Command, r *sweep.Results) error {
	asJSON := func(w io.Writer) error { return report.JSON(w, r) }
	if flags.out != "" {
		for name, write := range map[string]func(io.Writer) error{
			"results.csv": r.WriteCSV, "results.json": asJSON,
		} {
			if err := files.Write(filepath.Join(flags.out, name), write); err != nil {
				return err
			}
		}
		if !flags.noPlots {
			if err := r.WritePlots(filepath.Join(flags.out, "plots"), flags.style); err != nil {
				return err
			}
		}
	}
	switch flags.format {
	case "csv":
		return r.WriteCSV(cmd.OutOrStdout())
	case "json":
		return asJSON(cmd.OutOrStdout())
	}
	return doc.Print(cmd.OutOrStdout(), r.Blocks())
}
