package accuracy

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/files"
)

//go:embed goals.csv
var goalsCSV string

// Goal is a set of rows and the error to which predictions of them should come down. Not all goals
// are reached.
type Goal struct {
	Name     string `json:"goal" csv:"name"`
	Table    string `json:"table" csv:"table"`
	Quantity string `json:"quantity" csv:"quantity"`
	// Engines, GPUs, Models, DTypes and Case choose rows: a name fits that begins with one of the
	// alternatives, and a case that contains Case.
	Engines Beginnings `json:"-" csv:"engine"`
	GPUs    Beginnings `json:"-" csv:"gpu"`
	Models  Beginnings `json:"-" csv:"model"`
	DTypes  Beginnings `json:"-" csv:"dtype"`
	Case    string     `json:"-" csv:"case"`
	// AtMost is the median absolute error to reach, in percent.
	AtMost float64 `json:"at_most_pct" csv:"at_most_pct"`
	// Release and ReleaseBias are the median absolute error and the median error, in percent, of
	// the last release; nil where it did not read the rows.
	Release     *float64 `json:"release_median_ape_pct,omitempty" csv:"release_pct"`
	ReleaseBias *float64 `json:"release_bias_pct,omitempty" csv:"release_bias_pct"`
	// LeftOut and LeftOutBias are the median absolute error and the median error, in percent, of
	// predictions with constants that were fitted without any row of the same engine, accelerator
	// and model, when the shipped constants were fitted; nil where that was not done. Past has
	// LeftOut of each of the fits, the last one's at the end.
	LeftOut     *float64 `json:"left_out_median_ape_pct,omitempty"`
	LeftOutBias *float64 `json:"left_out_bias_pct,omitempty" csv:"left_out_bias_pct"`
	Past        Past     `json:"-" csv:"left_out_pct"`
	// Settles is the measurement that would tell why the goal is missed; "" where it is reached.
	Settles string `json:"settles,omitempty" csv:"settles"`
}

// Beginnings are alternative beginnings of names; all names fit where there is no beginning.
type Beginnings []string

// UnmarshalText reads alternatives that are separated by "|".
func (a *Beginnings) UnmarshalText(text []byte) error {
	if len(text) > 0 {
		*a = strings.Split(string(text), "|")
	}
	return nil
}

// Fit reports whether a name begins with one of the alternatives.
func (a Beginnings) Fit(name string) bool {
	return len(a) == 0 || slices.ContainsFunc(a, func(beginning string) bool {
		return strings.HasPrefix(name, beginning)
	})
}

// Past are errors of fits of the constants, in percent; nil of a fit that did not have the rows.
type Past []*float64

// UnmarshalText reads errors that are separated by spaces, "–" for none.
func (p *Past) UnmarshalText(text []byte) error {
	for field := range strings.FieldsSeq(string(text)) {
		x, err := strconv.ParseFloat(field, 64)
		switch {
		case field == "–":
			*p = append(*p, nil)
		case err != nil:
			return fmt.Errorf("found %q, want a number or –", field)
		default:
			*p = append(*p, &x)
		}
	}
	if len(*p) != len(Fits()) {
		return fmt.Errorf("found %d errors, want one for each of %d fits", len(*p), len(Fits()))
	}
	return nil
}

// Fits returns the times of the fits whose errors goals.csv has, the oldest first.
func Fits() []string {
	return []string{"2026-11-23 13:37", "2026-11-23 16:18", "2026-11-23 22:29", "2026-11-25 20:39",
		"2026-11-26 15:41", "2026-11-26 19:10", "2026-11-28 21:12", "2026-11-30 16:19",
		"2026-11-30 22:48", "2026-12-01 05:53"}
}

// GoalResult is a goal beside what the shipped constants reach on all rows, the ones that they were
// fitted to among them.
type GoalResult struct {
	Goal
	N int `json:"n"`
	// Median is the median absolute error, Bias the median error, in percent.
	Median  float64 `json:"median_ape_pct"`
	Bias    float64 `json:"bias_pct"`
	Reached bool    `json:"reached"`
	// Worst is the group of worstRows rows or more with the largest median error; nil without one.
	Worst *GroupError `json:"worst_group,omitempty"`
}

// worstRows is the number of rows of a group from which on it may be the worst.
const worstRows = 5

// AllGoals lists what we aim at.
var AllGoals = sync.OnceValue(func() []Goal {
	list := files.MustReadTable[Goal]("goals.csv", goalsCSV)
	for i := range list {
		list[i].LeftOut = list[i].Past[len(list[i].Past)-1]
	}
	return list
})

func (g *Goal) chooses(c *Comparison) bool {
	return c.Table == g.Table && c.Quantity == g.Quantity && g.Engines.Fit(c.Engine) &&
		g.GPUs.Fit(c.GPU) && g.Models.Fit(c.Model) && g.DTypes.Fit(c.DType) &&
		strings.Contains(c.Case, g.Case)
}

// Goals returns those for which the report has rows.
func (r *Report) Goals() []GoalResult {
	var list []GoalResult
	for _, g := range AllGoals() {
		rows := r.Rows(g.chooses)
		if len(rows) == 0 {
			continue
		}
		s := SumUp(rows)
		list = append(list, GoalResult{g, s.N, s.Median, MedianBias(rows), s.Median <= g.AtMost,
			worst(rows, worstRows)})
	}
	return list
}

// MedianBias returns the median error of rows, in percent.
func MedianBias(rows []Comparison) float64 {
	errors := make([]float64, len(rows))
	for i := range rows {
		errors[i] = 100 * rows[i].Error()
	}
	slices.Sort(errors)
	return Quantile(errors, 0.5)
}

// GoalsBeside returns the goals for which the report has rows, with the errors of another report,
// of rows left out of a fit.
func (r *Report) GoalsBeside(leftOut *Report) []GoalResult {
	list := r.Goals()
	for i := range list {
		g := &list[i]
		g.LeftOut, g.LeftOutBias = nil, nil
		if rows := leftOut.Rows(g.chooses); len(rows) > 0 {
			median, bias := SumUp(rows).Median, MedianBias(rows)
			g.LeftOut, g.LeftOutBias = &median, &bias
		}
	}
	return list
}

// WriteGoals prints goals as a table.
func WriteGoals(b *bytes.Buffer, list []GoalResult) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(b, "Goals: median absolute and median error of all rows, which include rows that "+
		"constants were fitted to; the same of the last release; and of rows whose engine, GPU "+
		"and model together were left out of the fit, when the constants were fitted. Below a "+
		"goal stands its worst group of five rows or more, where that is over 15 %")
	fmt.Fprintf(b, "  %-20s %-13s %4s %12s %12s %12s %5s\n", "rows", "quantity", "rows", "all",
		"release", "left out", "goal")
	for i := range list {
		r := &list[i]
		verdict := "✓"
		if !r.Reached {
			verdict = "✗"
		}
		name := r.Name
		if utf8.RuneCountInString(name) > 20 {
			fmt.Fprintf(b, "  %s\n", name)
			name = ""
		}
		fmt.Fprintf(b, "  %-20s %-13s %4d %12s %12s %12s %4g%% %s\n", name, r.Quantity, r.N,
			errorAndBias(&r.Median, &r.Bias), errorAndBias(r.Release, r.ReleaseBias),
			errorAndBias(r.LeftOut, r.LeftOutBias), r.AtMost, verdict)
		if w := r.Worst; w != nil && w.Median > explainedError {
			fmt.Fprintf(b, "      worst: %.0f %% of %d rows, %s\n", w.Median, w.Rows, w)
		}
	}
	b.WriteByte('\n')
}

// explainedError is the median error in percent of a group from which on it is shown.
const explainedError = 15

// errorAndBias writes an error and its bias, "–" without one.
func errorAndBias(median, bias *float64) string {
	if median == nil || bias == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f%% %+.1f%%", *median, *bias)
}

//go:embed targets.csv
var targetsCSV string

// Target is the error that predictions of a quantity should not exceed, over the rows of one table.
type Target struct {
	Table string `json:"table" csv:"table"`
	// Engine, the beginning of a preset's name, and Model choose rows; empty ones choose all.
	Engine   string `json:"engine,omitempty" csv:"engine"`
	Model    string `json:"model,omitempty" csv:"model"`
	Quantity string `json:"quantity" csv:"quantity"`
	// AtMost is the largest median absolute error, in percent.
	AtMost float64 `json:"at_most_pct" csv:"at_most_pct"`
	// Peer is what the best other simulator reaches on the same rows.
	Peer string `json:"peer" csv:"peer"`
}

// Targets lists what we hold ourselves to.
var Targets = sync.OnceValue(func() []Target {
	return files.MustReadTable[Target]("targets.csv", targetsCSV)
})

// TargetResult is a target beside what was reached.
type TargetResult struct {
	Target
	N int `json:"n"`
	// Median is the median absolute error, in percent.
	Median float64 `json:"median_ape_pct"`
	Met    bool    `json:"met"`
}

// Targets returns those for which the report has rows.
func (r *Report) Targets() []TargetResult {
	var list []TargetResult
	for _, target := range Targets() {
		if rows := r.Rows(target.chooses); len(rows) > 0 {
			s := SumUp(rows)
			list = append(list, TargetResult{target, s.N, s.Median, s.Median <= target.AtMost})
		}
	}
	return list
}

func (t *Target) chooses(c *Comparison) bool {
	return c.Table == t.Table && c.Quantity == t.Quantity &&
		strings.HasPrefix(c.Engine, t.Engine) && (t.Model == "" || c.Model == t.Model)
}
