package main

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report"

	"github.com/spf13/cobra"
)

// explainFlags are the flags of the explain command.
type explainFlags struct {
	set             []string
	prompt, context int
}

func explainCommand() *cobra.Command {
	var flags explainFlags
	cmd := &cobra.Command{
		Use:     "explain MODEL HARDWARE",
		Short:   "Explain why serving costs what it costs, in this model's and this machine's numbers",
		Example: `  llmsim explain llama-3.1-8b h100`,
		Args:    cobra.ExactArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.set, "set", nil, "override a field of the scenario: key.path=value (repeatable)")
	f.Var(countOf(&flags.prompt, 512), "prompt", "length of the prompt, in tokens")
	f.Var(countOf(&flags.context, 1024), "context", "context of each user, in tokens")
	return cmd
}

func (flags *explainFlags) run(cmd *cobra.Command, model, accelerator string) error {
	steps, err := describeSteps(cmd, model, accelerator, flags.set)
	if err != nil {
		return err
	}
	catalog, err := hardware.Load()
	if err != nil {
		return err
	}
	desktop, err := catalog.Accelerator("desktop-50gbs")
	if err != nil {
		return err
	}
	p := report.NewPrinter(cmd.OutOrStdout())
	p.Lesson(report.NewLesson(steps, desktop, flags.prompt, flags.context))
	return p.Err()
}
