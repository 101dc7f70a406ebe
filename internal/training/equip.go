package training

import (
	"fmt"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Equip sets the model, the machine, the optimizer and, unless tokens is nil, the tokens to train
// on. The numbers of accelerators and of tokens of a sequence must be set. Equip returns what a
// scenario of the model and the hardware, with the overrides of set, describes. Errors name flags
// of llmsim train.
func (j *Job) Equip(model, accelerator string, set []string, optimizer string,
	tokens *string) (found scenarios.Equipment, err error) {
	file, err := scenarios.Describe(model, accelerator, set...)
	if err != nil {
		return found, err
	}
	equipment, err := file.Equipment(policies.Default())
	if err != nil {
		return found, err
	}
	found = *equipment
	j.Model = found.Model
	j.Machine = NewMachine(found.Accelerator, found.ScaleUp, found.Network)
	if j.Optimizer, err = FindOptimizer(optimizer); err != nil {
		return found, fmt.Errorf("--optimizer: %w", err)
	}
	if tokens != nil {
		if j.Tokens, err = ParseTokens(*tokens); err != nil {
			return found, fmt.Errorf("--tokens: %w", err)
		}
	}
	if j.GPUs < 1 || j.Seq < 1 {
		err = fmt.Errorf("--gpus %d and --seq %d must be positive", j.GPUs, j.Seq)
	}
	return found, err
}
