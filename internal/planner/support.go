package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
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

// line is a line of the table: an accelerator, and the degrees of tensor parallelism for which the
// same is known.
type line struct {
	accelerator  string
	degrees      []int
	fewest, most int // KV tokens
	grade        evidence.Grade
	tpot, ttft   string // where 80 of 100 measured values are expected
	// strange counts in how much the layers of the nearest measured server differ, and nearest
	// says which server that is; empty without one.
	strange int
	nearest string
}

// lines returns the table, the best known first, and the accelerators on which the model cannot be
// served.
func (m *SupportMatrix) lines() (table []line, unfit []string) {
	for i := range m.Rows {
		r := &m.Rows[i]
		if r.Evidence == nil {
			unfit = append(unfit, r.Accelerator)
			continue
		}
		l := line{r.Accelerator, []int{r.Tensor}, r.KVTokens, r.KVTokens,
			r.Evidence.Grade, sure(r.Evidence.Spread.Range()), sure(r.Evidence.Spread.RangeTTFT()),
			r.Evidence.Strangeness(), nearestOf(r.Evidence)}
		same := slices.IndexFunc(table, func(other line) bool { return other.knows(&l) })
		if same < 0 {
			table = append(table, l)
			continue
		}
		table[same].degrees = append(table[same].degrees, l.degrees...)
		table[same].most = l.most
	}
	slices.SortStableFunc(table, func(a, b line) int {
		rank := func(l line) int { return slices.Index(evidence.Grades(), l.grade) }
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.strange, b.strange))
	})
	return table, unfit
}

// knows reports whether the same is known of other, on the same accelerator.
func (l *line) knows(other *line) bool {
	return l.accelerator == other.accelerator && l.grade == other.grade && l.tpot == other.tpot &&
		l.ttft == other.ttft && l.nearest == other.nearest
}

// cells returns the line as cells of the table.
func (l *line) cells() []string {
	tokens := units.Figure(float64(l.fewest) / 1000)
	if l.most > l.fewest {
		tokens += "–" + units.Figure(float64(l.most)/1000)
	}
	return []string{l.accelerator, l.tensor(), tokens, string(l.grade), l.tpot, l.ttft}
}

// tensor writes the degrees, as a range where no degree is missing: 1–8.
func (l *line) tensor() string {
	first, last := l.degrees[0], l.degrees[len(l.degrees)-1]
	n := len(l.degrees)
	if at := slices.Index(degrees(), first); n > 2 && slices.Equal(degrees()[at:at+n], l.degrees) {
		return fmt.Sprintf("%d–%d", first, last)
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(l.degrees), " ", ","), "[]")
}

// Blocks shows the matrix.
func (m *SupportMatrix) Blocks() (p doc.Blocks) {
	p.Heading(m.Model)
	table, unfit := m.lines()
	var rows [][]string
	for i := range table {
		rows = append(rows, table[i].cells())
	}
	p.Table([]string{"on", "TP", "KV ktok", "evidence", "TPOT", "TTFT"}, rows, 0, 3)
	p.Gap()
	for _, words := range relatives(table) {
		p.Item(words)
	}
	p.Gap()
	p.Text("“TP” is the number of accelerators of a replica, by tensor parallelism. “KV ktok” is " +
		"the size of its KV cache, in thousands of tokens.")
	p.Text("“TPOT” and “TTFT” are where measured values are expected, against the predicted " +
		"ones, in 80 of 100 cases. Where rows of the engine preset with the model on the " +
		"accelerator were measured, they follow from the errors on these. Else they are one " +
		"width for each latency, by servers that were left out of the fit; for “formula only” " +
		"wider by a guess, from how far constants carry to other accelerators. `llmsim " +
		"validate` shows for each table how often such ranges held.")
	if len(unfit) > 0 {
		p.Text("It cannot be served on 1, 2, 4 or 8 of: " + strings.Join(unfit, ", ") + ".")
	}
	return p
}

// nearestOf says which measured server predictions rest on; empty without one.
func nearestOf(e *evidence.Evidence) string {
	n := e.Nearest
	if n == nil {
		return ""
	}
	said := fmt.Sprintf("the nearest measured server is of %s (%s) under %s on %s", n.Model,
		n.Weights, n.Engine, n.Accelerator)
	for _, words := range e.Differs {
		if strings.HasPrefix(words, "layers") {
			said += ", whose model has " + words
		}
	}
	return said
}

// relatives says for the accelerators of a table which measured server is nearest to them.
func relatives(table []line) (list []string) {
	var all []string
	of := map[string][]string{}
	for i := range table {
		l := &table[i]
		if l.nearest != "" && of[l.nearest] == nil {
			all = append(all, l.nearest)
		}
		if !slices.Contains(of[l.nearest], l.accelerator) {
			of[l.nearest] = append(of[l.nearest], l.accelerator)
		}
	}
	for _, nearest := range all {
		list = append(list, strings.Join(of[nearest], ", ")+": "+nearest)
	}
	return list
}

// sure prints where 80 of 100 measured values are expected, as shares of the predicted one.
func sure(low, high float64) string {
	return fmt.Sprintf("%+.0f to %+.0f%%", 100*(low-1), 100*(high-1))
}
