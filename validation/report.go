package validation

import (
	"cmp"
	"math"
	"slices"
)

// Report is predictions beside measurements.
type Report struct {
	Tables []Table
	// Ignored says of each file that was not read why.
	Ignored []string
}

// Table is the rows of all files of one kind.
type Table struct {
	Name  string
	Files []string
	Rows  []Comparison
	// Problems are malformed rows, by file and line. Skipped counts rows that are left out, by reason.
	Problems []string
	Skipped  map[string]int
}

// Statistics sums up the errors of a quantity. Errors are relative, as fractions.
type Statistics struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit"`
	N        int    `json:"n"`
	// Median and Mean are of absolute errors, Bias is the mean of signed ones, predicted − measured.
	Median float64 `json:"median_error"`
	Mean   float64 `json:"mean_error"`
	Bias   float64 `json:"bias"`
	// Worst is the row with the largest error.
	Worst Comparison `json:"-"`
}

// Quantities returns the statistics of every quantity, in the order of their first rows.
func (t *Table) Quantities() []Statistics { return quantities(t.Rows) }

// GroupStatistics is the statistics of one group.
type GroupStatistics struct {
	Group
	Quantities []Statistics
}

// Groups returns the statistics by group, sorted by engine, GPU, model and tensor parallelism.
func (t *Table) Groups() []GroupStatistics {
	rows := map[Group][]Comparison{}
	for _, c := range t.Rows {
		rows[c.Group] = append(rows[c.Group], c)
	}
	var list []GroupStatistics
	for g, of := range rows {
		list = append(list, GroupStatistics{g, quantities(of)})
	}
	slices.SortFunc(list, func(a, b GroupStatistics) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Model, b.Model), cmp.Compare(a.TP, b.TP))
	})
	return list
}

func quantities(rows []Comparison) []Statistics {
	var names []string
	of := map[string][]Comparison{}
	for _, c := range rows {
		if of[c.Quantity] == nil {
			names = append(names, c.Quantity)
		}
		of[c.Quantity] = append(of[c.Quantity], c)
	}
	list := make([]Statistics, len(names))
	for i, name := range names {
		list[i] = statistics(of[name])
	}
	return list
}

// statistics sums up rows of one quantity; there is at least one.
func statistics(rows []Comparison) Statistics {
	s := Statistics{Quantity: rows[0].Quantity, Unit: rows[0].Unit, N: len(rows), Worst: rows[0]}
	errors := make([]float64, len(rows))
	for i := range rows {
		e := rows[i].Error()
		errors[i] = math.Abs(e)
		s.Mean += errors[i]
		s.Bias += e
		if errors[i] > math.Abs(s.Worst.Error()) {
			s.Worst = rows[i]
		}
	}
	slices.Sort(errors)
	s.Median = quantile(errors, 0.5)
	s.Mean /= float64(len(rows))
	s.Bias /= float64(len(rows))
	return s
}
