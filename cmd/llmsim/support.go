package main

import (
	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
)

func supportCommand() *cobra.Command {
	var format, engine, weights string
	cmd := &cobra.Command{
		Use:   "support MODEL [ACCELERATOR…]",
		Short: "Show which accelerators can serve a model, and what the predictions rest on",
		Long: "Show which accelerators can serve a model: whether it fits, on how many " +
			"accelerators, and what the predictions for it rest on. Without names of " +
			"accelerators, all accelerators of the catalogue are shown.",
		Example: "  llmsim support llama-3.1-70b\n  llmsim support deepseek-v3 h200-sxm b200-sxm " +
			"--engine sglang",
		Args: arguments(1, noLimit),
	}
	f := cmd.Flags()
	f.StringVar(&engine, "engine", "", "engine preset")
	f.StringVar(&weights, "weights", "", "number format of the weights (default: as published)")
	f.Var(choice(&format, "table", "json"), "format", "what to print: table or json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := planner.SupportQuestion{Model: args[0], Accelerators: args[1:]}
		if engine != "" {
			q.Overrides = append(q.Overrides, "engine.preset="+engine)
		}
		if weights != "" {
			q.Overrides = append(q.Overrides, "engine.weights="+weights)
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
		if err != nil {
			return failed(err)
		}
		if format == "json" {
			return failed(report.JSON(cmd.OutOrStdout(), matrix))
		}
		return failed(doc.Print(cmd.OutOrStdout(), matrix.Blocks()))
	}
	return cmd
}
