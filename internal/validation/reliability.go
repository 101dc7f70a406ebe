package validation

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Reliability says how often the ranges of one grade hold what was measured.
type Reliability struct {
	Grade    evidence.Grade `json:"grade"`
	Table    string         `json:"table"`
	Quantity string         `json:"quantity"`
	// Rows and Servers count what was measured, Inside is the share of the rows that lie in the
	// ranges of 80 % that results have.
	Rows    int     `json:"rows"`
	Servers int     `json:"servers"`
	Inside  float64 `json:"inside"`

	keys map[any]bool
}

// graded is a row with the range that a result for its server has.
type graded struct {
	served
	grade evidence.Grade
	off   evidence.Off
	// withoutServer reports whether the range is that of a result if nothing with the same engine,
	// accelerator and model had been measured.
	withoutServer bool
}

// grades returns the rows of servers, each twice: as that of a server that was measured, where it
// was, and as that of one of which nothing with the same engine, accelerator and model was.
func (r *Report) grades() []graded {
	type ranges struct{ with, without evidence.Evidence }
	known := map[servers.Key]ranges{}
	var list []graded
	for _, s := range r.served(true) {
		e, ok := known[s.Key]
		if !ok {
			e = ranges{evidence.Of(s.Key, true), evidence.Without(s.Key)}
			known[s.Key] = e
		}
		if e.with.Grade == evidence.Measured {
			list = append(list, graded{s, e.with.Grade, offOf(&e.with, s.quantity), false})
		}
		list = append(list, graded{s, e.without.Grade, offOf(&e.without, s.quantity), true})
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
		}
		k := &list[at]
		k.Rows++
		k.keys[g.Key] = true
		if g.off.Holds(g.deviation, evidence.Width80) {
			k.Inside++
		}
	}
	for i := range list {
		k := &list[i]
		k.Inside, k.Servers = k.Inside/float64(k.Rows), len(k.keys)
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
	switch {
	case !k.enough():
		return "few servers"
	case calibrated(k.Inside):
		return ""
	case k.Inside < 0.75:
		return "too narrow"
	}
	return "too wide"
}

// writeReliability prints how often ranges hold what was measured.
func writeReliability(b *bytes.Buffer, list []Reliability, held Held) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "How often the ranges of results, which are to hold %.0f %% of what is "+
		"measured, hold the rows above: as those of servers that were measured, and as if nothing "+
		"of their engine, accelerator and model had been. Ranges are as shipped: nothing is "+
		"calibrated on these rows, but ranges of measured servers rest on the rows that they were "+
		"made from\n", 100*intervalLevel)
	fmt.Fprintf(b, "Over all, each server counting the same: %.0f %% as measured, %.0f %% with "+
		"nothing of the kind measured.\n", 100*held.Measured, 100*held.LeftOut)
	fmt.Fprintf(b, "  %-14s %-20s %-6s %6s %8s %8s\n", "evidence", "table", "of", "rows",
		"servers", "inside")
	for i := range list {
		k := &list[i]
		fmt.Fprintf(b, "  %-14s %-20s %-6s %6d %8d %6.0f %%  %s\n", k.Grade, k.Table,
			k.Quantity, k.Rows, k.Servers, 100*k.Inside, k.verdict())
	}
	b.WriteByte('\n')
}
