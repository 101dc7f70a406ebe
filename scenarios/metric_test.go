package scenarios

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
)

// full is a result that has every part.
func full() *Result {
	return &Result{SpeculationResult: &SpeculationResult{Speedup: &Speedup{}},
		Sold: &TokenRevenue{Margin: new(float64)}, Cost: 1, CostPerMillion: 1, EnergyPerMillion: 1,
		Summary: metrics.Summary{Service: metrics.Service{Latencies: spread()},
			Phases: &metrics.Phases{},
			Sessions: &metrics.Sessions{Mean: 1, Median: 1, P90: 1, P99: 1, Calls: 1,
				Input: 1, Cached: 1, Output: 1}}, CostPerSession: 1, AdapterLoads: 1}
}

// The list of metrics and the numbers in the JSON of a result are the same: a number that is not in
// the list is shown nowhere.
func TestMetricsAreTheNumbersOfAResult(t *testing.T) {
	text, err := json.Marshal(full())
	testkit.OK(t, err)
	var keys map[string]any
	testkit.OK(t, json.Unmarshal(text, &keys))
	delete(keys, "seed") // it says what was run, not what came out
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] || m.Title == "" {
			t.Errorf("metric %q is listed twice or has no title", m.Name)
		}
		seen[m.Name] = true
		if _, found := numberAt(reflect.ValueOf(full()), m.keys()); !found {
			t.Errorf("a result has no number %q", strings.Join(m.keys(), "."))
		}
	}
	for key, value := range keys {
		if _, number := value.(float64); number && !seen[key] {
			t.Errorf("the number %q of a result is not in the list of metrics", key)
		}
	}
}

// A metric has the value that the JSON of the result has, for all and for each class.
func TestMetricValues(t *testing.T) {
	r := full()
	r.MeanTTFT, r.Completed, r.Speedup.TPOT, r.Attainment.All = 12.5, 7, 2.5, 0.75
	c := metrics.ClassSummary{Latencies: metrics.Latencies{MeanTTFT: 3},
		Attainment: metrics.Attainment{All: 0.5}}
	for _, want := range []struct {
		name         string
		all, byClass float64
		kept         bool
	}{
		{"mean_ttft_ms", 12.5, 3, true}, {"completed", 7, 0, true},
		{"speculation_speedup", 2.5, 1, false},
		{"slo_attainment", 0.75, 0.5, true}, {"mean_itl_ms", 0, 0, false},
	} {
		m := MetricNamed(want.name)
		if all, byClass := m.Of(r), m.OfClass(&c); all != want.all || byClass != want.byClass ||
			m.ByClass() != want.kept {
			t.Errorf("%s is %g, of a class %g (%v), want %+v", m.Name, all, byClass, m.ByClass(),
				want)
		}
	}
	if got := MetricNamed("tokens_per_step").Of(&Result{}); got != 1 {
		t.Errorf("without drafts a step gives %g tokens, want 1", got)
	}
}
