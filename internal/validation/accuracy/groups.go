package accuracy

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// GroupError is the error of a latency or a rate of servers that have engine, release, GPU, model
// and number format in common, in percent.
type GroupError struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"`
	GPU     string `json:"gpu"`
	Model   string `json:"model"`
	DType   string `json:"dtype"`
	// Quantity is TPOT, TTFT or rate, or the name of a kind of step.
	Quantity string `json:"quantity"`
	Rows     int    `json:"rows"`
	// Median is the median absolute error, Bias the median error.
	Median float64 `json:"median_pct"`
	Bias   float64 `json:"bias_pct"`
}

// leastGroup is the number of rows from which on a group has a recorded error.
const leastGroup = 4

// String names the group for people.
func (g *GroupError) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{g.Engine, g.Version, g.GPU, g.Model,
		g.DType, g.Quantity}, " ")), " ")
}

// gated returns what the errors of groups call a measured quantity, or "".
func gated(c *Comparison) string {
	if c.Engine == "" {
		return ""
	}
	if strings.HasSuffix(c.Quantity, " step") {
		return c.Quantity
	}
	return ColumnOf(c)
}

// GroupErrors returns the errors of all groups of leastGroup rows or more.
func (r *Report) GroupErrors() []GroupError {
	return groupErrors(r.Rows(func(*Comparison) bool { return true }), leastGroup)
}

func groupErrors(rows []Comparison, least int) []GroupError {
	groups, of := grouped(rows, func(c *Comparison) GroupError {
		return GroupError{Engine: c.Engine, Version: c.Version, GPU: c.GPU, Model: c.Model,
			DType: c.DType, Quantity: gated(c)}
	})
	slices.SortFunc(groups, func(a, b GroupError) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Model, b.Model),
			cmp.Compare(a.DType, b.DType), cmp.Compare(a.Quantity, b.Quantity))
	})
	var list []GroupError
	for _, g := range groups {
		if all := of[g]; g.Quantity != "" && len(all) >= least {
			g.Rows, g.Median, g.Bias = len(all), SumUp(all).Median, MedianBias(all)
			list = append(list, g)
		}
	}
	return list
}

// worst returns the group of at least that many rows with the largest median error; nil without
// one.
func worst(rows []Comparison, least int) *GroupError {
	list := groupErrors(rows, least)
	if len(list) == 0 {
		return nil
	}
	g := slices.MaxFunc(list, func(a, b GroupError) int { return cmp.Compare(a.Median, b.Median) })
	return &g
}

// Worsening is by how many points of a percentage a group may become worse before a test fails.
const Worsening = 1.5

// Worsened returns the groups whose recorded rows became worse than the record by more than
// Worsening points, and the rows that are no longer compared. It says how many groups have a
// record.
func (r *Report) Worsened() (list []string, recorded int) {
	known := r.Rows(func(c *Comparison) bool {
		e := stored()[c.Row()]
		return gated(c) != "" && e != nil && e.Error != nil
	})
	lost, was := maps.Clone(stored()), slices.Clone(known)
	for i := range was {
		c := &was[i]
		c.Predicted = c.Measured * (1 + *stored()[c.Row()].Error/100)
		delete(lost, c.Row())
	}
	before := groupErrors(was, leastGroup)
	for i, g := range groupErrors(known, leastGroup) {
		if w := before[i].Median; g.Median > w+Worsening {
			list = append(list, fmt.Sprintf("%s: %.1f %% of %d rows, recorded %.1f %%", &g,
				g.Median, g.Rows, w))
		}
	}
	for name, e := range lost {
		if e.Error != nil {
			list = append(list, fmt.Sprintf("%s:%d, %s, is no longer compared", name.File,
				name.Line, name.Quantity))
		}
	}
	return list, len(before)
}

// Errors returns the rows of the store with the errors of the report in place of the recorded ones.
func (r *Report) Errors() []RowError { return r.errors(stored()) }

// errors returns the errors of the rows of the gate's groups, and of rows left out.
func (r *Report) errors(left map[RowName]*RowError) []RowError {
	all := map[RowName]*RowError{}
	for name, e := range left {
		if e.Group != nil {
			row := *e
			row.Error, all[name] = nil, &row
		}
	}
	for _, c := range r.Rows(func(c *Comparison) bool { return gated(c) != "" }) {
		if all[c.Row()] == nil {
			all[c.Row()] = &RowError{RowName: c.Row()}
		}
		e := rounded(100*c.Error(), 1e2)
		all[c.Row()].Error = &e
	}
	var list []RowError
	for _, e := range all {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b RowError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Quantity, b.Quantity))
	})
	return list
}

// WriteErrors writes errors.csv: fitted are the predictions of all rows, groups and releases are
// without the group and without the release of each row, and halves of both halves without the
// first and without the second; of says which half a row is in.
func WriteErrors(w io.Writer, fitted, groups, releases *Report, halves [2]*Report,
	of map[RowName]int) error {
	var without [3]map[RowName]float64
	for i, r := range []*Report{halves[0], halves[1], releases} {
		without[i] = map[RowName]float64{}
		for _, s := range r.served() {
			without[i][s.Row()] = s.deviation
		}
	}
	left := map[RowName]*RowError{}
	for _, s := range groups.served() {
		group := rounded(s.deviation, 1e4)
		e := &RowError{RowName: s.Row(), Group: &group}
		left[e.RowName] = e
		half, halved := of[e.RowName]
		if halved {
			e.Part = &half
		}
		for i, into := range map[int]**float64{half: &e.Half, 1 - half: &e.Other, 2: &e.Release} {
			if x, known := without[i][e.RowName]; known && (halved || i == 2) {
				x = rounded(x, 1e4)
				*into = &x
			}
		}
	}
	for _, c := range groups.Rows(func(c *Comparison) bool {
		return slices.ContainsFunc(AllGoals(), func(g Goal) bool { return g.chooses(c) })
	}) {
		if off := rounded(math.Log(c.Measured/c.Predicted), 1e4); left[c.Row()] == nil {
			left[c.Row()] = &RowError{RowName: c.Row(), Group: &off}
		}
	}
	return files.WriteTable(w, fitted.errors(left))
}

// Halves says of each row of a group which half it is in: every second shape of prompts and answers
// is in the second half, or every second load where there is one shape. It is nil where all rows
// have one load.
func Halves(rows []Comparison) map[RowName]int {
	for _, name := range []func(*Comparison) string{shapeOf,
		func(c *Comparison) string { return fmt.Sprintf("%9.3f %s", c.Load.Users, c.Case) }} {
		halves := map[string]int{}
		for i := range rows {
			halves[name(&rows[i])] = 0
		}
		if len(halves) < 2 {
			continue
		}
		for i, one := range slices.Sorted(maps.Keys(halves)) {
			halves[one] = i % 2
		}
		of := map[RowName]int{}
		for i := range rows {
			of[rows[i].Row()] = halves[name(&rows[i])]
		}
		return of
	}
	return nil
}

// shapeOf names the lengths and the release of a row: rows of one shape differ in their load alone,
// and have most of their error in common.
func shapeOf(c *Comparison) string {
	load, lengths, _ := strings.Cut(c.Case, ", ")
	if !strings.Contains(lengths, " in, ") {
		lengths, _, _ = strings.Cut(load, " ")
	}
	return c.Version + " " + lengths
}
