package main

import (
	"fmt"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// describeSteps predicts the steps of a model on an accelerator, and notes what the predictions
// rest on.
func describeSteps(cmd *cobra.Command, model, accelerator string,
	overrides []string) (*scenarios.Steps, error) {
	file, err := scenarios.Describe(model, accelerator, overrides...)
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err == nil {
		note(cmd, steps.Warnings)
	}
	return steps, err
}

// note writes what a reader should know to standard error.
func note(cmd *cobra.Command, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "llmsim: note:", warning)
	}
}
