package main

import (
	"fmt"

	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "llmsim", scenarios.Version())
			return err
		},
	}
}
