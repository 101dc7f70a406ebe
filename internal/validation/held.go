package validation

import (
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Held is the share of served latencies that lie in ranges of 80 %, each server counting the same:
// as those of servers that were measured, and as if nothing of the same engine, accelerator and
// model had been.
type Held struct {
	Measured float64 `json:"measured"`
	LeftOut  float64 `json:"left_out"`
}

// Held sums up how often ranges hold what was measured.
func (r *Report) Held() Held {
	all := r.grades()
	return Held{
		Measured: heldBy(all, evidence.Width80, func(g *graded) bool { return !g.withoutServer }),
		LeftOut:  heldBy(all, evidence.Width80, func(g *graded) bool { return g.withoutServer }),
	}
}

// heldBy returns the share of the chosen latencies in ranges of the given standard deviations, each
// server and quantity counting the same; 0 where there are none.
func heldBy(all []graded, width float64, chooses func(*graded) bool) float64 {
	rows, inside := map[server]float64{}, map[server]float64{}
	for i := range all {
		if g := &all[i]; g.shown == g.quantity && chooses(g) {
			s := server{g.Key, g.quantity}
			rows[s]++
			if g.off.Holds(g.deviation, width) {
				inside[s]++
			}
		}
	}
	held, servers := 0.0, 0.0
	for i := range all { // in the order of the rows, so that sums are the same each time
		s := server{all[i].Key, all[i].quantity}
		if n := rows[s]; n > 0 {
			held += inside[s] / n
			servers++
			delete(rows, s)
		}
	}
	if servers == 0 {
		return 0
	}
	return held / servers
}

// ReliabilityPlots draws how often ranges hold what was measured, by file name: over the share that
// they are to hold, by grade, and of the ranges that are to hold 80 %, by table and grade.
func (r *Report) ReliabilityPlots() (map[string]*plot.Plot, error) {
	all := r.grades()
	if len(all) == 0 {
		return nil, nil
	}
	ideal := plots.Series{Name: "as it should be"}
	var byLevel, byTable []plots.Series
	var names []string
	at := map[string]int{}
	shares := reliability(all)
	for _, k := range shares {
		if _, seen := at[k.Table]; !seen {
			at[k.Table] = len(names)
			names = append(names, k.Table)
		}
	}
	for level := 0.1; level < 0.96; level += 0.05 {
		ideal.X, ideal.Y = append(ideal.X, 100*level), append(ideal.Y, 100*level)
	}
	for _, grade := range evidence.Grades() {
		of := func(g *graded) bool { return g.grade == grade }
		curve, tables := plots.Series{Name: string(grade)}, plots.Series{Name: string(grade)}
		for _, level := range ideal.X {
			curve.X = append(curve.X, level)
			curve.Y = append(curve.Y, 100*heldBy(all, distuv.UnitNormal.Quantile((1+level/100)/2),
				of))
		}
		for i, table := range names {
			if share, known := heldOf(shares, grade, table); known {
				tables.X, tables.Y = append(tables.X, float64(i)), append(tables.Y, 100*share)
			}
		}
		if len(tables.X) > 0 {
			byLevel, byTable = append(byLevel, curve), append(byTable, tables)
		}
	}
	levels, err := (&plots.Curves{Title: "How often ranges hold what was measured",
		X: "share that ranges are to hold (%)", Y: "share that they hold (%)",
		Series: append(byLevel, ideal), Percent: true}).Draw()
	if err != nil {
		return nil, err
	}
	tables, err := (&plots.Curves{Title: "Measured values in ranges of 80 %", X: "table",
		Y: "share in the range (%)", Series: byTable, Names: names, Points: true, Percent: true,
		Limit: 80, LimitName: "80 %, as it should be"}).Draw()
	return map[string]*plot.Plot{"reliability": levels, "reliability_by_table": tables}, err
}

// heldOf returns the share of the rows of a table that ranges of a grade hold, over all quantities.
func heldOf(list []Reliability, grade evidence.Grade, table string) (share float64, known bool) {
	inside, rows := 0.0, 0
	for _, k := range list {
		if k.Grade == grade && k.Table == table {
			inside += float64(k.Inside * float64(k.Rows))
			rows += k.Rows
		}
	}
	if rows == 0 {
		return 0, false
	}
	return inside / float64(rows), true
}
