package accuracy

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Reliability says how often the ranges of one grade hold what was measured.
type Reliability struct {
	// LeftOut reports whether this is of servers that were left out of the fit, with the errors of
	// that fit, in ranges as if nothing of their engine, accelerator and model had been measured.
	// Otherwise it is of the rows of the report, in the ranges that results have.
	LeftOut  bool           `json:"left_out"`
	Grade    evidence.Grade `json:"grade"`
	Table    string         `json:"table"`
	Quantity string         `json:"quantity"`
	// Rows and Servers count what was measured. Inside is the share in the ranges of 80 %, each
	// server counting the same.
	Rows    int     `json:"rows"`
	Servers int     `json:"servers"`
	Inside  float64 `json:"inside"`
}

// Graded is what was measured of one quantity of a server in one table, with the range that a
// result has.
type Graded struct {
	server
	Table, shown string
	Grade        evidence.Grade
	off          evidence.ErrorRange
	LeftOut      bool
	rows         int
	// deviations are the rows', or five that represent them where leftOut is set.
	deviations []float64
}

// inside returns the share of what was measured that a range of the given standard deviations
// holds.
func (g *Graded) inside(width float64) float64 {
	n := 0
	for _, x := range g.deviations {
		if g.off.Holds(x, width) {
			n++
		}
	}
	return float64(n) / float64(len(g.deviations))
}

// Grades returns the report's servers, and all that were left out of the fit, with no table where
// the report has no row of theirs.
func (r *Report) Grades() []Graded {
	type place struct {
		server
		table, shown string
	}
	at, tables := map[place]int{}, map[server]string{}
	var list []Graded
	for _, s := range r.served(true) {
		p := place{server{s.Key, s.quantity}, s.Table, s.shown}
		if _, ok := at[p]; !ok {
			e := evidence.Of(s.Key, true)
			at[p] = len(list)
			list = append(list, Graded{server: p.server, Table: s.Table, shown: s.shown,
				Grade: e.Grade, off: offOf(&e, s.quantity)})
			if s.shown == s.quantity {
				tables[p.server] = s.Table
			}
		}
		g := &list[at[p]]
		g.rows++
		g.deviations = append(g.deviations, s.deviation)
	}
	for _, e := range evidence.LeftOut() {
		s, without, points := server{e.Key, e.Quantity}, evidence.Without(e.Key), e.Range.Points()
		list = append(list, Graded{server: s, Table: tables[s], shown: e.Quantity,
			Grade: without.Grade, off: offOf(&without, e.Quantity), LeftOut: true, rows: e.Rows,
			deviations: points[:]})
	}
	return list
}

// Range returns the range that a result has for a latency or a rate of the comparison's server, and
// what it rests on; false for figures without one.
func Range(c *Comparison) (low, high float64, grade evidence.Grade, ok bool) {
	quantity, rate := latency(c)
	if c.Quantity == "output rate" {
		quantity, rate = "TPOT", true
	}
	if quantity == "" || c.Key.Engine == "" || c.Predicted <= 0 {
		return 0, 0, "", false
	}
	e := evidence.Of(c.Key, true)
	off := offOf(&e, quantity)
	fast, slow := math.Exp(off.Bias-off.Within), math.Exp(off.Bias+off.Within)
	if rate {
		return c.Predicted / slow, c.Predicted / fast, e.Grade, true
	}
	return c.Predicted * fast, c.Predicted * slow, e.Grade, true
}

// offOf returns the range of a quantity that evidence gives.
func offOf(e *evidence.Evidence, quantity string) evidence.ErrorRange {
	s := &e.Spread
	if quantity == "TTFT" {
		return evidence.ErrorRange{Bias: s.TTFTBias, Within: s.TTFT * evidence.Width80}
	}
	return evidence.ErrorRange{Bias: s.TPOTBias, Within: s.TPOT * evidence.Width80}
}

// reliability says of each grade, table and quantity how often ranges hold what was measured.
func reliability(all []Graded) []Reliability {
	var list []Reliability
	for i := range all {
		g := &all[i]
		if g.Table == "" {
			continue
		}
		at := slices.IndexFunc(list, func(k Reliability) bool {
			return k.LeftOut == g.LeftOut && k.Grade == g.Grade && k.Table == g.Table &&
				k.Quantity == g.shown
		})
		if at < 0 {
			at = len(list)
			list = append(list, Reliability{LeftOut: g.LeftOut, Grade: g.Grade, Table: g.Table,
				Quantity: g.shown})
		}
		k := &list[at]
		k.Rows += g.rows
		k.Servers++
		k.Inside += (g.inside(evidence.Width80) - k.Inside) / float64(k.Servers)
	}
	slices.SortFunc(list, func(a, b Reliability) int {
		return cmp.Or(cmp.Compare(slices.Index(evidence.Grades(), a.Grade),
			slices.Index(evidence.Grades(), b.Grade)),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.Quantity, b.Quantity))
	})
	return list
}

// Calibrated reports whether ranges hold the share of values that they are to hold.
func Calibrated(share float64) bool { return share >= 0.75 && share <= 0.85 }

// ByChance reports whether a share of servers' values may differ from what ranges are to hold as it
// does because servers are few: fewer than five, or by two standard deviations at most.
func ByChance(share float64, servers int) bool {
	return servers < 5 || math.Abs(share-intervalLevel) <=
		2*math.Sqrt(intervalLevel*(1-intervalLevel)/float64(servers))
}

// verdict says in words how often ranges hold.
func (k *Reliability) verdict() string {
	switch {
	case Calibrated(k.Inside):
		return ""
	case ByChance(k.Inside, k.Servers):
		return "few"
	case k.Inside < intervalLevel:
		return "too narrow"
	}
	return "too wide"
}

// writeReliability prints how often ranges hold what was measured.
func writeReliability(b *bytes.Buffer, list []Reliability, held Held) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "Ranges of results are to hold %.0f %% of what is measured. Each server counts "+
		"the same. Of the latencies above, ranges as shipped hold %.0f %%: nothing is calibrated "+
		"on these rows, but ranges hold more of the rows that they were made from.",
		100*intervalLevel, 100*held.Shown)
	if held.Shapes > 0 {
		fmt.Fprintf(b, " With one shape of prompts and answers at a time taken out of a server's "+
			"range, it holds %.0f %% of that shape.", 100*held.Shapes)
	}
	fmt.Fprintf(b, " Of %d latencies of servers that were left out of the fit, ranges as if "+
		"nothing of their engine, accelerator and model had been measured hold %.0f %%, with the "+
		"errors of that fit\n", held.Servers, 100*held.LeftOut)
	for _, leftOut := range []bool{false, true} {
		of := "rows above, in the ranges of results"
		if leftOut {
			of = "servers left out of the fit; few: what so few servers hold by chance"
		}
		if !slices.ContainsFunc(list, func(k Reliability) bool { return k.LeftOut == leftOut }) {
			continue
		}
		fmt.Fprintf(b, "  %s\n  %-14s %-20s %-6s %6s %8s %8s\n", of, "evidence", "table", "of",
			"rows", "servers", "inside")
		for i := range list {
			if k := &list[i]; k.LeftOut == leftOut {
				fmt.Fprintf(b, "  %-14s %-20s %-6s %6d %8d %6.0f %%  %s\n", k.Grade, k.Table,
					k.Quantity, k.Rows, k.Servers, 100*k.Inside, k.verdict())
			}
		}
	}
	b.WriteByte('\n')
}
