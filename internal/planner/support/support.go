// Package support says on what a model can be served, and what is known of each: whether it fits,
// over how many accelerators, and what predictions for it rest on.
package support

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Question is what is asked.
type Question struct {
	Model string
	// Accelerators are names of the catalogue.
	Accelerators []string
	// Overrides are further settings of the scenario, "key=value".
	Overrides []string
}

// Matrix is the answer.
type Matrix struct {
	Model string `json:"model"`
	Rows  []Row  `json:"rows"`
}

// Row is a model on some accelerators.
type Row struct {
	Accelerator string `json:"accelerator"`
	// Tensor is the tensor parallelism; 0 in a row that says why the model fits on no number of
	// them.
	Tensor int `json:"tensor_parallel,omitempty"`
	// KVTokens is what the KV memory of a replica holds.
	KVTokens int                `json:"kv_tokens,omitempty"`
	Evidence *evidence.Evidence `json:"evidence,omitempty"`
	// Unfit says why the model cannot be served so.
	Unfit string `json:"unfit,omitempty"`
}

// degrees returns the degrees of tensor parallelism that are tried.
func degrees() []int { return []int{1, 2, 4, 8} }

// Answer fills in the matrix. What is wrong with the question is an input error.
func Answer(ctx context.Context, q Question) (*Matrix, error) {
	m := &Matrix{Model: q.Model}
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
			m.Rows = append(m.Rows, Row{Accelerator: accelerator, Unfit: unfit})
		}
	}
	return m, nil
}

// row builds one replica.
func (q *Question) row(accelerator string, tensor int) (Row, error) {
	row := Row{Accelerator: accelerator, Tensor: tensor}
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

// WriteText prints the matrix for people, in 80 columns.
func (m *Matrix) WriteText(out io.Writer) error {
	p := report.NewPrinter(out)
	p.Heading(m.Model)
	var rows [][]string
	var unfit []string
	for i := range m.Rows {
		r := &m.Rows[i]
		if r.Evidence == nil {
			unfit = append(unfit, r.Accelerator)
			continue
		}
		rows = append(rows, []string{
			fmt.Sprintf("%d × %s", r.Tensor, r.Accelerator),
			report.Figure(float64(r.KVTokens) / 1000),
			string(r.Evidence.Grade), errorOf(r.Evidence, "TPOT"), errorOf(r.Evidence, "TTFT"),
			sure(&r.Evidence.Spread),
		})
	}
	p.Table([]string{"replica", "KV ktokens", "evidence", "TPOT off by", "TTFT", "80% of TPOTs"},
		rows, 0, 2)
	p.Gap()
	p.Text("“Off by” is the median error on rows measured of this server, or of the nearest one " +
		"that was measured (“relative”); constants may have been fitted to some of them.")
	p.Text("“80% of TPOTs” is where a measured TPOT is expected, against the predicted one, in " +
		"80 of 100 cases. For “measured” it follows from the errors on this server's own rows. " +
		"Else it follows from those on all servers under this engine with such a kind of model, " +
		"or under all engines where none was measured, and is wider the less was measured; for " +
		"“formula only” by a guess, from how far constants carry to other accelerators. " +
		"`llmsim validate` shows for each table how often such ranges held.")
	if len(unfit) > 0 {
		p.Text("It cannot be served on 1, 2, 4 or 8 of: " + strings.Join(unfit, ", ") + ".")
	}
	return p.Err()
}

// sure prints where 80 of 100 measured TPOTs are expected, as shares of the predicted one.
func sure(s *evidence.Spread) string {
	low, high := s.Range()
	return fmt.Sprintf("%+.0f to %+.0f%%", 100*(low-1), 100*(high-1))
}

// errorOf prints the median error of a quantity.
func errorOf(e *evidence.Evidence, quantity string) string {
	for _, one := range e.Errors {
		if one.Quantity == quantity {
			return report.Percent(one.Median)
		}
	}
	return "–"
}
