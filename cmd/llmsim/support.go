package main

import (
	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner"
)

func supportCommand() *cobra.Command {
	var flags struct {
		engine  string `flag:"engine" usage:"engine preset"`
		weights string `flag:"weights" usage:"number format of the weights (default: as published)"`
		formatFlag
	}
	cmd := declare(&cobra.Command{
		Use:   "support MODEL [ACCELERATOR…]",
		Short: "Show which accelerators can serve a model, and what the predictions rest on",
		Long: "Show which accelerators can serve a model: whether it fits, on how many " +
			"accelerators, and what the predictions for it rest on. Without names of " +
			"accelerators, all accelerators of the catalogue are shown.",
		Example: "  llmsim support llama-3.1-70b\n  llmsim support deepseek-v3 h200-sxm b200-sxm " +
			"--engine sglang",
		Args: arguments(1, noLimit),
	}, &flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := planner.SupportQuestion{Model: args[0], Accelerators: args[1:]}
		if flags.engine != "" {
			q.Overrides = append(q.Overrides, "engine.preset="+flags.engine)
		}
		if flags.weights != "" {
			q.Overrides = append(q.Overrides, "engine.weights="+flags.weights)
		}
		if len(q.Accelerators) == 0 {
			catalog, err := hardware.Load()
			if err != nil {
				return failed(err)
			}
			for i := range catalog.Accelerators {
				q.Accelerators = append(q.Accelerators, catalog.Accelerators[i].Name)
			}
		}
		matrix, err := planner.Support(cmd.Context(), q)
		return show(cmd, flags.format, matrix, err, (*planner.SupportMatrix).Blocks)
	}
	return cmd
}
