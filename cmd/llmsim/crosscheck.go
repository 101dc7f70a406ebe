package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/internal/validation/crosscheck"
	"github.com/llmsim/llmsim/scenarios"
)

// crosscheckFlags are the flags of the crosscheck command.
type crosscheckFlags struct {
	hardware    string   `flag:"hardware" default:"host.yaml" usage:"the file that llmsim calibrate wrote"`
	accelerator string   `flag:"accelerator" default:"host" usage:"the name of an accelerator in the file of --hardware"`
	set         []string `flag:"set" usage:"override a field of all scenarios: key.path=value (repeatable)"`
	whatIf      []string `flag:"what-if" usage:"also run each scenario with this change, and compare the effects: key.path=value (repeatable)"`
	all         bool     `flag:"all" usage:"run all scenarios that ship with the program for this command"`
	realTime    bool     `flag:"real-time" usage:"also run each scenario with arrivals by the wall clock, to show what the virtual clock leaves out"`
	runs        int      `flag:"runs" least:"1" default:"3" usage:"how often each scenario is executed"`
	formatFlag
	out string `flag:"out" usage:"folder for crosscheck.json, and for the steps, the requests and plots of each scenario; with --what-if, for what-ifs.json"`
}

func crosscheckCommand() *cobra.Command {
	var flags crosscheckFlags
	return declare(&cobra.Command{
		Use:   "crosscheck FILE|NAME… | --all",
		Short: "Compare predicted steps with steps that GPT-2 executes on this machine",
		Long: "Run scenarios with predicted steps and with steps that GPT-2 executes on this " +
			"machine, and compare the results. Requests arrive at virtual times, while the times " +
			"of executed steps are measured. llmsim calibrate writes the hardware file. These " +
			"scenarios ship with the program:\n\n  " + shippedCrossChecks(),
		Example: `  llmsim crosscheck v1-chat --hardware host.yaml
  llmsim crosscheck v1-batch-32 --hardware host.yaml --what-if batching.max-sequences=8
  llmsim crosscheck --all --hardware host.yaml --out results`,
		RunE: flags.run,
	}, &flags)
}

func (flags *crosscheckFlags) run(cmd *cobra.Command, names []string) (err error) {
	if flags.all {
		names = slices.Concat(names, scenarios.CrossChecks())
	}
	if len(names) == 0 {
		return errors.New("give the name of a scenario, or --all; these ship: " +
			"" + shippedCrossChecks())
	}
	if flags.realTime && len(flags.whatIf) > 0 {
		return errors.New("--real-time and --what-if do not go together: leave one of them out")
	}
	for _, name := range names {
		// so that mistakes show before anything runs
		for _, change := range append([]string{""}, flags.whatIf...) {
			if _, err := flags.load(name, change); err != nil {
				return err
			}
		}
	}
	var hosts calibration.Machines
	defer func() { err = errors.Join(err, hosts.Close()) }()
	if len(flags.whatIf) > 0 {
		return failed(flags.ask(cmd, names, &hosts))
	}
	var list []*crosscheck.Comparison
	for i, name := range names {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s (%d of %d)\n", name, i+1, len(names))
		f, err := flags.load(name, "")
		if err != nil {
			return err
		}
		c, err := crosscheck.Compare(cmd.Context(), name, f, &hosts,
			crosscheck.Options{Runs: flags.runs, RealTime: flags.realTime})
		if err != nil {
			return failed(err)
		}
		list = append(list, c)
	}
	return failed(flags.print(cmd, crosscheck.Summarise(list)))
}

// load reads a scenario, with a change to it if one is given.
func (flags *crosscheckFlags) load(name, change string) (*scenarios.File, error) {
	overrides := slices.Concat([]string{
		"hardware.file=" + flags.hardware, "hardware.accelerator=" + flags.accelerator,
		"engine.preset=llmsim-gpt2",
	}, flags.set)
	if change != "" {
		overrides = append(overrides, change)
	}
	return scenarios.LoadCrossCheck(name, overrides...)
}

// ask compares each scenario with each change to it.
func (flags *crosscheckFlags) ask(cmd *cobra.Command, names []string,
	hosts *calibration.Machines) error {
	var list []*crosscheck.WhatIf
	for _, name := range names {
		for _, change := range flags.whatIf {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", name, change)
			before, err := flags.load(name, "")
			if err != nil {
				return err
			}
			after, err := flags.load(name, change)
			if err != nil {
				return err
			}
			w, err := crosscheck.Ask(cmd.Context(), name, change, before, after, hosts, flags.runs)
			if err != nil {
				return err
			}
			list = append(list, w)
		}
	}
	if flags.out != "" {
		if err := crosscheck.SaveWhatIfs(flags.out, list); err != nil {
			return err
		}
	}
	return write(cmd, flags.format, list, nil, func(list []*crosscheck.WhatIf, w io.Writer) error {
		return crosscheck.WriteWhatIfs(w, list)
	})
}

func (flags *crosscheckFlags) print(cmd *cobra.Command, grid *crosscheck.Grid) error {
	if flags.out != "" {
		if err := crosscheck.Save(flags.out, grid); err != nil {
			return err
		}
	}
	return write(cmd, flags.format, grid, nil, func(grid *crosscheck.Grid, w io.Writer) error {
		if len(grid.Comparisons) == 1 {
			return grid.Comparisons[0].WriteText(w)
		}
		return grid.WriteText(w)
	})
}

// shippedCrossChecks lists the scenarios that come with the program for this.
func shippedCrossChecks() string { return strings.Join(scenarios.CrossChecks(), ", ") }
