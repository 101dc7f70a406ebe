package main

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/validation/papers"

	"github.com/spf13/cobra"
)

// checkPapers holds the claims of papers against their scenarios.
func (flags *validateFlags) checkPapers(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: --papers takes no folder: the claims come with the program", args[0])
	}
	claims, err := papers.Read(papers.Shipped())
	if err != nil {
		return err
	}
	checked, err := papers.Check(cmd.Context(), claims)
	if err != nil {
		return err
	}
	if flags.format == "json" {
		return report.JSON(cmd.OutOrStdout(), checked)
	}
	return checked.WriteText(cmd.OutOrStdout())
}
