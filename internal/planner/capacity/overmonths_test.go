package capacity

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/testkit"
)

const monthsAsked = `
model: llama-3.1-8b
workload: {rate: 12/s, prompt: 1000, output: 200}
slo: {ttft: 1s, tpot: 50ms}
menu: {hardware: [h100-sxm, h200-sxm], tensor: [1], tune: none}
effort: {requests: 300, most-requests: 2000}
fleet: {spare: 1}
horizon: {months: 12, `

// A load that does not grow costs its fleet in every month, and a commitment saves its share.
func TestMonthsWithoutGrowth(t *testing.T) {
	for _, c := range []struct {
		keys  string
		share float64
	}{{"growth: 0}", 1}, {"commitments: [{months: 6, saves: 0.3}]}", 0.7},
		{"commitments: [{months: 24, saves: 0.4}]}", 1}} {
		f, err := asked.Parse("plan.yaml", []byte(monthsAsked+c.keys))
		testkit.OK(t, err)
		all, err := Solve(context.Background(), f, Options{})
		testkit.OK(t, err)
		a := all.Models[0]
		want := c.share * 12 * asked.HoursOfMonth * a.Chosen.Hourly
		if h := a.Horizon; math.Abs(h.Cost-want) > 1e-6*want || h.HalfRegret != 0 ||
			h.Kinds[0].Replicas[11] != a.Chosen.Replicas {
			t.Errorf("%s: $%g for %+v, want $%g", c.keys, a.Horizon.Cost, a.Horizon, want)
		}
	}
}

// The fleet of each month keeps the SLO of that month's load, with the spare down, in simulations
// of the whole fleet; it never becomes smaller.
func TestFleetsOfMonthsKeepTheSLO(t *testing.T) {
	takeTurns(t)
	f, err := asked.Parse("plan.yaml", []byte(monthsAsked+"growth: 0.1}"))
	testkit.OK(t, err)
	ctx := context.Background()
	s, err := newSearch(ctx, f, testQueue(t), Options{})
	testkit.OK(t, err)
	g := &cheapestGoal{fleetGoal{s}}
	testkit.OK(t, g.find(ctx))
	shapes, _, err := g.shapes(ctx)
	testkit.OK(t, err)
	h, err := g.months(ctx, f.Plan.Horizon, shapes)
	testkit.OK(t, err)
	if n := h.Kinds[0].Replicas; n[0] >= n[11] || n[0] != s.size() {
		t.Errorf("%d replicas for a load that grows, %d in the answer", n, s.size())
	}
	for _, k := range h.Kinds {
		i := 0
		for s.label(i) != k.Label {
			i++
		}
		for m, n := range k.Replicas {
			factor := f.Plan.Horizon.Factor(m, 1)
			other, err := g.again(ctx, detail.Input{Plan: func(p *asked.Plan) {
				p.ScaleRate(factor)
			}}, []int{i})
			testkit.OK(t, err)
			o := other.options[0]
			ok, kept, err := other.Keeps(ctx, o, n-s.Spare, o.Worst(), other.Seeds)
			testkit.OK(t, err)
			if !ok || m > 0 && n < k.Replicas[m-1] {
				t.Errorf("%s: %d replicas in month %d keep the SLO of %g", k.Label, n, m, kept)
			}
		}
	}
}
