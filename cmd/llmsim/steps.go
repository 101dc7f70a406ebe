package main

import (
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// describeSteps predicts the steps of a model on an accelerator, with overrides as in a scenario.
func describeSteps(model, accelerator string, overrides []string) (*scenarios.Steps, error) {
	file, err := scenarios.Describe(model, accelerator, overrides...)
	if err != nil {
		return nil, err
	}
	return file.Steps(policies.Default())
}
