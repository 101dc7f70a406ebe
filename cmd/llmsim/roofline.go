package main

import (
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/plots"

	"github.com/spf13/cobra"
)

// rooflineFlags are the flags of the roofline command.
type rooflineFlags struct {
	set     []string `flag:"set" usage:"override a field of the scenario: key.path=value (repeatable)"`
	prompts []int    `flag:"prompt" least:"1" default:"512,2048" usage:"lengths of prompts, in tokens"`
	batches []int    `flag:"batch" least:"1" default:"1,8,64,256" usage:"sizes of decode batches"`
	context int      `flag:"context" least:"1" default:"1024" usage:"context of each sequence that decodes, in tokens"`
	formatFlag
	out   string      `flag:"out" usage:"folder for roofline.svg and roofline.png"`
	style plots.Style `flag:"style" choice:"print,slide" usage:"what pictures are for: print, or slide (16:9, larger letters)"`
}

func rooflineCommand() *cobra.Command {
	var flags rooflineFlags
	return declare(&cobra.Command{
		Use:   "roofline MODEL HARDWARE",
		Short: "Show why decode is memory-bound: each operator under the accelerator's roof",
		Long: "Show why decode is memory-bound: each operator under the accelerator's roof. The " +
			"file of a scenario may stand in place of MODEL and HARDWARE.",
		Example: `  llmsim roofline llama-2-7b a100-80gb
  llmsim roofline llama-2-70b h100 --set parallelism.tensor=4 --out pictures
  llmsim roofline scenario.yaml --batch 16 --context 600`,
		Args: describesServer,
		RunE: flags.run,
	}, &flags)
}

func (flags *rooflineFlags) run(cmd *cobra.Command, args []string) error {
	steps, err := describeSteps(cmd, args, flags.set)
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
	return show(cmd, flags.format, r, nil, (*report.Roofline).Blocks)
}
