package support

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// line is a line of the table: an accelerator, and the degrees of tensor parallelism of which the
// same is known.
type line struct {
	accelerator         string
	degrees             []int
	fewest, most        int // KV tokens
	grade               evidence.Grade
	tpot, ttft, between string
}

// lines returns the table, the best known first, and the accelerators on which the model cannot be
// served.
func (m *Matrix) lines() (table []line, unfit []string) {
	for i := range m.Rows {
		r := &m.Rows[i]
		if r.Evidence == nil {
			unfit = append(unfit, r.Accelerator)
			continue
		}
		l := line{r.Accelerator, []int{r.Tensor}, r.KVTokens, r.KVTokens,
			r.Evidence.Grade, errorOf(r.Evidence, "TPOT"), errorOf(r.Evidence, "TTFT"),
			sure(&r.Evidence.Spread)}
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
		return cmp.Compare(rank(a), rank(b))
	})
	return table, unfit
}

// knows reports whether the same is known of other, on the same accelerator.
func (l *line) knows(other *line) bool {
	return l.accelerator == other.accelerator && l.grade == other.grade && l.tpot == other.tpot &&
		l.ttft == other.ttft && l.between == other.between
}

// cells returns the line as cells of the table.
func (l *line) cells() []string {
	tokens := report.Figure(float64(l.fewest) / 1000)
	if l.most > l.fewest {
		tokens += "–" + report.Figure(float64(l.most)/1000)
	}
	return []string{l.accelerator, l.tensor(), tokens, string(l.grade), l.tpot, l.ttft, l.between}
}

// tensor writes the degrees, as a range where none is missing: 1–8.
func (l *line) tensor() string {
	first, last := l.degrees[0], l.degrees[len(l.degrees)-1]
	n := len(l.degrees)
	if at := slices.Index(degrees(), first); n > 2 && slices.Equal(degrees()[at:at+n], l.degrees) {
		return fmt.Sprintf("%d–%d", first, last)
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(l.degrees), " ", ","), "[]")
}

// WriteText prints the matrix for people, in 80 columns.
func (m *Matrix) WriteText(out io.Writer) error {
	p := report.NewPrinter(out)
	p.Heading(m.Model)
	table, unfit := m.lines()
	var rows [][]string
	for i := range table {
		rows = append(rows, table[i].cells())
	}
	p.Table([]string{"on", "TP", "KV ktok", "evidence", "TPOT off", "TTFT", "80% of TPOT"},
		rows, 0, 3)
	p.Gap()
	p.Text("“TP” is the number of accelerators of a replica, by tensor parallelism. “KV ktok” is " +
		"the size of its KV cache, in thousands of tokens.")
	p.Text("“Off” is the median error on measured rows of this server, or of the nearest " +
		"measured server (“relative”). Constants may have been fitted to some of these rows.")
	p.Text("“80% of TPOT” is where a measured TPOT is expected, against the predicted one, in " +
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
