package main

import (
	"errors"
	"fmt"

	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/waterfall"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// waterfallFlags are the flags of the timeline command that show one request.
type waterfallFlags struct {
	request string
	format  string
	trace   string
}

func (flags *waterfallFlags) add(f *pflag.FlagSet) {
	f.StringVar(&flags.request, "request", "",
		"show where the time of one request went: its number, from 0, or slowest")
	f.Var(choice(&flags.format, "table", "json"), "format",
		"what to print of --request: table or json")
	f.StringVar(&flags.trace, "trace", "",
		"file for a timeline of the run until --request has ended, to be opened at "+
			"ui.perfetto.dev")
}

// run shows the request in each variant.
func (flags *waterfallFlags) run(cmd *cobra.Command, variants []compare.Variant) error {
	if flags.trace != "" && len(variants) > 1 {
		return errors.New("--trace is of one run: leave --vary or --trace out")
	}
	var all []waterfall.Waterfall
	for _, v := range variants {
		w, err := flags.record(cmd, v)
		if err != nil {
			return failed(err)
		}
		all = append(all, *w)
	}
	if flags.format == "json" {
		return failed(report.JSON(cmd.OutOrStdout(), waterfall.NewDocument(all)))
	}
	return failed(waterfall.WriteText(cmd.OutOrStdout(), all))
}

// record runs a variant until the request has ended, and writes the timeline of --trace.
func (flags *waterfallFlags) record(cmd *cobra.Command,
	v compare.Variant) (w *waterfall.Waterfall, err error) {
	id, err := flags.number(cmd, v)
	if err != nil {
		return nil, err
	}
	simulation, err := built(cmd, v)
	if err != nil {
		return nil, err
	}
	w = &waterfall.Waterfall{Name: v.Label}
	if flags.trace == "" {
		w.Life, err = waterfall.Record(cmd.Context(), simulation, id)
		return w, err
	}
	timeline, err := report.NewTimeline(flags.trace, report.TimelineEvents, simulation.Ledger)
	if err != nil {
		return nil, err
	}
	simulation.StepByStep(timeline.Token)
	simulation.OnTransfer(timeline.Transfer)
	w.Life, err = waterfall.Record(cmd.Context(), simulation, id, timeline)
	return w, timeline.Close(err)
}

// number returns the number of the request.
func (flags *waterfallFlags) number(cmd *cobra.Command, v compare.Variant) (int64, error) {
	if flags.request != "slowest" {
		n, err := parseCount(flags.request, 0)
		if err != nil {
			return 0, scenarios.BadInput(fmt.Errorf("--request: %w, or slowest", err))
		}
		return int64(n), nil
	}
	file, err := v.Load()
	if err != nil {
		return 0, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return 0, err
	}
	return waterfall.Slowest(cmd.Context(), simulation)
}
