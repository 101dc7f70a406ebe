package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/timeline"
	"github.com/llmsim/llmsim/scenarios"
)

// timelineFlags are the flags of the timeline command.
type timelineFlags struct {
	set      []string `flag:"set" usage:"override a field: key.path=value (repeatable)"`
	vary     []string `flag:"vary" usage:"draw a chart for each value: key.path=value,value (repeatable)"`
	requests int      `flag:"requests" least:"1" default:"12" usage:"number of requests to show"`
	first    int      `flag:"first" usage:"number of the first request to show, where 0 is the first of the workload"`
	blocks   bool     `flag:"blocks" usage:"also show which request holds which KV block, from vLLM's list of free blocks"`
	out      string   `flag:"out" usage:"folder for timeline.html and timeline.svg"`
	one      waterfallFlags
}

func timelineCommand() *cobra.Command {
	var flags timelineFlags
	cmd := declare(&cobra.Command{
		Use:   "timeline FILE|NAME",
		Short: "Show some requests and the steps that carry them, under one policy or several",
		Example: `  llmsim timeline chat
  llmsim timeline chat --vary batching=static,orca,sarathi --out pictures
  llmsim timeline attention-mha --vary memory=contiguous,paged --blocks --out pictures
  llmsim timeline chat --request slowest --trace trace.json`,
		Args: arguments(1, 1),
		RunE: varied(&flags.vary, flags.run),
	}, &flags, &flags.one)
	for _, other := range []string{"requests", "first", "blocks", "out"} {
		cmd.MarkFlagsMutuallyExclusive("request", other)
	}
	return cmd
}

func (flags *timelineFlags) run(cmd *cobra.Command, args []string) error {
	name := args[0]
	variants := compare.Files([]string{name}, flags.set)
	if len(flags.vary) > 0 {
		points, err := grid(flags.vary)
		if err != nil {
			return err
		}
		variants = compare.Points(name, flags.set, points)
	}
	if flags.one.request != "" {
		return flags.one.run(cmd, variants)
	}
	if flags.one.format != "table" || flags.one.trace != "" {
		return errors.New("--format json and --trace show one request: give its number as " +
			"--request, or slowest")
	}
	return flags.draw(cmd, "Timeline of "+name, variants)
}

// draw draws some requests of each variant.
func (flags *timelineFlags) draw(cmd *cobra.Command, title string,
	variants []compare.Variant) error {
	var charts []*timeline.Chart
	for _, v := range variants {
		simulation, err := built(cmd, v)
		if err != nil {
			return err
		}
		if name := simulation.Scenario.Name; name != "" {
			title = name
		}
		chart, err := timeline.RecordChart(cmd.Context(), v.Label, simulation, int64(flags.first),
			flags.requests, flags.blocks)
		if err != nil {
			return failed(err)
		}
		charts = append(charts, chart)
	}
	if flags.out != "" {
		for name, write := range map[string]func(io.Writer, string, []*timeline.Chart) error{
			"timeline.html": timeline.WritePage, "timeline.svg": timeline.WriteSVG} {
			if err := files.Write(filepath.Join(flags.out, name), func(w io.Writer) error {
				return write(w, title, charts)
			}); err != nil {
				return failed(err)
			}
		}
	}
	return failed(doc.Print(cmd.OutOrStdout(), timeline.Charts(charts)))
}

// built returns the simulation of a variant, and prints its warnings.
func built(cmd *cobra.Command, v compare.Variant) (*scenarios.Simulation, error) {
	simulation, err := build(v.Load())
	if err != nil {
		return nil, err
	}
	printNotes(cmd, simulation.Warnings)
	return simulation, nil
}

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
