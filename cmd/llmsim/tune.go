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
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// tuneFlags are the flags of the tune command.
type tuneFlags struct {
	set          []string `flag:"set" usage:"override a field of the scenario: key.path=value (repeatable)"`
	vary         []string `flag:"vary" usage:"tune this key over these values, and no other keys: key.path=value,value (repeatable)"`
	goal         string   `flag:"goal" choice:",slo,latency,throughput" usage:"what to improve: slo (the use of the SLO's tightest limit), latency (the mean time of a request) or throughput. Default: slo, or throughput if all requests arrive at once"`
	most         int      `flag:"options" least:"1" default:"1000" usage:"the most options in the first round; if there are more combinations, the options are drawn from them"`
	requests     int      `flag:"requests" least:"1" default:"4000" usage:"the most requests of a simulation"`
	replications int      `flag:"replications" least:"1" default:"10" usage:"seeds of the last comparison, and of the runs that say what each setting brings"`
	confidence   float64  `flag:"confidence" default:"0.95" usage:"confidence of the intervals, above 0 and below 1"`
	workers      int      `flag:"workers" least:"1" usage:"simulations at the same time"`
	formatFlag
	out      string `flag:"out" usage:"folder for tune.json, and for scenario.yaml with the best settings"`
	emit     string `flag:"emit" usage:"folder for the files that start the best option: start.sh, kubernetes.yaml and notes"`
	checkSLO bool   `flag:"check-slo" usage:"exit with code 3 if a run of the best option misses the SLO"`
}

func tuneCommand() *cobra.Command {
	flags := tuneFlags{workers: runtime.GOMAXPROCS(0)}
	return declare(&cobra.Command{
		Use:   "tune FILE|NAME",
		Short: "Find the best engine settings for a scenario, and say what each of them brings",
		Long: "Find the best engine settings for a scenario's traffic, SLO and hardware, and say " +
			"what each of them brings. Without --vary, the command tunes how replicas divide the " +
			"accelerators, and each number that the engine has a flag for.",
		Example: `  llmsim tune chat
  llmsim tune my.yaml --set workload.rate=20/s --out tuned
  llmsim tune my.yaml --vary batching.token-budget=512,2048,8192 --vary memory=paged,prefix-cache`,
		Args: arguments(1, 1),
		RunE: varied(&flags.vary, flags.run),
	}, &flags)
}

func (flags *tuneFlags) run(cmd *cobra.Command, args []string) error {
	name := args[0]
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
	if flags.out != "" {
		if err := files.Write(filepath.Join(flags.out, "tune.json"), func(w io.Writer) error {
			return report.JSON(w, a)
		}); err != nil {
			return err
		}
		name := filepath.Join(flags.out, "scenario.yaml")
		if err := files.WriteBytes(name, a.Scenario(), 0o666); err != nil {
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
	return show(cmd, flags.format, a, nil, (*tuning.Answer).Blocks)
}
