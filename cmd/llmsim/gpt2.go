package main

import "github.com/spf13/cobra"

// newGPT2Command groups what the engine does by itself.
func newGPT2Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gpt2",
		Short: "Run a real GPT-2 on this machine",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRun: func(*cobra.Command, []string) { collectGarbage(growthOfWeights) },
	}
	cmd.AddCommand(newGPT2InitCommand(), newGPT2GenerateCommand(), newGPT2BenchCommand())
	return cmd
}
