package main

import (
	"fmt"
	"os"

	"github.com/llmsim/llmsim/internal/training/published"
	"github.com/llmsim/llmsim/internal/validation/papers"

	"github.com/spf13/cobra"
)

// checkTraining holds what training is computed to take against the tables of published runs in a
// folder.
func (flags *validateFlags) checkTraining(cmd *cobra.Command, dir string) error {
	data, err := published.Read(os.DirFS(dir))
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if len(data.Rows)+len(data.Left) == 0 {
		return fmt.Errorf("%s: --papers takes no folder but one of tables of training runs "+
			"(docs/training.md), and this has none of them", dir)
	}
	return write(cmd, flags.format, data.Report(), nil, (*published.Report).WriteText)
}

// checkPapers checks the claims of papers with their scenarios, or the tables of training runs in
// a folder.
func (flags *validateFlags) checkPapers(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return flags.checkTraining(cmd, args[0])
	}
	claims, err := papers.Read(papers.Shipped())
	if err != nil {
		return err
	}
	checked, err := papers.Check(cmd.Context(), claims)
	return write(cmd, flags.format, checked, err, (*papers.Report).WriteText)
}
