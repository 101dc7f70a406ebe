package accuracy

import (
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Held is how often ranges hold what was measured, each server and latency counting the same.
type Held struct {
	// Shown is of the latencies of the report, in the ranges that results have.
	Shown float64 `json:"shown"`
	// Shapes is of the report's servers of several shapes of prompts and answers or releases, in
	// the range that a result would have if one shape had not been measured.
	Shapes float64 `json:"other_shapes"`
	// LeftOut is of all servers that were left out of the fit, with the errors of that fit, in
	// ranges as if nothing of the same engine, accelerator and model had been measured. Servers
	// counts each of their latencies.
	LeftOut float64 `json:"left_out"`
	Servers int     `json:"left_out_servers"`
}

// held sums up how often ranges hold what was measured, given all grades of the report.
func (r *Report) held(all []Graded) Held {
	h := Held{}
	h.Shapes, _ = r.HeldByOtherShapes()
	h.Shown, _ = HeldBy(all, evidence.Width80, func(g *Graded) bool { return !g.LeftOut })
	h.LeftOut, h.Servers = HeldBy(all, evidence.Width80, func(g *Graded) bool { return g.LeftOut })
	return h
}

// HeldBy returns the share of the chosen latencies in ranges of the given standard deviations, each
// server and latency counting the same, and how many these are; 0 without rows.
func HeldBy(all []Graded, width float64, chooses func(*Graded) bool) (share float64, count int) {
	for i := range all {
		if g := &all[i]; g.shown == g.Quantity && chooses(g) {
			share += g.inside(width)
			count++
		}
	}
	return share / float64(max(1, count)), count
}

// HeldByOtherShapes returns the share of what was measured of a shape of prompts and answers that
// lies in ranges which rest on the server's other shapes and on the servers around it, each server
// of several shapes counting the same, and the number of these; 0 without rows.
func (r *Report) HeldByOtherShapes() (share float64, count int) {
	order, of := serversOf(r.served(false))
	for _, s := range order {
		shapes := map[string][]served{}
		for _, row := range of[s] {
			shapes[row.shape()] = append(shapes[row.shape()], row)
		}
		if len(shapes) < 2 {
			continue
		}
		around, held := evidence.Unmeasured(s.Key, s.Quantity), 0
		for shape, rows := range shapes {
			others := slices.DeleteFunc(slices.Clone(of[s]),
				func(row served) bool { return row.shape() == shape })
			off := given(around, others)
			for i := range rows {
				if off.Holds(rows[i].deviation, evidence.Width80) {
					held++
				}
			}
		}
		share += float64(held) / float64(len(of[s]))
		count++
	}
	return share / float64(max(1, count)), count
}

// ReliabilityPlots draws how often ranges hold what was measured, by file name: over the share that
// they are to hold, and of the ranges that are to hold 80 %, by table.
func (r *Report) ReliabilityPlots() (map[string]*plot.Plot, error) {
	all := r.Grades()
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
	for _, leftOut := range []bool{false, true} {
		name := "in these tables"
		if leftOut {
			name = "left out of the fit"
		}
		of := func(g *Graded) bool { return g.LeftOut == leftOut }
		curve, tables := plots.Series{Name: name}, plots.Series{Name: name}
		for _, level := range ideal.X {
			share, _ := HeldBy(all, distuv.UnitNormal.Quantile((1+level/100)/2), of)
			curve.X, curve.Y = append(curve.X, level), append(curve.Y, 100*share)
		}
		for i, table := range names {
			if share, known := heldOf(shares, leftOut, table); known {
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

// heldOf returns the share of what was measured of a table's servers that ranges hold, each server
// and quantity counting the same.
func heldOf(list []Reliability, leftOut bool, table string) (share float64, known bool) {
	inside, servers := 0.0, 0
	for _, k := range list {
		if k.LeftOut == leftOut && k.Table == table {
			inside += float64(k.Inside * float64(k.Servers))
			servers += k.Servers
		}
	}
	return inside / float64(max(1, servers)), servers > 0
}
