package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/sweep"
)

// mergeFlags are the flags of the merge command.
type mergeFlags struct {
	out     string `flag:"out" usage:"folder for the results"`
	noPlots bool   `flag:"no-plots" usage:"write no plots of a sweep"`
}

func mergeCommand() *cobra.Command {
	var flags mergeFlags
	return declare(&cobra.Command{
		Use:   "merge DIR…",
		Short: "Join the shards of a sweep or a plan (see --shard) into the results of the whole",
		Long: "Join the shards of a sweep or a plan. The results have the same bytes as those of " +
			"one undivided run. The files that the scenario names must still be in the same " +
			"places.",
		Example: "  llmsim merge results/shard-* --out results/all",
		Args:    arguments(1, noLimit),
		RunE:    flags.run,
	}, &flags)
}

// run joins the journals, and answers the question from them.
func (flags *mergeFlags) run(cmd *cobra.Command, dirs []string) error {
	if flags.out == "" {
		return errors.New("--out is missing: give the folder for the results")
	}
	j, err := planner.OpenJournal(filepath.Join(flags.out, "journal.jsonl"))
	if err != nil {
		return failed(err)
	}
	defer j.Close()
	q, err := planner.MergeShards(dirs, j)
	if err != nil {
		return failed(err)
	}
	if q.Command == "plan" {
		return mergePlan(cmd, q, j, flags.out)
	}
	return failed(mergeSweep(cmd, q, j, &sweepFlags{out: flags.out, noPlots: flags.noPlots}))
}

func mergeSweep(cmd *cobra.Command,
	q planner.Question, j *planner.Journal, flags *sweepFlags) error {
	axes, err := axes(q.Vary)
	if err != nil {
		return err
	}
	s := sweep.Sweep{Name: q.Name, Text: q.Text, Set: q.Set, Axes: axes}
	results, err := s.Run(cmd.Context(), sweep.Options{Journal: j, Recorded: true})
	if err != nil {
		return err
	}
	return flags.write(cmd, results)
}

func mergePlan(cmd *cobra.Command, q planner.Question, j *planner.Journal, out string) error {
	file, err := asked.Parse(q.Name, []byte(q.Text), q.Set...)
	if err != nil {
		return err
	}
	answers, err := capacity.Solve(cmd.Context(), file, capacity.Options{Journal: j, Curves: true,
		Recorded: true})
	flags := planFlags{out: out}
	return flags.conclude(cmd, answers, err)
}
