package candidate

import (
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// A plan that trusts measurements alone takes a server only if each latency that its SLO limits was
// measured.
func TestTrustCountsBothLatencies(t *testing.T) {
	first, pace := evidence.Error{Quantity: "TTFT"}, evidence.Error{Quantity: "TPOT"}
	limit := scenarios.Limits{Request: 1}
	for _, c := range []struct {
		slo    scenarios.SLO
		errors []evidence.Error
		want   string
	}{
		{scenarios.SLO{TTFT: limit, TPOT: limit}, []evidence.Error{first, pace}, ""},
		{scenarios.SLO{TTFT: limit, TPOT: limit}, []evidence.Error{pace}, "TTFT"},
		{scenarios.SLO{TPOT: limit}, []evidence.Error{pace}, ""},
		{scenarios.SLO{E2E: limit}, []evidence.Error{first}, "TPOT"},
	} {
		p := &asked.Plan{SLO: c.slo}
		e := evidence.Evidence{Grade: evidence.Measured, Errors: c.errors}
		if got := unmeasured(p, &e); got != c.want {
			t.Errorf("%+v: %q was not measured, want %q", c.slo, got, c.want)
		}
	}
}
