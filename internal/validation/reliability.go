package validation

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
	Grade    evidence.Grade `json:"grade"`
	Table    string         `json:"table"`
	Quantity string         `json:"quantity"`
	// Rows and Servers count what was measured, Inside is the share of the rows that lie in ranges
	// of 80 %.
	Rows    int     `json:"rows"`
	Servers int     `json:"servers"`
	Inside  float64 `json:"inside"`
	// LeftOut is that share where ranges are calibrated without the row, or for lower grades than
	// measured without all rows of its engine, accelerator and model; absent where the report has
	// too few rows.
	LeftOut *float64 `json:"inside_left_out,omitempty"`

	keys map[any]bool
	left float64
}

// graded is a row with the range that its prediction would have, and the one that it would have if
// the row, or all of its engine, accelerator and model, had never been seen.
type graded struct {
	served
	grade         evidence.Grade
	off, unseen   evidence.Off
	calibratable  bool
	withoutServer bool
}

// enoughRows is how many rows a report has from which ranges can be calibrated.
const enoughRows = 500

// grades returns the rows of servers, each twice: as that of a server that was measured, where it
// was, and as that of one of which nothing with the same engine, accelerator and model was.
func (r *Report) grades() []graded {
	rows := r.served(true)
	c := calibration{r.served(false)}
	calibratable := len(c.rows) >= enoughRows
	places, priors := c.servers(), map[server]evidence.Off{}
	var list []graded
	for i := range rows {
		s := &rows[i]
		k := server{s.Key, s.quantity}
		before, known := priors[k]
		if !known && calibratable {
			before = c.before(s)
			priors[k] = before
		}
		with, without := evidence.Of(s.Key, true), evidence.Without(s.Key)
		g := graded{served: *s, grade: with.Grade, off: offOf(&with, s.quantity),
			calibratable: calibratable}
		if with.Grade == evidence.Measured {
			var others []float64
			for _, j := range places[k] {
				if c.rows[j].Comparison != s.Comparison {
					others = append(others, c.rows[j].deviation)
				}
			}
			g.unseen = given(before, others)
			list = append(list, g)
		}
		g.grade, g.off, g.withoutServer = without.Grade, offOf(&without, s.quantity), true
		g.unseen = before.Below(without.Grade, s.quantity)
		list = append(list, g)
	}
	return list
}

// Range returns the range that a result has for a latency or a rate of the comparison's server, and
// what it rests on; false for figures without one.
func (c *Comparison) Range() (low, high float64, grade evidence.Grade, ok bool) {
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
func offOf(e *evidence.Evidence, quantity string) evidence.Off {
	s := &e.Spread
	if quantity == "TTFT" {
		return evidence.Off{Bias: s.TTFTBias, Within: s.TTFT * evidence.Width80}
	}
	return evidence.Off{Bias: s.TPOTBias, Within: s.TPOT * evidence.Width80}
}

// Reliability says of each grade, table and quantity how often ranges hold what was measured.
func (r *Report) Reliability() []Reliability { return reliability(r.grades()) }

func reliability(all []graded) []Reliability {
	var list []Reliability
	for i := range all {
		g := &all[i]
		at := slices.IndexFunc(list, func(k Reliability) bool {
			return k.Grade == g.grade && k.Table == g.Table && k.Quantity == g.shown
		})
		if at < 0 {
			at = len(list)
			list = append(list, Reliability{Grade: g.grade, Table: g.Table, Quantity: g.shown,
				keys: map[any]bool{}})
			if g.calibratable {
				list[at].LeftOut = new(float64)
			}
		}
		k := &list[at]
		k.Rows++
		k.keys[g.Key] = true
		if g.off.Holds(g.deviation, evidence.Width80) {
			k.Inside++
		}
		if g.unseen.Holds(g.deviation, evidence.Width80) {
			k.left++
		}
	}
	for i := range list {
		k := &list[i]
		k.Inside, k.Servers = k.Inside/float64(k.Rows), len(k.keys)
		if k.LeftOut != nil {
			*k.LeftOut = k.left / float64(k.Rows)
		}
	}
	slices.SortFunc(list, func(a, b Reliability) int {
		return cmp.Or(cmp.Compare(slices.Index(evidence.Grades(), a.Grade),
			slices.Index(evidence.Grades(), b.Grade)),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.Quantity, b.Quantity))
	})
	return list
}

// calibrated reports whether ranges hold as many values as they are to.
func calibrated(share float64) bool { return share >= 0.75 && share <= 0.85 }

// enough reports whether there are enough rows and servers to say how often ranges hold.
func (k *Reliability) enough() bool { return k.Rows >= 30 && k.Servers >= 5 }

// verdict says in a word how often ranges hold.
func (k *Reliability) verdict() string {
	share := k.Inside
	if k.LeftOut != nil {
		share = *k.LeftOut
	}
	switch {
	case !k.enough():
		return "few servers"
	case calibrated(share):
		return ""
	case share < 0.75:
		return "too narrow"
	}
	return "too wide"
}

// writeReliability prints how often ranges hold what was measured.
func writeReliability(b *bytes.Buffer, list []Reliability, held Held) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "How often the ranges that are to hold %.0f %% of what is measured do, by what "+
		"a prediction rests on.\n", 100*intervalLevel)
	fmt.Fprint(b, "A row counts with the evidence of its server, and again as if nothing of its "+
		"engine, accelerator and model had\n"+
		"been measured. \"Inside\" is of the ranges that results have, \"left out\" of ranges "+
		"that were calibrated without that\n"+
		"row, or without all rows of that engine, accelerator and model. The step times were "+
		"fitted to some of the rows.\n")
	fmt.Fprintf(b, "Over all, each server counting the same: %.0f %% as measured, %.0f %% with "+
		"nothing of the kind measured.\n", 100*held.Measured, 100*held.LeftOut)
	fmt.Fprintf(b, "  %-14s %-20s %-6s %6s %8s %8s %9s\n", "evidence", "table", "of", "rows",
		"servers", "inside", "left out")
	for i := range list {
		k := &list[i]
		left := "–"
		if k.LeftOut != nil {
			left = fmt.Sprintf("%.0f %%", 100**k.LeftOut)
		}
		fmt.Fprintf(b, "  %-14s %-20s %-6s %6d %8d %6.0f %% %9s  %s\n", k.Grade, k.Table,
			k.Quantity, k.Rows, k.Servers, 100*k.Inside, left, k.verdict())
	}
	b.WriteByte('\n')
}
