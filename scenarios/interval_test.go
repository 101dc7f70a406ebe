package scenarios

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/scenarios/evidence"
)

// A load is near capacity where requests vary by much more than the steps do, and the servers bear
// as much more or less of it as steps are faster or slower.
func TestLoadNearCapacity(t *testing.T) {
	spread := evidence.Spread{TPOT: 0.1}
	fast, slow := spread.Range()
	for ratio, want := range map[float64]bool{slow / fast: false, 2 * slow / fast: true} {
		v := Intervals{Of: map[string]Range{"mean_e2el_ms": {Low: 1, High: ratio}}}
		load, near := v.Load(&spread)
		if near != want || math.Abs(load.Low*slow-1) > 1e-9 || math.Abs(load.High*fast-1) > 1e-9 {
			t.Errorf("requests vary %g-fold, steps %g-fold: %+v, %v", ratio, slow/fast, load, near)
		}
	}
	if _, near := (&Intervals{}).Load(&spread); near {
		t.Error("a run without requests is near capacity")
	}
}
