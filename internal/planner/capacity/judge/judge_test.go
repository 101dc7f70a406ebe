package judge

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The rates of a grid fall from the bound to the lightest load by the same factor, to the digits
// that rates have, and beyond it there is none. Of them, Above finds the lowest above another.
func TestRatesOfAGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := RateGrid{Ceiling: rapid.Float64Range(0.01, 1e5).Draw(t, "bound")}
		for place := range Grid + 1 {
			exact := g.Ceiling * math.Pow(2, -6*float64(place)/128)
			if got := g.Rate(place); math.Abs(got/exact-1) > 5e-3 {
				t.Fatalf("rate %d is %g, want %g", place, got, exact)
			}
		}
		if g.Rate(Grid+1) != 0 {
			t.Fatalf("no load is %g", g.Rate(Grid+1))
		}
		rate := g.Rate(rapid.IntRange(0, Grid+1).Draw(t, "place")) *
			rapid.SampledFrom([]float64{0.99, 1, 1.01}).Draw(t, "factor")
		at := g.Above(rate)
		if at > 0 && g.Rate(at) <= rate || at < Grid && g.Rate(at+1) > rate {
			t.Fatalf("place %d has %g, the next %g, above %g", at, g.Rate(at), g.Rate(at+1), rate)
		}
	})
}

// The search of the highest rate halves what is not known until one place is left, which is the
// highest that is sustained. Rates below what is served elsewhere are not looked at.
func TestTheHighestRateIsFoundByHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		highest := rapid.IntRange(1, Grid+1).Draw(t, "highest place sustained")
		served := rapid.SampledFrom([]float64{0, 0, 3, 30}).Draw(t, "served")
		g := RateGrid{Kept: Grid + 1, Missed: 0, Ceiling: 100}
		for tries := 0; !g.Done(); tries++ {
			place := g.Next(served)
			if place == g.Missed {
				if g.Highest() >= served {
					t.Fatalf("ends at %+v, where %g may be sustained, %g is served", g,
						g.Highest(), served)
				}
				return
			}
			if tries > 7 && served == 0 || g.Rate(place) < served || place >= g.Kept {
				t.Fatalf("place %d of %+v after %d tries, %g is served", place, g, tries, served)
			}
			if place >= highest {
				g.Kept = place
			} else {
				g.Missed = place
			}
		}
		if g.Kept != highest || g.Highest() != g.Rate(highest) {
			t.Fatalf("%+v, want %d", g, highest)
		}
	})
}

// run is a trial of which the given share keeps an SLO of 90 %, known to some half width.
func run(mean, half float64) Trial {
	kept := stats.Interval{Mean: mean, Half: half}
	return Trial{Kept: kept, Target: 0.9,
		Clauses: []asked.Clause{{Kept: kept, Target: 0.9}}}
}

// A decision takes as many runs as make it clear: one that is hopeless or grows, two that miss
// clearly, four that keep clearly, and all there are, or so many requests, where it is close. What
// is kept is the mean of all runs.
func TestDecisionsTakeTheRunsTheyNeed(t *testing.T) {
	growing := run(1, 0)
	growing.Growing = true
	for _, c := range []struct {
		name     string
		one      Trial
		requests int64
		runs     int
		kept     bool
	}{
		{"hopeless", run(0.79, 0.2), 1, 1, false},
		{"not hopeless", run(0.8, 0.01), 1, 2, false},
		{"growing", growing, 1, 1, false},
		{"clear miss", run(0.85, 0.01), 1, 2, false},
		{"clear", run(0.95, 0.01), 1, 4, true},
		{"at the target", run(0.9, 0.05), 1, 12, true},
		{"close miss", run(0.895, 0.9), 1, 12, false},
		{"close, many requests", run(0.9, 0.9), 100_000, 2, true},
		{"close, some requests", run(0.9, 0.9), 99_999, 3, true},
		{"close, enough requests at once", run(0.9, 0.9), 200_000, 2, true},
	} {
		seeds := []uint64{}
		runs, kept, err := PoolOf(MostSeeds, func(seed uint64) (Trial, int64, error) {
			seeds = append(seeds, seed)
			return c.one, c.requests, nil
		})
		testkit.OK(t, err)
		if len(runs) != c.runs || kept != c.kept || seeds[len(seeds)-1] != uint64(c.runs-1) {
			t.Errorf("%s: %d runs by seeds %v, kept %v; want %d, %v", c.name, len(runs), seeds,
				kept, c.runs, c.kept)
		}
		if got := SharePooled(runs); math.Abs(got.Mean-c.one.Kept.Mean) > 1e-12 {
			t.Errorf("%s: the pooled share is %g", c.name, got.Mean)
		}
	}
	turns := []float64{1, 0.8, 0.9, 0.9, 0.9, 0.9}
	runs, kept, err := PoolOf(len(turns), func(seed uint64) (Trial, int64, error) {
		return run(turns[seed], 0.2), 1, nil
	})
	testkit.OK(t, err)
	if got := SharePooled(runs); len(runs) != 6 || !kept || math.Abs(got.Mean-0.9) > 1e-12 ||
		math.Abs(got.Half-0.2/math.Sqrt(6)) > 1e-12 {
		t.Errorf("six runs around the target: kept %v, %+v", kept, got)
	}
	later := []Trial{run(1, 0), growing}
	later[1].Kept.Mean = 0.3
	if got := SharePooled(later); got.Mean != 0.3 {
		t.Errorf("with a run that grows the share is %g", got.Mean)
	}
}

// A replica that is counted as unused never ran.
func TestReplicasThatMayBeOff(t *testing.T) {
	for unused, want := range map[int]bool{0: false, 1: true, 5: true} {
		alike := &candidate.Option{Parts: &candidate.Parts{}}
		if got := NeverRan(alike, &Trial{Unused: unused}, 9); got != want {
			t.Errorf("%d unused: %v", unused, got)
		}
	}
	if got := Indices(3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("%v", got)
	}
}
