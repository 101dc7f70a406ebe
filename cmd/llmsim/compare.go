package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"

	"github.com/spf13/cobra"
)

// compareFlags are the flags of the compare command.
type compareFlags struct {
	set          []string `flag:"set" usage:"override a field of all scenarios: key.path=value (repeatable)"`
	vary         []string `flag:"vary" usage:"compare a scenario with variants of it: key.path=value,value (repeatable)"`
	replications int      `flag:"replications" least:"1" default:"10" usage:"runs of each scenario, each with another seed"`
	confidence   float64  `flag:"confidence" default:"0.95" usage:"confidence of the intervals, above 0 and below 1"`
	workers      int      `flag:"workers" least:"1" usage:"runs at the same time"`
	format       string   `flag:"format" choice:"table,json,markdown" usage:"what to print: table, json, or markdown for the summary of a pull request"`
	out          string   `flag:"out" usage:"folder for comparison.json and for report.html, which shows the scenarios side by side"`
	failOn       []string `flag:"fail-on" usage:"exit with code 3 if a metric is worse than a limit: 'p99_ttft_ms > +5%' (repeatable)"`
	junit        string   `flag:"junit" usage:"file for a JUnit report of the limits of --fail-on"`
	noInterval   bool     `flag:"no-interval" usage:"do not run the further simulations that show how uncertain the differences are"`
}

func compareCommand() *cobra.Command {
	flags := compareFlags{workers: runtime.GOMAXPROCS(0)}
	return declare(&cobra.Command{
		Use:   "compare FILE|NAME…",
		Short: "Compare scenarios: what differs, which change matters, and is it more than noise?",
		Example: `  llmsim compare before.yaml after.yaml
  llmsim compare chat --vary batching.token-budget=512,2048,8192
  llmsim compare chat offline --out results
  llmsim compare before.yaml after.yaml --fail-on 'p99_ttft_ms > +5%' --junit gate.xml`,
		Args: arguments(1, noLimit),
		RunE: varied(&flags.vary, flags.run),
	}, &flags)
}

func (flags *compareFlags) run(cmd *cobra.Command, names []string) error {
	if flags.replications < 2 || !(flags.confidence > 0 && flags.confidence < 1) {
		return errors.New("the intervals need at least 2 replications, and a confidence above 0 " +
			"and below 1, such as 0.95")
	}
	variants, err := flags.variants(names)
	if err != nil {
		return err
	}
	gates, err := flags.gates()
	if err != nil {
		return err
	}
	c, err := compare.Run(cmd.Context(), variants, compare.Options{
		Replications: flags.replications, Confidence: flags.confidence, Workers: flags.workers,
		NoInterval: flags.noInterval, Gates: gates,
	})
	if err != nil {
		return failed(err)
	}
	checks := c.Check(gates)
	if err := flags.print(cmd, c, checks); err != nil {
		return failed(err)
	}
	if n := compare.Failed(checks); n > 0 {
		return fmt.Errorf("%w: %d of %d", errGateFailed, n, len(checks))
	}
	return nil
}

func (flags *compareFlags) gates() ([]compare.Gate, error) {
	gates := make([]compare.Gate, len(flags.failOn))
	for i, text := range flags.failOn {
		var err error
		if gates[i], err = compare.ParseGate(text); err != nil {
			return nil, fmt.Errorf("--fail-on: %w", err)
		}
	}
	if flags.junit != "" && len(gates) == 0 {
		return nil, errors.New("--junit writes the outcome of --fail-on: give a limit with " +
			"--fail-on")
	}
	return gates, nil
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

func (flags *compareFlags) print(cmd *cobra.Command, c *compare.Comparison,
	checks []compare.Check) error {
	if flags.out != "" {
		if err := files.Write(filepath.Join(flags.out, "report.html"), c.WritePage); err != nil {
			return err
		}
		if err := files.Write(filepath.Join(flags.out, "comparison.json"), func(w io.Writer) error {
			return report.JSON(w, c)
		}); err != nil {
			return err
		}
	}
	if flags.junit != "" {
		if err := files.Write(flags.junit, func(w io.Writer) error {
			return compare.WriteJUnit(w, checks)
		}); err != nil {
			return err
		}
	}
	return write(cmd, flags.format, c, nil, func(_ *compare.Comparison, w io.Writer) error {
		if flags.format == "markdown" {
			return c.WriteMarkdown(w, checks)
		}
		return doc.Print(w, c.Blocks(checks))
	})
}
