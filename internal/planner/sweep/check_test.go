package sweep

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// What a run comes to passes the check; with any of its figures made impossible it does not.
func TestImpossibleOutcomesAreRefused(t *testing.T) {
	f, err := scenarios.Load("chat", "workload.requests=200")
	testkit.OK(t, err)
	result, err := Simulate(context.Background(), f, "")
	testkit.OK(t, err)
	o := result.(outcome)
	if err := o.Check(); err != nil {
		t.Fatalf("a run is refused: %v", err)
	}
	refused := func(name string, value float64) {
		t.Helper()
		before, known := o.Values[name]
		o.Values[name] = value
		if o.Check() == nil {
			t.Errorf("%s of %g passes", name, value)
		}
		if o.Values[name] = before; !known {
			delete(o.Values, name)
		}
	}
	for _, m := range planner.Metrics() {
		for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
			if v != -1 || !m.Signed {
				refused(m.Name, v)
			}
		}
	}
	refused("request_throughput", 999999)
	refused("completed", o.Values["completed"]+1)
	refused("goodput", 1.01*o.Values["request_throughput"])
	refused("slo_attainment", 1.01)
	refused("median_ttft_ms", 2*o.Values["p99_ttft_ms"])
	refused("surprise", 1)
	o.Reason = "does not fit"
	if o.Check() == nil {
		t.Error("figures of a run that could not be pass")
	}
}
