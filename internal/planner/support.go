package planner

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// SupportQuestion is what is asked.
type SupportQuestion struct {
	Model string
	// Accelerators are names of the catalogue.
	Accelerators []string
	// Overrides are further settings of the scenario, "key=value".
	Overrides []string
}

// SupportMatrix is the answer.
type SupportMatrix struct {
	Model string       `json:"model"`
	Rows  []SupportRow `json:"rows"`
}

// SupportRow is a model on some accelerators.
type SupportRow struct {
	Accelerator string `json:"accelerator"`
	// Tensor is the tensor parallelism; 0 in a row that says why the model fits on no number of
	// accelerators.
	Tensor int `json:"tensor_parallel,omitempty"`
	// KVTokens is the number of tokens that the KV memory of a replica holds.
	KVTokens int                `json:"kv_tokens,omitempty"`
	Evidence *evidence.Evidence `json:"evidence,omitempty"`
	// Unfit says why the model cannot be served on these accelerators.
	Unfit string `json:"unfit,omitempty"`
}

// degrees returns the degrees of tensor parallelism that are tried.
func degrees() []int { return []int{1, 2, 4, 8} }

// Support fills in the matrix. An error in the question is an input error.
func Support(ctx context.Context, q SupportQuestion) (*SupportMatrix, error) {
	m := &SupportMatrix{Model: q.Model}
	for _, accelerator := range q.Accelerators {
		var unfit string
		fits := false
		for _, tensor := range degrees() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			row, err := q.row(accelerator, tensor)
			if err != nil {
				return nil, err
			}
			if row.Unfit != "" {
				unfit = row.Unfit
				continue
			}
			fits = true
			m.Rows = append(m.Rows, row)
		}
		if !fits {
			m.Rows = append(m.Rows, SupportRow{Accelerator: accelerator, Unfit: unfit})
		}
	}
	return m, nil
}

// row builds one replica.
func (q *SupportQuestion) row(accelerator string, tensor int) (SupportRow, error) {
	row := SupportRow{Accelerator: accelerator, Tensor: tensor}
	overrides := append(q.Overrides[:len(q.Overrides):len(q.Overrides)],
		fmt.Sprintf("parallelism.tensor=%d", tensor))
	file, err := scenarios.Describe(q.Model, accelerator, overrides...)
	if err != nil {
		return row, err
	}
	if err := file.CheckNames(policies.Default()); err != nil {
		return row, err
	}
	simulation, err := file.Build(policies.Default())
	if scenarios.IsInputError(err) {
		row.Unfit = err.Error()
		return row, nil
	}
	if err != nil {
		return row, err
	}
	defer simulation.Source.Close()
	row.KVTokens = simulation.Memory.Tokens
	weakest := simulation.Evidence()
	row.Evidence = &weakest
	return row, nil
}
