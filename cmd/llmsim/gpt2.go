package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
)

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

func newGPT2InitCommand() *cobra.Command {
	var shape string
	var seed uint64
	var config gpt2.Config
	cmd := &cobra.Command{
		Use:     "init DIR",
		Short:   "Write a GPT-2 with random weights: as fast as a trained one, but without sense",
		Example: "  llmsim gpt2 init --shape 124M --seed 42 weights",
		Args:    arguments(1, 1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			config, err = gpt2.ShapeConfig(shape)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := gpt2.WriteRandom(cmd.Context(), args[0], config, seed); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d parameters\n", args[0],
				config.Parameters())
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&shape, "shape", gpt2.Shapes()[0], "published size ("+
		strings.Join(gpt2.Shapes(), ", ")+") or the path of a config.json")
	f.Uint64Var(&seed, "seed", 42, "seed of the weights")
	return cmd
}
