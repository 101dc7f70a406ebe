package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/planner/capacity"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/journal"
	"github.com/llmsim/llmsim/internal/planner/sweep"
)

func mergeCommand() *cobra.Command {
	var (
		out     string
		noPlots bool
	)
	cmd := &cobra.Command{
		Use:   "merge DIR…",
		Short: "Join the shards of a sweep or a plan (see --shard) into the results of the whole",
		Long: "Join the shards of a sweep or a plan. The results have the same bytes as those of " +
			"one undivided run. The files that the scenario names must still be in the same " +
			"places.",
		Example: "  llmsim merge results/shard-* --out results/all",
		Args:    arguments(1, noLimit),
		RunE: func(cmd *cobra.Command, args []string) error {
			return merge(cmd, args, out, noPlots)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the results")
	cmd.Flags().BoolVar(&noPlots, "no-plots", false, "write no plots of a sweep")
	return cmd
}

// merge joins the journals, and answers the question from them.
func merge(cmd *cobra.Command, dirs []string, out string, noPlots bool) error {
	if out == "" {
		return errors.New("--out is missing: give the folder for the results")
	}
	j, err := journal.Open(filepath.Join(out, "journal.jsonl"))
	if err != nil {
		return failed(err)
	}
	defer j.Close()
	q, err := journal.MergeShards(dirs, j)
	if err != nil {
		return failed(err)
	}
	if q.Command == "plan" {
		return mergePlan(cmd, q, j, out)
	}
	return failed(mergeSweep(cmd, q, j, &sweepFlags{out: out, noPlots: noPlots}))
}

func mergeSweep(cmd *cobra.Command,
	q journal.Question, j *journal.Journal, flags *sweepFlags) error {
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

func mergePlan(cmd *cobra.Command, q journal.Question, j *journal.Journal, out string) error {
	file, err := asked.Parse(q.Name, []byte(q.Text), q.Set...)
	if err != nil {
		return err
	}
	answers, err := capacity.Solve(cmd.Context(), file, capacity.Options{Journal: j,
		Recorded: true})
	flags := planFlags{out: out}
	return flags.conclude(cmd, answers, err)
}
