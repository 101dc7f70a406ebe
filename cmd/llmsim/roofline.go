package main

import (
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"

	"github.com/spf13/cobra"
)

// rooflineFlags are the flags of the roofline command.
type rooflineFlags struct {
	set              []string
	prompts, batches []int
	context          int
	format           string
	out              string
	style            plots.Style
}

func rooflineCommand() *cobra.Command {
	var flags rooflineFlags
	cmd := &cobra.Command{
		Use:   "roofline MODEL HARDWARE",
		Short: "Show why decode is memory-bound: each operator under the accelerator's roof",
		Example: `  llmsim roofline llama-2-7b a100-80gb
  llmsim roofline llama-2-70b h100 --set parallelism.tensor=4 --out pictures`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd, args[0], args[1])
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.set, "set", nil,
		"override a field of the scenario: key.path=value (repeatable)")
	f.Var(counts(&flags.prompts, 512, 2048), "prompt", "lengths of prompts, in tokens")
	f.Var(counts(&flags.batches, 1, 8, 64, 256), "batch", "sizes of decode batches")
	f.Var(countOf(&flags.context, 1024), "context",
		"context of each sequence that decodes, in tokens")
	f.Var(choice(&flags.format, "table", "json"), "format", "what to print: table or json")
	f.StringVar(&flags.out, "out", "", "folder for roofline.svg and roofline.png")
	f.Var(choice((*string)(&flags.style), "print", "slide"), "style",
		"what pictures are for: print, or slide (16:9, larger letters)")
	return cmd
}

func (flags *rooflineFlags) run(cmd *cobra.Command, model, accelerator string) error {
	steps, err := describeSteps(cmd, model, accelerator, flags.set)
	if err != nil {
		return err
	}
	r := report.NewRoofline(steps, flags.prompts, flags.batches, flags.context)
	if flags.out != "" {
		picture, err := plots.Roofline(r)
		if err != nil {
			return err
		}
		if err := flags.style.Save(flags.out, "roofline", picture); err != nil {
			return err
		}
	}
	if flags.format == "json" {
		return report.JSON(cmd.OutOrStdout(), r)
	}
	return doc.Print(cmd.OutOrStdout(), r.Blocks())
}
