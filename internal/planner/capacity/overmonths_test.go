package capacity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
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

// months plans a horizon for replicas of which the load of each month needs one more, up to some.
func months(t *rapid.T, h *asked.Horizon, hours []float64, most int,
	payments []payment) *answer.Horizon {
	k := &growing{most: most, payments: payments}
	got, err := overMonths(h, hours, []*growing{k}, func(factor float64) error {
		k.add(factor, int(math.Ceil(factor)))
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A further way to pay never makes the months dearer, nor do more replicas that can be paid for so,
// and what is bought costs no more than if it were rented for as long at its price.
func TestMoreWaysToPayCostNoMore(t *testing.T) {
	owned := &asked.Offer{Term: asked.Owned, Years: 2}
	rapid.Check(t, func(t *rapid.T) {
		h := &asked.Horizon{Months: rapid.IntRange(2, 30).Draw(t, "months"),
			Growth: rapid.Float64Range(0, 0.1).Draw(t, "growth")}
		if rapid.Bool().Draw(t, "committed") {
			h.Commitments = []asked.Commitment{{Months: 12, Saves: 0.3}}
		}
		var hours []float64
		if rapid.Bool().Draw(t, "wave") {
			hours = []float64{1, 0.5, 0.2, 0.5}
		}
		price := func(name string) float64 { return rapid.Float64Range(0.5, 3).Draw(t, name) }
		limit := rapid.IntRange(0, 3).Draw(t, "limit")
		ways := []payment{{label: "a", term: asked.OnDemand, price: price("on demand")},
			{offer: owned, label: "b", term: asked.Owned, price: price("owned"), most: limit},
			{offer: &asked.Offer{}, label: "c", term: asked.Reserved, price: price("reserved")}}
		all := months(t, h, hours, 99, ways)
		without := rapid.IntRange(0, 2).Draw(t, "without")
		fewer := slices.Delete(slices.Clone(ways), without, without+1)
		if less := months(t, h, hours, 99, fewer); all.Cost > less.Cost*(1+1e-9) {
			t.Fatalf("%g with all ways, %g without one", all.Cost, less.Cost)
		}
		bought := map[int]int{} // replicas by month
		for _, r := range all.Rentals {
			if r.Paid == asked.Owned {
				for m := r.From; m <= r.To; m++ {
					bought[m] += r.Replicas
				}
				want := float64(r.Replicas*(r.To-r.From+1)) * ways[1].price * asked.HoursOfMonth
				if r.To > h.Months || math.Abs(r.Cost-want) > 1e-9*want {
					t.Fatalf("$%g for %+v, want %g", r.Cost, r, want)
				}
			}
		}
		for m, n := range bought {
			if limit > 0 && n > limit {
				t.Fatalf("%d are bought in month %d, and there are %d", n, m, limit)
			}
		}
		if limit > 0 {
			ways[1].most++
			if more := months(t, h, hours, 99, ways); more.Cost > all.Cost*(1+1e-9) {
				t.Fatalf("%g with a further replica to buy, %g without", more.Cost, all.Cost)
			}
		}
	})
}

// Of one kind of server, the replicas that are always needed are bought, and those of the day's
// peak are on demand, for less than either alone. No more are bought than there are.
func TestABaseIsBoughtAndPeaksAreRented(t *testing.T) {
	const bought = "{accelerator: h100-sxm, term: owned, purchase: $44000, years: 3, draw: 1kW, " +
		"electricity: $0.1/kWh}"
	const rented = "{accelerator: h100-sxm, price: $3/h}"
	cost := func(hardware string) *answer.Horizon {
		f, err := asked.Parse("plan.yaml", []byte(strings.Replace(monthsAsked, "12/s",
			"{pattern: wave, average: 90/s, swing: 0.9}", 1)+"growth: 0}"), "effort.level=first",
			"menu.hardware=["+hardware+"]", "menu.tensor=[1]")
		testkit.OK(t, err)
		all, err := Solve(t.Context(), f, Options{})
		testkit.OK(t, err)
		return all.Models[0].Horizon
	}
	of := func(h *answer.Horizon, term string) (n int) {
		for _, r := range h.Rentals {
			if r.Paid == term {
				n += r.Replicas
			}
		}
		return n
	}
	both := cost(bought + ", " + rented)
	few := cost(rented + ", " + strings.Replace(bought, "{", "{count: 2, ", 1))
	own, rent := cost(bought), cost(rented)
	if !(both.Cost < few.Cost && few.Cost < rent.Cost && both.Cost < 0.95*own.Cost) ||
		of(both, asked.Owned) < 3 || of(both, asked.OnDemand) < 2 || of(few, asked.Owned) != 2 ||
		len(both.Kinds) != 1 || len(few.Kinds) != 1 {
		t.Errorf("bought $%g, rented $%g, both $%g: %+v; with two to buy $%g: %+v", own.Cost,
			rent.Cost, both.Cost, both.Rentals, few.Cost, few.Rentals)
	}
}

// A spot fleet serves later months where it is cheaper then, though another is the answer of the
// first.
func TestSpotFleetsAreBesideTheAnswer(t *testing.T) {
	const others = "{accelerator: h100-sxm, price: $3/h}, {accelerator: l40s, price: $0.9/h}"
	const spot = ", {accelerator: h100-sxm, price: $1.9/h, term: spot, interruptions: 0.02/h, " +
		"return: 5m}"
	var cost []float64
	for _, hardware := range []string{others, others + spot} {
		f, err := asked.Parse("plan.yaml", []byte(strings.Replace(monthsAsked, "12/s", "3/s", 1)+
			"growth: 0.3}"), "effort.level=first", "menu.hardware=["+hardware+"]",
			"slo.percentile=97", "fleet.spare=0")
		testkit.OK(t, err)
		all, err := Solve(t.Context(), f, Options{})
		testkit.OK(t, err)
		a := all.Models[0]
		cost = append(cost, a.Horizon.Cost)
		last := a.Horizon.Rentals[len(a.Horizon.Rentals)-1]
		if strings.Contains(a.Chosen.Label, "spot") ||
			(last.Paid == asked.Spot) != (hardware != others) {
			t.Errorf("%s in the first month, later %+v", a.Chosen.Label, a.Horizon.Rentals)
		}
	}
	if cost[1] >= cost[0] {
		t.Errorf("$%g with spot fleets, $%g without", cost[1], cost[0])
	}
}

// kindsOf answers a plan, and returns the kinds of server for its horizon, and what sizes them.
func kindsOf(t *testing.T, f *asked.File) (*search, *cheapestGoal, []*growing,
	func(factor float64) error) {
	t.Helper()
	ctx := context.Background()
	s, err := newSearch(ctx, f, testQueue(t), Options{})
	testkit.OK(t, err)
	g := &cheapestGoal{fleetGoal{s}}
	testkit.OK(t, g.find(ctx))
	shapes, _, err := g.shapes(ctx)
	testkit.OK(t, err)
	kinds, size := g.beside(ctx, shapes)
	return s, g, kinds, size
}

// The fleet of each month keeps the SLO of that month's load, with the spare down, in simulations
// of the whole fleet; it never becomes smaller.
func TestFleetsOfMonthsKeepTheSLO(t *testing.T) {
	testkit.Dear(t)
	f, err := asked.Parse("plan.yaml", []byte(monthsAsked+"growth: 0.1}"))
	testkit.OK(t, err)
	ctx := context.Background()
	s, g, kinds, size := kindsOf(t, f)
	h, err := overMonths(f.Plan.Horizon, nil, kinds, size, nil)
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

// A large fleet is not sized for each month: its replicas keep the rate of the lowest such load.
// Each month's number suffices, and is at most by judge.PartError larger than it need be, but for
// rounding.
func TestLargeFleetsOfMonthsAreProportional(t *testing.T) {
	enough := func(f float64) int { return int(math.Ceil(20*f + math.Sqrt(f))) }
	h := &asked.Horizon{Months: 12, Growth: 0.3}
	for _, most := range []int{1000, 150} {
		k, sized := &growing{most: most, payments: []payment{{price: 1}}}, 0
		got, err := overMonths(h, nil, []*growing{k}, func(factor float64) error {
			sized++
			k.add(factor, enough(factor))
			return nil
		}, nil)
		testkit.OK(t, err)
		if most == 150 && len(got.Kinds) == 0 {
			continue // 318 replicas in the last month
		}
		for m, n := range got.Kinds[0].Replicas {
			want := enough(h.Factor(m, 1))
			if n < want || n > int(1+float64(want)*(1+judge.PartError)) {
				t.Errorf("%d replicas in month %d, want %d", n, m, want)
			}
		}
		if sized > 5 || most == 150 {
			t.Errorf("at most %d replicas: %d loads were simulated", most, sized)
		}
	}
}

// By the hour, each hour of a wave has a fleet that keeps the SLO of that hour's highest load, in
// simulations. It costs less than the fleet of the peak all day, and less again with a commitment.
func TestFleetsOfHoursKeepTheSLO(t *testing.T) {
	testkit.Dear(t)
	wave := strings.Replace(monthsAsked, "12/s", "{pattern: wave, average: 90/s, swing: 0.6}", 1)
	f, err := asked.Parse("plan.yaml", []byte(wave+"commitments: [{months: 12, saves: 0.3}]}"))
	testkit.OK(t, err)
	ctx := context.Background()
	s, g, kinds, size := kindsOf(t, f)
	hours := f.Plan.Hours()
	h, err := overMonths(f.Plan.Horizon, hours, kinds, size, nil)
	testkit.OK(t, err)
	hourly := float64(h.Kinds[0].Replicas[0]) * kinds[0].payments[0].price
	all := float64(h.Months) * asked.HoursOfMonth * hourly
	if !(h.Cost < h.Uncommitted && h.Cost < 0.7*all && h.Uncommitted < all) {
		t.Errorf("$%g, uncommitted $%g, $%g all day", h.Cost, h.Uncommitted, all)
	}
	k := kinds[0]
	seen := map[int]bool{}
	for _, load := range hours {
		n := k.replicas(asked.Round(load))
		if seen[n] {
			continue
		}
		seen[n] = true
		other, err := g.again(ctx, detail.Input{Plan: func(p *asked.Plan) {
			p.ScaleRate(load)
		}}, []int{k.option})
		testkit.OK(t, err)
		o := other.options[0]
		ok, kept, err := other.Keeps(ctx, o, n-s.Spare, o.Worst(), other.Seeds)
		testkit.OK(t, err)
		if !ok {
			t.Errorf("%d replicas at %g of the peak keep the SLO of %g", n, load, kept)
		}
	}
	if len(seen) < 3 {
		t.Errorf("fleets of %v for the hours", seen)
	}
}

// The curves of an answer go through it: at the load the fleet keeps the share that the answer has,
// and its kind needs the replicas and the price of the answer. A larger load never costs less.
func TestCurvesGoThroughTheAnswer(t *testing.T) {
	testkit.Dear(t)
	for _, text := range []string{monthsAsked + "growth: 0}", `
model: llama-3.1-8b
workload: {rate: 40/s, prompt: 400, output: 100}
slo: {ttft: 1s, tpot: 30ms}
menu: {hardware: [l40s, a100-80gb-sxm], tensor: [1]}
effort: {requests: 300, most-requests: 1000}
`} {
		f, err := asked.Parse("plan.yaml", []byte(text))
		testkit.OK(t, err)
		all, err := Solve(context.Background(), f, Options{Curves: true})
		testkit.OK(t, err)
		a := all.Models[0]
		at := 0
		for i, p := range a.Chosen.Curve {
			if p.Rate == a.Rate {
				at++
				if p.Kept != a.Chosen.Kept {
					t.Errorf("%g of the requests at the load, the answer says %g", p.Kept,
						a.Chosen.Kept)
				}
			}
			again, err := scenarios.Parse("scenario.yaml", []byte(a.Chosen.Scenario),
				fmt.Sprintf("workload.rate=%g/s", p.Rate))
			testkit.OK(t, err)
			r, err := again.Run(t.Context(), policies.Default())
			testkit.OK(t, err)
			for _, pair := range [][2]float64{{r.P99TTFT, p.TTFT}, {r.P99TPOT, p.TPOT},
				{r.Attainment.All, p.Kept}} {
				if math.Abs(pair[0]/pair[1]-1) > 0.002 { // metrics.Distribution's accuracy, twice
					t.Errorf("%+v; as a scenario %g where it is %g", p, pair[0], pair[1])
				}
			}
			if i > 0 && p.Rate <= a.Chosen.Curve[i-1].Rate {
				t.Errorf("loads %+v", a.Chosen.Curve)
			}
		}
		for i, p := range a.PriceCurves[0].Points {
			if p.Rate == a.Rate {
				at++
				if p.Replicas != a.Chosen.Replicas || p.Hourly != a.Chosen.Hourly {
					t.Errorf("%+v at the load, the answer is %d for $%g", p, a.Chosen.Replicas,
						a.Chosen.Hourly)
				}
			}
			if i > 0 && p.Hourly < a.PriceCurves[0].Points[i-1].Hourly {
				t.Errorf("prices %+v", a.PriceCurves[0])
			}
		}
		if at != 2 || a.PriceCurves[0].Label != a.Chosen.Label {
			t.Errorf("%d points at the load of %+v", at, a.PriceCurves)
		}
	}
}
