package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// intervalLevel is the share of measurements that ranges of results are to hold.
const intervalLevel = 0.8

// served is a measured figure of a server, with the logarithm of the measured over the predicted
// time. A rate, which falls as times grow, counts as the time of its inverse.
type served struct {
	*Comparison
	quantity  string // one of evidence.Metrics
	deviation float64
}

// latency returns what evidence calls a measured quantity of a server, or "", and whether it is a
// rate, which falls as times grow. A median counts where the table has no mean.
func latency(c *Comparison) (name string, rate bool) {
	if strings.HasSuffix(c.Case, Saturated) && !strings.Contains(c.Quantity, "rate") {
		return "", false // near capacity, an error is one of the load
	}
	switch c.Quantity {
	case "TTFT mean", "first token", "prompt":
		return "TTFT", false
	case "TPOT mean", "token p50", "token":
		return "TPOT", false
	case "TTFT p50", "TPOT p50":
		if hasMedians[c.Table] {
			return QuantityFamily(c.Quantity), false
		}
	case "prefill rate":
		return "TTFT", true
	case "decode rate":
		return "TPOT", true
	}
	return "", false
}

// Saturated ends the case of an open load that the server could not take: the client had its
// largest number of requests under way. What the server bears is compared there, as a rate: the
// latencies follow from the length of the run.
const Saturated = " in flight"

// hasMedians are the tables that have medians rather than means.
var hasMedians = map[string]bool{"silicon_app": true, "sglang_cookbook": true,
	"accelerators_other": true, "served": true}

// servedOf returns a comparison as a figure of a server; false where it has no range.
func servedOf(c *Comparison) (s served, ok bool) {
	quantity, rate := latency(c)
	if c.Quantity == "output rate" || c.Quantity == "tokens a node" {
		quantity, rate = evidence.Rate, true
	}
	if c.Key.Engine == "" || quantity == "" || c.Predicted <= 0 || c.Measured <= 0 {
		return s, false
	}
	s = served{c, quantity, math.Log(c.Measured / c.Predicted)}
	if rate {
		s.deviation = -s.deviation
	}
	return s, true
}

// served lists the figures of servers.
func (r *Report) served() []served {
	var list []served
	for c := range r.All() {
		if s, ok := servedOf(c); ok {
			list = append(list, s)
		}
	}
	return list
}

// point is the server and the load of the figure.
func (s *served) point() evidence.Point {
	return evidence.Point{Key: s.Key, Version: s.Version, Load: s.Load}
}

// server is a server and a quantity with measured rows.
type server struct {
	Key      servers.Key
	Quantity string
}

// Known returns the errors of each server that was measured, as evidence has them.
func (r *Report) Known() []evidence.Error {
	_, of := grouped(r.served(), func(s *served) server { return server{s.Key, s.quantity} })
	var list []evidence.Error
	for one, rows := range of {
		e := evidence.Error{Key: one.Key, Quantity: one.Quantity, Rows: len(rows)}
		var errors, without, off, far []float64
		var residuals []evidence.Residual
		for i := range rows {
			s := &rows[i]
			errors, off = append(errors, math.Abs(s.Error())), append(off, s.deviation)
			if left := s.leftOut(); left != nil {
				without = append(without, math.Abs(math.Expm1(*left.Group)))
			}
			if v := s.Version; v != "" && !slices.Contains(e.Versions, v) {
				e.Versions = append(e.Versions, v)
			}
			residuals = append(residuals, evidence.Residual{Version: s.Version, Load: s.Load,
				Off: s.deviation})
		}
		slices.Sort(e.Versions)
		e.Residuals = evidence.ResidualsOf(residuals)
		e.Median, e.Range.Bias = median(errors), median(off)
		for _, x := range off {
			far = append(far, math.Abs(x-e.Range.Bias))
		}
		slices.Sort(far)
		e.Range.Within = Quantile(far, intervalLevel)
		if len(without) > 0 {
			e.LeftOut = max(median(without), 0.001) // as few digits are kept, and 0 is for no row
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b evidence.Error) int {
		return cmp.Compare(fmt.Sprint(a.Key, a.Quantity), fmt.Sprint(b.Key, b.Quantity))
	})
	return list
}

// Range returns the range that a result has for a figure of the comparison's server, and what it
// rests on; false for figures without one.
func Range(c *Comparison) (low, high float64, grade evidence.Grade, ok bool) {
	s, ok := servedOf(c)
	if !ok {
		return 0, 0, "", false
	}
	e := s.evidence()
	off := e.Spread.Of(s.quantity, 0)
	fast, slow := math.Exp(off.Bias-off.Within), math.Exp(off.Bias+off.Within)
	if _, rate := latency(c); rate || s.quantity == evidence.Rate {
		return c.Predicted / slow, c.Predicted / fast, e.Grade, true
	}
	return c.Predicted * fast, c.Predicted * slow, e.Grade, true
}

// evidence returns what a result of the row's server says of its accuracy.
func (s *served) evidence() evidence.Evidence {
	return s.under(evidence.Of(s.Key, true))
}

// under returns evidence for the release and the load of the figure.
func (s *served) under(e evidence.Evidence) evidence.Evidence {
	if s.Version != "" {
		e = e.At(s.Version, true)
	}
	return e.Under(s.Load)
}
