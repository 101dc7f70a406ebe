package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/timeline"
	"github.com/llmsim/llmsim/scenarios"
)

// waterfallFlags are the flags of the timeline command that show one request.
type waterfallFlags struct {
	request string `flag:"request" usage:"show where the time of one request went: its number, from 0, or slowest"`
	format  string `flag:"format" choice:"table,json" usage:"what to print of --request: table or json"`
	trace   string `flag:"trace" usage:"file for a timeline of the run until --request has ended, to be opened at ui.perfetto.dev"`
}

// run shows the request in each variant.
func (flags *waterfallFlags) run(cmd *cobra.Command, variants []compare.Variant) error {
	if err := files.Replaceable(flags.trace, timeline.TraceHead); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	if flags.trace != "" && len(variants) > 1 {
		return errors.New("--trace is of one run: leave --vary or --trace out")
	}
	var all []timeline.Waterfall
	for _, v := range variants {
		w, err := flags.record(cmd, v)
		if err != nil {
			return failed(err)
		}
		all = append(all, *w)
	}
	return show(cmd, flags.format, timeline.NewDocument(all), nil,
		func(timeline.Document) doc.Blocks { return timeline.Waterfalls(all) })
}

// record runs a variant until the request has ended, and writes the timeline of --trace.
func (flags *waterfallFlags) record(cmd *cobra.Command,
	v compare.Variant) (w *timeline.Waterfall, err error) {
	id, err := flags.number(cmd, v)
	if err != nil {
		return nil, err
	}
	simulation, err := built(cmd, v)
	if err != nil {
		return nil, err
	}
	w = &timeline.Waterfall{Name: v.Label}
	if flags.trace == "" {
		w.Life, err = timeline.RecordLife(cmd.Context(), simulation, id)
		return w, err
	}
	trace, err := timeline.NewTrace(flags.trace, timeline.TraceEvents, simulation.Ledger)
	if err != nil {
		return nil, err
	}
	simulation.StepByStep(trace.Token)
	simulation.OnTransfer(trace.Transfer)
	w.Life, err = timeline.RecordLife(cmd.Context(), simulation, id, trace)
	return w, trace.Close(err)
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
	simulation, err := build(v.Load())
	if err != nil {
		return 0, err
	}
	return timeline.Slowest(cmd.Context(), simulation)
}
