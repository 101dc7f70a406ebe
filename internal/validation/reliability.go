package validation

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// intervalLevel is the share of measurements that ranges of results are to hold.
const intervalLevel = 0.8

// latency returns what evidence calls a measured quantity of a served request, or "".
func latency(quantity string) string {
	switch quantity {
	case "TTFT mean", "first token", "prompt":
		return "TTFT"
	case "TPOT mean", "token p50", "token":
		return "TPOT"
	}
	return ""
}

// Reliability says how often the ranges of one grade hold what was measured.
type Reliability struct {
	Grade    evidence.Grade `json:"grade"`
	Table    string         `json:"table"`
	Quantity string         `json:"quantity"`
	Rows     int            `json:"rows"`
	// Inside is the share of the rows that lie in ranges of 80 %.
	Inside float64 `json:"inside"`
}

// graded is a served latency with what its prediction would rest on; without is set where that
// leaves out what was measured of its own server.
type graded struct {
	*Comparison
	evidence.Evidence
	without bool
}

// grades returns the served latencies, each twice: as that of a server that was measured, and as
// that of one of which nothing with the same engine, accelerator and model was.
func (r *Report) grades() []graded {
	var list []graded
	for i := range r.Tables {
		for j := range r.Tables[i].Rows {
			c := &r.Tables[i].Rows[j]
			if c.Key.Engine == "" || latency(c.Quantity) == "" || c.Predicted <= 0 ||
				c.Measured <= 0 {
				continue
			}
			list = append(list, graded{c, evidence.Of(c.Key, true), false},
				graded{c, evidence.Without(c.Key), true})
		}
	}
	return list
}

// deviation is the absolute logarithm of the measured over the predicted value.
func (g *graded) deviation() float64 { return math.Abs(math.Log(g.Measured / g.Predicted)) }

// inside reports whether the measured value lies in the range of 80 %.
func (g *graded) inside() bool {
	return g.within(evidence.Width80)
}

// within reports whether the measured value is within so many standard deviations of the predicted
// one.
func (g *graded) within(width float64) bool {
	spread := g.Spread.TPOT
	if latency(g.Quantity) == "TTFT" {
		spread = g.Spread.TTFT
	}
	return g.deviation() <= width*spread
}

// Reliability says of each grade, table and quantity how often ranges hold what was measured.
func (r *Report) Reliability() []Reliability {
	var list []Reliability
	for _, g := range r.grades() {
		same := func(k Reliability) bool {
			return k.Grade == g.Grade && k.Table == g.Table && k.Quantity == latency(g.Quantity)
		}
		i := slices.IndexFunc(list, same)
		if i < 0 {
			i = len(list)
			list = append(list,
				Reliability{Grade: g.Grade, Table: g.Table, Quantity: latency(g.Quantity)})
		}
		list[i].Rows++
		if g.inside() {
			list[i].Inside++
		}
	}
	for i := range list {
		list[i].Inside /= float64(list[i].Rows)
	}
	slices.SortFunc(list, func(a, b Reliability) int {
		return cmp.Or(cmp.Compare(slices.Index(evidence.Grades(), a.Grade),
			slices.Index(evidence.Grades(), b.Grade)),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.Quantity, b.Quantity))
	})
	return list
}

// writeReliability prints how often ranges hold what was measured.
func writeReliability(b *bytes.Buffer, list []Reliability, held Held) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "How often the range that is to hold %.0f %% of what is measured does, by "+
		"what a prediction rests on.\n", 100*intervalLevel)
	fmt.Fprintf(b, "Rows count as measured, and again as if nothing of their engine, accelerator "+
		"and model had been.\n")
	fmt.Fprintf(b, "Over all, each server counting the same: %.0f %% as measured, %.0f %% with "+
		"its own rows left out of the "+
		"evidence. The constants were fitted to some of these rows in either case.\n",
		100*held.Measured, 100*held.LeftOut)
	fmt.Fprintf(b, "  %-14s %-22s %-8s %6s %8s\n", "evidence", "table", "error of", "rows",
		"inside")
	for _, k := range list {
		fmt.Fprintf(b, "  %-14s %-22s %-8s %6d %6.0f %%\n", k.Grade, k.Table, k.Quantity, k.Rows,
			100*k.Inside)
	}
	b.WriteByte('\n')
}

// Rules returns, for each grade and quantity, the rule under which the ranges hold what was
// measured as often as they are to. Each server counts the same, however many rows there are of it.
// Floors are those of the rules that are in force, but where a rule has nothing else.
func (r *Report) Rules() map[evidence.Grade]map[string]evidence.Rule {
	all := r.grades()
	table := map[evidence.Grade]map[string]evidence.Rule{}
	for _, grade := range evidence.Grades() {
		table[grade] = map[string]evidence.Rule{}
		for _, quantity := range []string{"TPOT", "TTFT"} {
			table[grade][quantity] = rule(all, grade, quantity)
		}
	}
	return table
}

func rule(all []graded, grade evidence.Grade, quantity string) evidence.Rule {
	old := evidence.RuleOf(grade, quantity)
	servers := map[any]float64{}
	var chosen []graded
	for _, g := range all {
		if g.Grade == grade && latency(g.Quantity) == quantity {
			servers[g.Key]++
			chosen = append(chosen, g)
		}
	}
	if len(chosen) == 0 {
		return old
	}
	type point struct{ ratio, weight float64 }
	points := make([]point, len(chosen))
	total := 0.0
	for i := range chosen {
		g := &chosen[i]
		points[i] = point{g.deviation() / g.believed(old), 1 / servers[g.Key]}
		total += points[i].weight
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.ratio, b.ratio) })
	sum, times := 0.0, 0.0
	for _, p := range points {
		if sum += p.weight; sum >= intervalLevel*total {
			times = p.ratio
			break
		}
	}
	if grade == evidence.Kernels || grade == evidence.Formula {
		return evidence.Rule{Rows: len(chosen), Floor: times * old.Floor, Times: 1}
	}
	return evidence.Rule{Rows: len(chosen), Floor: old.Floor, Times: times}
}

// believed returns the error that a rule takes for that of the prediction.
func (g *graded) believed(r evidence.Rule) float64 {
	for _, e := range g.Errors {
		if e.Quantity == latency(g.Quantity) {
			return max(r.Floor, e.Median)
		}
	}
	return r.Floor
}
