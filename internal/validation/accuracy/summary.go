package accuracy

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Summary sums up a report by table and by group. Errors are in percent of the measured figure.
type Summary struct {
	Tables  []TableSummary `json:"tables"`
	Targets []TargetResult `json:"targets"`
	Goals   []GoalResult   `json:"goals,omitempty"`
	// Reliability says how often the ranges of results hold what was measured.
	Reliability []Reliability `json:"reliability,omitempty"`
	// Chances says how often what is said of SLOs came true.
	Chances []Verified `json:"chances,omitempty"`
	// Ignored says of each file that was not read why.
	Ignored []string `json:"not_read,omitempty"`
}

// TableSummary is one kind of table.
type TableSummary struct {
	Name       string         `json:"table"`
	Files      []string       `json:"files"`
	Quantities []Statistics   `json:"quantities"`
	Groups     []GroupSummary `json:"groups"`
	Skipped    []SkippedRows  `json:"left_out,omitempty"`
	Problems   []string       `json:"malformed,omitempty"`
	Sources    []string       `json:"sources,omitempty"`

	rows []Comparison
}

// GroupSummary is the rows of one group.
type GroupSummary struct {
	Group
	Quantities []Statistics `json:"quantities"`
}

// SkippedRows are rows that were left out for one reason.
type SkippedRows struct {
	Reason string `json:"reason"`
	Rows   int    `json:"rows"`
}

// Statistics sums up the errors of a quantity, in percent.
type Statistics struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit"`
	// Fit says whether the shipped constants are fitted to these rows; absent where that is not
	// known.
	Fit Fit `json:"fit,omitempty"`
	N   int `json:"n"`
	// Median and Mean are of absolute errors, Bias is the mean of signed ones, above 0 where
	// predictions are too high.
	Median float64 `json:"median_ape_pct"`
	Mean   float64 `json:"mean_ape_pct"`
	Bias   float64 `json:"bias_pct"`
	Worst  Worst   `json:"worst"`
}

// Worst is the row with the largest error.
type Worst struct {
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Case      string  `json:"case"`
	Predicted float64 `json:"predicted"`
	Measured  float64 `json:"measured"`
	// Error is signed, in percent.
	Error float64 `json:"error_pct"`
}

// Summary sums up the report.
func (r *Report) Summary() Summary {
	judged := r.Judged()
	s := Summary{Tables: []TableSummary{}, Targets: r.Targets(), Goals: r.Goals(),
		Reliability: reliability(judged), Chances: Chances(r.Forecasts(judged)),
		Ignored: r.Ignored}
	for i := range r.Tables {
		s.Tables = append(s.Tables, r.Tables[i].summary())
	}
	return s
}

func (t *Table) summary() TableSummary {
	s := TableSummary{Name: t.Name, Files: t.Files, Quantities: quantities(t.Rows),
		Problems: t.Problems, Sources: t.Sources, rows: t.Rows}
	groups, byGroup := grouped(t.Rows, func(c *Comparison) Group { return c.Group })
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.GPU, b.GPU),
			cmp.Compare(a.Model, b.Model), cmp.Compare(a.DType, b.DType), cmp.Compare(a.TP, b.TP),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Server, b.Server))
	})
	for _, g := range groups {
		s.Groups = append(s.Groups, GroupSummary{g, quantities(byGroup[g])})
	}
	for _, reason := range slices.Sorted(maps.Keys(t.Skipped)) {
		s.Skipped = append(s.Skipped, SkippedRows{reason, t.Skipped[reason]})
	}
	return s
}

// quantities returns the statistics of every quantity, in the order of their first rows: those in
// the fit and those left out apart.
func quantities(rows []Comparison) []Statistics {
	names, of := grouped(rows, func(c *Comparison) [2]string {
		return [2]string{c.Quantity, string(c.Fit)}
	})
	list := make([]Statistics, len(names))
	for i, name := range names {
		list[i] = SumUp(of[name])
	}
	return list
}

// SumUp sums up rows of one quantity; there is at least one.
func SumUp(rows []Comparison) Statistics {
	s := Statistics{Quantity: rows[0].Quantity, Unit: rows[0].Unit, Fit: rows[0].Fit, N: len(rows)}
	errors := make([]float64, len(rows))
	worst := 0
	for i := range rows {
		e := 100 * rows[i].Error()
		errors[i] = math.Abs(e)
		s.Mean += errors[i] / float64(len(rows))
		s.Bias += e / float64(len(rows))
		if errors[i] > errors[worst] {
			worst = i
		}
	}
	w := &rows[worst]
	s.Worst = Worst{w.File, w.Line, w.Case, w.Predicted, w.Measured, 100 * w.Error()}
	slices.Sort(errors)
	s.Median = Quantile(errors, 0.5)
	return s
}
