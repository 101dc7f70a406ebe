package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Months with two kinds of server at once cost no more than with one kind at a time. Every fleet of
// two kinds that is named keeps the SLO, which arithmetic alone does not tell, and is rented.
func TestTwoKindsAtOnceCostNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &asked.Horizon{Months: rapid.IntRange(2, 18).Draw(t, "months"),
			Growth: rapid.Float64Range(0, 0.15).Draw(t, "growth")}
		h.Change.Amount = rapid.Float64Range(0, 2000).Draw(t, "change")
		if rapid.Bool().Draw(t, "committed") {
			h.Commitments = []asked.Commitment{{Months: 12, Saves: 0.3}}
		}
		spare := rapid.IntRange(0, 2).Draw(t, "spare")
		bears, truth := map[*growing]float64{}, map[*growing]float64{}
		var kinds []*growing
		for _, label := range []string{"a", "b", "c"}[:rapid.IntRange(2, 3).Draw(t, "kinds")] {
			k := &growing{label: label, most: rapid.IntRange(spare+1, 40).Draw(t, "most"),
				payments: []payment{{label: label, term: asked.OnDemand,
					price: rapid.Float64Range(1, 3).Draw(t, "price")}}}
			bears[k] = rapid.Float64Range(0.1, 0.6).Draw(t, "bears")
			truth[k] = bears[k] * rapid.Float64Range(0.8, 1).Draw(t, "together")
			kinds = append(kinds, k)
		}
		size := func(factor float64) error {
			for _, k := range kinds {
				n := spare + int(math.Ceil(factor/bears[k]))
				if n > k.most {
					n = 0
				}
				k.add(factor, n)
			}
			return nil
		}
		keeps := func(f mixedFleet) bool {
			return !slices.ContainsFunc(f.left(spare), func(left [2]int) bool {
				return float64(left[0])*truth[f.older]+float64(left[1])*truth[f.newer] < f.factor
			})
		}
		always := func(older, newer *growing) bool { return true }
		x := &mixes{months: h.Months, kinds: kinds, spare: spare, joins: always,
			stock: func(older, newer *growing) bool { return false },
			simulate: func(f mixedFleet) (*answer.MixedFleet, error) {
				if !keeps(f) {
					return nil, nil
				}
				return &answer.MixedFleet{Older: f.older.label, Kept: f.kept,
					Newer: f.newer.label, Added: f.added}, nil
			}}
		got, err := overMonths(h, nil, kinds, size, x)
		testkit.OK(t, err)
		for _, k := range kinds {
			k.factors, k.sizes = nil, nil
		}
		one, err := overMonths(h, nil, kinds, size, nil)
		testkit.OK(t, err)
		if len(one.Rentals) > 0 && (len(got.Rentals) == 0 || got.Cost > one.Cost) {
			t.Fatalf("$%g with two kinds at once, $%g with one at a time", got.Cost, one.Cost)
		}
		if m := got.OneByOne; m != nil && m.Cost != one.Cost {
			t.Fatalf("$%g with one kind at a time is told, want %g", m.Cost, one.Cost)
		}
		for _, f := range got.Mixed {
			of := func(label string) *growing {
				return kinds[slices.IndexFunc(kinds, func(k *growing) bool {
					return k.label == label
				})]
			}
			last := asked.Round(h.Factor(f.To-1, 1))
			if !keeps(mixedFleet{of(f.Older), of(f.Newer), f.Kept, f.Added, last}) {
				t.Fatalf("%+v misses the SLO at %g", f, last)
			}
			for m := f.From; m <= f.To; m++ {
				there := map[string]int{}
				for _, r := range got.Rentals {
					if r.From <= m && m <= r.To {
						there[r.Label] += r.Replicas
					}
				}
				if there[f.Older] < f.Kept || there[f.Newer] < f.Added {
					t.Fatalf("%v are rented in month %d, want %+v", there, m, f)
				}
			}
		}
	})
}

// Servers that are reserved and become too few stay beside others, for less than either. What is
// told of these fleets is what their scenarios show, with the figures that keep the SLO.
func TestFleetsOfTwoKindsAreWhatTheirScenariosShow(t *testing.T) {
	testkit.Dear(t)
	f, err := asked.Parse("plan.yaml", []byte(strings.Replace(monthsAsked, "12/s", "40/s", 1)+
		"growth: 0.1}"), "effort.level=first", "menu.hardware=[{accelerator: h100-sxm, "+
		"price: $1/h, term: reserved, count: 4}, {accelerator: h200-sxm, price: $4/h}]")
	testkit.OK(t, err)
	all, err := Solve(t.Context(), f, Options{})
	testkit.OK(t, err)
	h := all.Models[0].Horizon
	if len(h.Mixed) < 2 || h.OneByOne == nil || h.OneByOne.Cost <= h.Cost {
		t.Fatalf("%+v", h)
	}
	for _, m := range h.Mixed {
		file, err := scenarios.Parse("scenario.yaml", []byte(m.Scenario))
		testkit.OK(t, err)
		r, err := file.Run(t.Context(), policies.Default())
		testkit.OK(t, err)
		near := func(a, b float64) bool { // as metrics.Distribution, twice
			return math.Abs(a/b-1) <= 0.002
		}
		if r.Attainment.All != m.Share || !near(r.P99TTFT, m.TTFT) || !near(r.P99TPOT, m.TPOT) ||
			m.Share < 0.99 || len(r.Pools) != 2 || r.Pools[0].Replicas != m.Kept ||
			r.Pools[1].Replicas != m.Added || m.Reduced < 0.98 {
			t.Errorf("%+v; as a scenario %g, %g ms and %g ms", m, r.Attainment.All, r.P99TTFT,
				r.P99TPOT)
		}
	}
}
