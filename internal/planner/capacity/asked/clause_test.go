package asked

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/stats"
)

// The clause that binds is the one of which the largest part of the allowed misses is used; a
// clause that allows none binds as soon as one request misses it.
func TestTheClauseThatBinds(t *testing.T) {
	clause := func(kept, target float64) Clause {
		return Clause{Kept: stats.Interval{Mean: kept}, Target: target}
	}
	for _, c := range []struct {
		clauses []Clause
		want    int
	}{
		{[]Clause{clause(0.99, 0.9), clause(0.96, 0.95)}, 1},
		{[]Clause{clause(0.96, 0.95), clause(0.99, 0.9)}, 0},
		{[]Clause{clause(0.75, 0.5), clause(0.875, 0.75)}, 0}, // of equal ones, the first
		{[]Clause{clause(0.5, 0.9), clause(0.999, 1)}, 1},
		{[]Clause{clause(0.99, 0.9), clause(1, 1)}, 0},
		{[]Clause{clause(1, 1), clause(0.99, 0.9)}, 1},
	} {
		if got := BindingPart(c.clauses); got != c.want ||
			Binding(c.clauses).Target != c.clauses[c.want].Target {
			t.Errorf("%+v: %d binds, want %d", c.clauses, got, c.want)
		}
	}
}

// Runs are pooled as independent observations of as many requests each: means are averaged, and
// half widths fall with the root of the number of runs.
func TestPooledRunsAreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "runs")
		half := rapid.Float64Range(0, 0.2).Draw(t, "half width")
		var runs [][]Clause
		sum := 0.0
		for range n {
			one := stats.Interval{Mean: rapid.Float64Range(0, 1).Draw(t, "kept"), Half: half}
			sum += one.Mean
			runs = append(runs, []Clause{{Target: 0.9, Kept: stats.Interval{Mean: 1}},
				{Target: 0.5, Kept: one, Late: []stats.Interval{{Mean: 1}, one}}})
		}
		before := slices.Clone(runs[0][1].Late)
		got := Pooled(runs)
		if len(got) != 2 || got[0].Kept.Mean != 1 || got[0].Target != 0.9 || got[1].Target != 0.5 {
			t.Fatalf("%+v", got)
		}
		for _, i := range []stats.Interval{got[1].Kept, got[1].Late[1]} {
			if math.Abs(i.Mean-sum/float64(n)) > 1e-12 ||
				math.Abs(i.Half-half/math.Sqrt(float64(n))) > 1e-12 {
				t.Fatalf("%+v of %d runs with a sum of %g", i, n, sum)
			}
		}
		if !slices.Equal(runs[0][1].Late, before) {
			t.Fatal("a run was changed")
		}
	})
}

// The largest lateness of all clauses is that of the one that stands least; a clause without one is
// kept at any lateness or at none.
func TestMostLateOfAllClauses(t *testing.T) {
	none := Clause{Target: 0.9, Kept: stats.Interval{Mean: 0.9}}
	if got := MostLate([]Clause{none}); !math.IsInf(got.Least(), 1) {
		t.Errorf("without TTFT the factors are %+v", got)
	}
	missed := none
	missed.Kept.Mean = 0.89
	if got := MostLate([]Clause{none, missed}); got != (Late{}) {
		t.Errorf("of a clause that is missed the factors are %+v", got)
	}
}
