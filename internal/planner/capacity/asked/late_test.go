package asked_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// The share of requests that keep an SLO falls as TTFT grows, is the simulated one at a factor of
// 1, and reaches its target at the largest factor under which the clause is kept.
func TestTheShareFallsAsTTFTGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := metrics.SLO{TTFT: sim.Seconds(rapid.Float64Range(0, 2).Draw(t, "ttft")),
			TPOT: sim.Seconds(rapid.Float64Range(0, 0.1).Draw(t, "tpot")),
			E2E:  sim.Seconds(rapid.Float64Range(0, 20).Draw(t, "e2e"))}
		var rooms []float64
		kept := 0.0
		for range asked.BatchCount * rapid.IntRange(1, 10).Draw(t, "requests") {
			first := rapid.Float64Range(0.001, 3).Draw(t, "first")
			pace := rapid.Float64Range(0.001, 0.2).Draw(t, "pace")
			r := planner.Request{TTFT: sim.Seconds(first), TPOT: sim.Seconds(pace),
				E2E: sim.Seconds(first + 100*pace)}
			rooms = append(rooms, asked.Room(&r, &limits))
			within := func(x, most sim.Time) bool { return most == 0 || x <= most }
			if within(r.TTFT, limits.TTFT) && within(r.TPOT, limits.TPOT) &&
				within(r.E2E, limits.E2E) {
				kept++
			}
		}
		g := asked.Clause{Kept: asked.ShareKept(rooms, 1, 0.95), Late: asked.Lateness(rooms, 0.95),
			Target: rapid.Float64Range(0.01, 1).Draw(t, "target")}
		if want := kept / float64(len(rooms)); math.Abs(g.Kept.Mean-want) > 1e-9 {
			t.Fatalf("%g keep it, want %g", g.Kept.Mean, want)
		}
		for k, factor := range asked.LateFactors() {
			if want := asked.ShareKept(rooms, factor, 0.95); g.Late[k] != want {
				t.Fatalf("%+v keep it at the factor %g, want %+v", g.Late[k], factor, want)
			}
		}
		for k := 1; k < len(g.Late); k++ {
			if g.Late[k].Mean > g.Late[k-1].Mean+1e-12 {
				t.Fatalf("more requests keep the SLO with a later first token: %v", g.Late)
			}
		}
		if most := asked.MostKept(g.Late, g.Target); most > 0 && !math.IsInf(most, 1) {
			if share := g.Under(asked.LateBy(most)).Kept.Mean; math.Abs(share-g.Target) > 1e-6 {
				t.Fatalf("%g keep it at the largest factor %g, want %g", share, most, g.Target)
			}
		}
	})
}
