package main

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/spf13/cobra"
)

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
