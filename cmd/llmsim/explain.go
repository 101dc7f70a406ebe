package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/lesson"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/scenarios"
)

// explainFlags are the flags of the explain command.
type explainFlags struct {
	set      []string    `flag:"set" usage:"override a field of the scenario: key.path=value (repeatable)"`
	prompt   int         `flag:"prompt" least:"1" default:"512" usage:"length of the prompt, in tokens"`
	context  int         `flag:"context" least:"1" default:"1024" usage:"context of each user, in tokens"`
	devices  bool        `flag:"devices" usage:"show the measured speed of many machines for one user, against their bandwidth and FLOP/s"`
	sampling bool        `flag:"sampling" usage:"show speculative sampling: both distributions, the acceptance test, and the draw after a rejection"`
	format   string      `flag:"format" choice:"table,json" usage:"with --devices or --sampling, what to print: table or json"`
	out      string      `flag:"out" usage:"with --devices, folder for devices and devices-prompts as SVG and PNG"`
	style    plots.Style `flag:"style" choice:"print,slide" usage:"with --devices, what pictures are for: print, or slide (16:9, larger letters)"`
}

func explainCommand() *cobra.Command {
	var flags explainFlags
	cmd := declare(&cobra.Command{
		Use:   "explain MODEL HARDWARE",
		Short: "Explain step by step what serving a model on an accelerator costs, and why",
		Example: `  llmsim explain llama-3.1-8b h100
  llmsim explain --devices --out pictures
  llmsim explain --sampling
  llmsim explain keys fleet.pools`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.devices || flags.sampling {
				return arguments(0, 0)(cmd, args)
			}
			return arguments(2, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.devices {
				return flags.showDevices(cmd)
			}
			if flags.sampling {
				return show(cmd, flags.format, lesson.NewDrafts(0), nil, lesson.Drafts.Blocks)
			}
			return flags.run(cmd, args)
		},
	}, &flags)
	cmd.AddCommand(explainKeysCommand())
	return cmd
}

func explainKeysCommand() *cobra.Command {
	var flags formatFlag
	return declare(&cobra.Command{
		Use:   "keys [KEY]",
		Short: "Explain the keys of a scenario and the figures of a result",
		Long: reflow("Explain every key of a scenario file and every figure of a result, or KEY " +
			"and the keys below it. In brackets are the type of a value and its bounds; of a " +
			"figure, the unit, which values are better, and the requests that it counts: arrived " +
			"(all requests), admitted (a scheduler put them into a step at least once), begun " +
			"(their users had the first token) or completed (they were answered in full). A " +
			"figure without requests describes the run: its time, steps, accelerators."),
		Example: `  llmsim explain keys workload.arrivals
  llmsim explain keys result`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list := append(scenarios.Keys(), scenarios.Figures()...)
			if len(args) > 0 {
				var err error
				if list, err = below(args[0], list); err != nil {
					return err
				}
			}
			return show(cmd, flags.format, list, nil, report.Keys)
		},
	}, &flags)
}

// below returns a key and the keys under it.
func below(path string, all []scenarios.Key) (list []scenarios.Key, err error) {
	var known []string
	for _, key := range all {
		known = append(known, key.Path)
		if key.Path == path || strings.HasPrefix(key.Path, path+".") {
			list = append(list, key)
		}
	}
	if list == nil {
		return nil, errors.New(nearest.Unknown("key", path, known))
	}
	return list, nil
}

// showDevices shows the laws of decoding and prefill on machines that were measured.
func (flags *explainFlags) showDevices(cmd *cobra.Command) error {
	rows, err := lesson.Devices()
	if err != nil {
		return failed(err)
	}
	if flags.out != "" {
		pictures, err := lesson.DevicePictures(rows)
		if err != nil {
			return failed(err)
		}
		for name, picture := range pictures {
			if err := flags.style.Save(flags.out, name, picture); err != nil {
				return failed(err)
			}
		}
	}
	return show(cmd, flags.format, rows, nil, lesson.DeviceBlocks)
}

func (flags *explainFlags) run(cmd *cobra.Command, args []string) error {
	steps, err := describeSteps(cmd, args, flags.set)
	if err != nil {
		return err
	}
	catalog, err := hardware.Load()
	if err != nil {
		return err
	}
	desktop, err := catalog.Accelerator("desktop-50gbs")
	if err != nil {
		return err
	}
	return doc.Print(cmd.OutOrStdout(),
		report.NewLesson(steps, desktop, flags.prompt, flags.context).Blocks())
}
