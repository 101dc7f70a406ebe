package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/tuning"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// tuneFlags are the flags of the tune command.
type tuneFlags struct {
	set, vary    []string
	goal         string
	most         int
	requests     int
	replications int
	confidence   float64
	workers      int
	format       string
	out, emit    string
	checkSLO     bool
}

func tuneCommand() *cobra.Command {
	var flags tuneFlags
	cmd := &cobra.Command{
		Use:   "tune FILE|NAME",
		Short: "Find the best engine settings for a scenario, and say what each of them brings",
		Long: "Find the best engine settings for a scenario's traffic, SLO and hardware, and say " +
			"what each of them brings. Without --vary, the command tunes how replicas divide the " +
			"accelerators, and each number that the engine has a flag for.",
		Example: `  llmsim tune chat
  llmsim tune my.yaml --set workload.rate=20/s --out tuned
  llmsim tune my.yaml --vary batching.token-budget=512,2048,8192 --vary memory=paged,prefix-cache`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return varied(flags.run(cmd, args[0]), flags.vary)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.set, "set", nil,
		"override a field of the scenario: key.path=value (repeatable)")
	f.StringArrayVar(&flags.vary, "vary", nil,
		"tune this key over these values, and no other keys: key.path=value,value (repeatable)")
	f.Var(choice(&flags.goal, "", "slo", "latency", "throughput"), "goal",
		"what to improve: slo (the use of the SLO's tightest limit), latency (the mean time of a "+
			"request) or throughput. Default: slo, or throughput if all requests arrive at once")
	f.Var(countOf(&flags.most, 1000), "options",
		"the most options in the first round; if there are more combinations, the options are "+
			"drawn from them")
	f.Var(countOf(&flags.requests, 4000), "requests", "the most requests of a simulation")
	f.Var(countOf(&flags.replications, 10), "replications",
		"seeds of the last comparison, and of the runs that say what each setting brings")
	f.Float64Var(&flags.confidence, "confidence", 0.95,
		"confidence of the intervals, above 0 and below 1")
	f.Var(countOf(&flags.workers, runtime.GOMAXPROCS(0)), "workers",
		"simulations at the same time")
	f.Var(choice(&flags.format, "table", "json"), "format", "what to print: table or json")
	f.StringVar(&flags.out, "out", "",
		"folder for tune.json, and for scenario.yaml with the best settings")
	f.StringVar(&flags.emit, "emit", "",
		"folder for the files that start the best option: start.sh, kubernetes.yaml and notes")
	f.BoolVar(&flags.checkSLO, "check-slo", false,
		"exit with code 3 if a run of the best option misses the SLO")
	return cmd
}

func (flags *tuneFlags) run(cmd *cobra.Command, name string) error {
	if flags.emit != "" {
		if err := launch.CheckFolder(flags.emit); err != nil {
			return fmt.Errorf("--emit: %w", err)
		}
	}
	axes, err := axes(flags.vary)
	if err != nil {
		return err
	}
	text, err := scenarios.Read(name)
	if err != nil {
		return err
	}
	load := func(overrides ...string) (*scenarios.File, error) {
		set := append(flags.set[:len(flags.set):len(flags.set)], overrides...)
		return scenarios.Parse(name, text, set...)
	}
	counter := report.NewCounter(cmd.ErrOrStderr(), "simulations")
	counter.Start(-1)
	answer, err := tuning.Tune(cmd.Context(), load, tuning.Options{
		Goal: flags.goal, Axes: axes, Replications: flags.replications,
		Requests: int64(flags.requests), Most: flags.most, Confidence: flags.confidence,
		Workers: flags.workers, Ran: counter.Step,
	})
	counter.End()
	if err == nil {
		err = flags.write(cmd, answer)
	}
	if err != nil {
		return failed(err)
	}
	if flags.checkSLO && answer.Tuned.Met < 1 {
		return errSLOMissed
	}
	return nil
}

// write prints the answer, and writes the files of --out.
func (flags *tuneFlags) write(cmd *cobra.Command, a *tuning.Answer) error {
	asJSON := func(w io.Writer) error { return report.JSON(w, a) }
	if flags.out != "" {
		if err := files.Write(filepath.Join(flags.out, "tune.json"), asJSON); err != nil {
			return err
		}
		scenario := func(w io.Writer) error { _, err := w.Write(a.Scenario()); return err }
		if err := files.Write(filepath.Join(flags.out, "scenario.yaml"), scenario); err != nil {
			return err
		}
	}
	if flags.emit != "" {
		b := a.Bundle()
		if b == nil {
			return errors.New("no engine is known that starts the best option on its hardware")
		}
		if err := b.Write(flags.emit); err != nil {
			return err
		}
	}
	if flags.format == "json" {
		return asJSON(cmd.OutOrStdout())
	}
	return doc.Print(cmd.OutOrStdout(), a.Blocks())
}
