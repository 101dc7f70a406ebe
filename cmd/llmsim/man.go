package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/llmsim/llmsim/scenarios"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a man page for each command into a folder",
		Example: "  llmsim man /usr/local/share/man/man1",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			// pages hold no date, so that builds can be repeated
			cmd.Root().DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "llmsim " + scenarios.Version(),
				Manual: "llmsim"}
			return failed(doc.GenManTree(cmd.Root(), header, args[0]))
		},
	}
}
