package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/page"

	"github.com/spf13/cobra"
)

// compareFlags are the flags of the compare command.
type compareFlags struct {
	set, vary    []string
	replications int
	confidence   float64
	workers      int
	format       string
	out          string
}

func compareCommand() *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "compare FILE|NAME…",
		Short: "Compare scenarios: what differs, which change matters, and is it more than noise?",
		Example: `  llmsim compare before.yaml after.yaml
  llmsim compare chat --vary batching.token-budget=512,2048,8192
  llmsim compare chat offline --out results`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.set, "set", nil, "override a field of all scenarios: key.path=value (repeatable)")
	f.StringArrayVar(&flags.vary, "vary", nil, "compare one scenario with itself: key.path=value,value (repeatable)")
	f.Var(countOf(&flags.replications, 10), "replications", "runs of each scenario, each with another seed")
	f.Float64Var(&flags.confidence, "confidence", 0.95, "confidence of the intervals, above 0 and below 1")
	f.Var(countOf(&flags.workers, runtime.GOMAXPROCS(0)), "workers", "runs at the same time")
	f.Var(choice(&flags.format, "table", "json"), "format", "what to print: table or json")
	f.StringVar(&flags.out, "out", "", "folder for comparison.json and report.html, with the scenarios side by side")
	return cmd
}

func (flags *compareFlags) run(cmd *cobra.Command, names []string) error {
	if flags.replications < 2 || !(flags.confidence > 0 && flags.confidence < 1) {
		return errors.New("noise needs 2 replications at least, and a confidence above 0 and below 1, such as 0.95")
	}
	variants, err := flags.variants(names)
	if err != nil {
		return err
	}
	c, err := compare.Run(cmd.Context(), variants, compare.Options{
		Replications: flags.replications, Confidence: flags.confidence, Workers: flags.workers,
	})
	if err == nil {
		err = flags.print(cmd, c)
	}
	return failed(err)
}

func (flags *compareFlags) variants(names []string) ([]compare.Variant, error) {
	if len(flags.vary) == 0 {
		return compare.Files(names, flags.set), nil
	}
	if len(names) > 1 {
		return nil, fmt.Errorf("--vary takes one scenario, found %d", len(names))
	}
	points, err := grid(flags.vary)
	if err != nil {
		return nil, err
	}
	return compare.Points(names[0], flags.set, points), nil
}

// grid returns the points of --vary flags.
func grid(vary []string) ([]planner.Point, error) {
	list, err := axes(vary)
	if err != nil {
		return nil, err
	}
	return planner.Grid(list)
}

// axes returns the keys and values of --vary flags.
func axes(vary []string) ([]planner.Axis, error) {
	list := make([]planner.Axis, len(vary))
	for i, text := range vary {
		var err error
		if list[i], err = planner.ParseAxis(text); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (flags *compareFlags) print(cmd *cobra.Command, c *compare.Comparison) error {
	if flags.out != "" {
		if err := writeFile(filepath.Join(flags.out, "report.html"), func(w io.Writer) error { return page.Write(w, c.Pages...) }); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(flags.out, "comparison.json"), func(w io.Writer) error { return report.JSON(w, c) }); err != nil {
			return err
		}
	}
	if flags.format == "json" {
		return report.JSON(cmd.OutOrStdout(), c)
	}
	return c.WriteText(cmd.OutOrStdout())
}
