package sweep

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/planner"
)

// Check refuses results that no run gives: figures that are missing, unknown, negative or not
// finite, and figures that contradict each other.
func (o *outcome) Check() error {
	if o.Reason != "" {
		if len(o.Values) > 0 {
			return fmt.Errorf("found %d figures of a run that could not be", len(o.Values))
		}
		return nil
	}
	known := 0
	for _, m := range planner.Metrics() {
		v, found := o.Values[m.Name]
		if !found && math.IsNaN(m.Absent) {
			continue
		}
		known++
		if !found || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && !m.Signed {
			return fmt.Errorf("%s: found %g, want a finite number from 0", m.Name, v)
		}
	}
	if len(o.Values) != known {
		return fmt.Errorf("found %d figures, want %d", len(o.Values), known)
	}
	for name, v := range o.Whole {
		if _, found := o.Values[name]; !found || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s over the whole run: found %g, want a finite number of a figure "+
				"that the run has", name, v)
		}
	}
	return o.checkSums()
}

// rounding is the relative error that figures may have that are computed from one another.
const rounding = 1e-6

// checkSums refuses figures that contradict each other.
func (o *outcome) checkSums() error {
	v := o.Values
	if rate, served := v["request_throughput"],
		v["completed"]; math.Abs(rate*v["duration"]-served) > rounding*served {
		return fmt.Errorf("%g requests in %g s are not %g/s", served, v["duration"], rate)
	}
	for _, pair := range [][2]string{
		{"goodput", "request_throughput"}, {"output_throughput", "total_token_throughput"},
		{"median_ttft_ms", "p99_ttft_ms"},
		{"median_tpot_ms", "p99_tpot_ms"}, {"median_e2el_ms", "p99_e2el_ms"},
	} {
		if less, more := v[pair[0]], v[pair[1]]; less > more*(1+rounding) {
			return fmt.Errorf("%s is %g, more than %s, which is %g", pair[0], less, pair[1], more)
		}
	}
	if kept := v["slo_attainment"]; kept > 1 {
		return fmt.Errorf("slo_attainment: found %g, want a share", kept)
	}
	return nil
}
