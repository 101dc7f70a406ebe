package detail

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// bySize is a law: a replica more lets one in a hundred more requests keep the SLO, and fleets make
// a thousand tokens a second, with 7 Wh for a million.
func bySize(s *scenarios.Scenario) judge.Trial {
	t := share(1)
	t.All, t.Flow, t.EnergyPerMillion, t.Binds = 0.8+0.01*float64(size(s)), 1000, 7, "TPOT"
	return t
}

// near reports whether two figures differ by rounding alone.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// An answer has the shares of the fleet with its spares and without them, the price of all, and
// what a million output tokens cost: the price of an hour by the millions of an hour, either asked
// for or as simulated.
func TestDeploymentsAddUp(t *testing.T) {
	f, _, law := stubbed(t, steadyPlan)
	f.Rate = 60
	f.obey(law, bySize)
	f.Spare, f.Hourly = 2, 24
	f.Option.Prefill.Offer.Carbon = 400 // g/kWh
	d, err := f.Deploy(t.Context())
	testkit.OK(t, err)
	if d.Replicas != 12 || f.Size() != 12 || d.Accelerators != 12 || !near(d.Kept, 0.92) ||
		!near(d.KeptWithoutSpares, 0.9) || d.Hourly != 24 || d.Binds != "TPOT" ||
		d.EnergyPerMillion != 7 || d.Label != f.Label() || d.Law != nil || d.Base != nil ||
		d.Scaled != nil || d.Interrupted != nil || len(d.Insights) != 0 {
		t.Errorf("%+v", d)
	}
	if !near(d.PerMillion, 24/3.6) || !near(d.GPUHours, 12/3.6) {
		t.Errorf("a million tokens cost %g and take %g GPU-hours", d.PerMillion, d.GPUHours)
	}
	if !near(d.Carbon, 400*7/1000.0) {
		t.Errorf("%g g of CO2", d.Carbon)
	}
	if len(d.Chances) != 3 || d.Chances[1].Replicas != 10 ||
		d.Likely != nil { // one is as sure as ten
		t.Errorf("%+v, %+v", d.Chances, d.Likely)
	}
	if d.Load == "" || strings.HasSuffix(d.Load, "; ") || len(d.Launch) != 1 ||
		d.Bundle == nil || d.Unstartable != "" || !strings.Contains(d.Scenario, "replicas: 12") {
		t.Errorf("load %q, commands %q, scenario\n%s", d.Load, d.Launch, d.Scenario)
	}
	for i := range law.asked { // all with the same requests
		if s := &law.asked[i]; s.Workload.Requests != 2000 && size(s) > 9 && size(s) != 11 {
			t.Errorf("%d requests of %d replicas", s.Workload.Requests, size(s))
		}
	}
	f.Millions = 10
	file, err := f.WholeFile(2000)
	testkit.OK(t, err)
	asked, err := f.Deployment(file, bySize(&file.Scenario), share(1))
	testkit.OK(t, err)
	if !near(asked.PerMillion, 2.4) || !near(asked.GPUHours, 1.2) {
		t.Errorf("a million of ten costs %g and takes %g GPU-hours", asked.PerMillion,
			asked.GPUHours)
	}
	if f.Millions = 0; true {
		asked, err = f.Deployment(file, share(1), share(1))
	}
	if testkit.OK(t, err); asked.PerMillion != 0 || asked.GPUHours != 0 {
		t.Errorf("no tokens cost %g", asked.PerMillion)
	}
}

// The likely fleet is the least number of replicas that keeps the SLO in at least half of the
// cases, whatever the number, and costs as much less as it has fewer. It is not looked for of
// fleets that start, stop or lose replicas.
func TestLikelyFleetsKeepTheSLOAtEvenOdds(t *testing.T) {
	f, options, law := stubbed(t, steadyPlan)
	f.Option.Price, f.Spare = 3, 1
	for _, c := range [][2]int{{1, 1}, {1, 2}, {2, 2}, {7, 7}, {7, 8}, {7, 20}, {12, 40}} {
		f.Rate, f.Replicas = 0.95*float64(each*c[0]), c[1] // steps are 1.02 times as long, in half
		f.Hourly = 3 * float64(c[1]+1)
		f.obey(law, byCapacity)
		got, err := f.likely(t.Context())
		if testkit.OK(t, err); (got == nil) != (c[0] == c[1]) {
			t.Errorf("%v: %+v", c, got)
		}
		if got == nil {
			continue
		}
		want := phi((math.Log(1/0.95) - 0.02) / 0.1)
		if got.Replicas != c[0]+1 || got.Hourly != 3*float64(c[0]+1) ||
			got.Less != 3*float64(c[1]-c[0]) || math.Abs(got.Probability-want) > 0.03 {
			t.Errorf("%v: %+v, want the probability %g", c, got, want)
		}
	}
	f.Trials.File.Plan.Goal.Find = asked.FindThroughput
	got, err := f.likely(t.Context())
	if testkit.OK(t, err); got != nil {
		t.Errorf("%+v of the highest throughput", got)
	}
	f.Trials.File.Plan.Goal.Find = asked.FindCheapest
	for _, o := range options {
		f.Option = o
		got, err := f.likely(t.Context())
		if testkit.OK(t, err); (got == nil) != o.IsSpot() {
			t.Errorf("%+v of %s", got, f.Label())
		}
	}
	f, options, _ = stubbed(t, wavePlan)
	f.Option = options[1]
	if got, err := f.likely(t.Context()); err != nil || got != nil {
		t.Errorf("%+v of a scaled fleet, %v", got, err)
	}
}

// The fixed number in place of a scaled fleet is the first from the least on that keeps the SLO
// with the slowest steps, among eight numbers, as far as there are accelerators for it and its
// spares.
func TestFixedFleetsInsteadOfScaledOnes(t *testing.T) {
	f, options, law := stubbed(t, wavePlan)
	scaled := options[1]
	scaled.Slow = 2
	f.Option, f.Rate, f.Spare = scaled, 10, 1
	for _, c := range []struct{ least, needed, count, want int }{
		{0, 2, 0, 0}, {1, 2, 0, 2}, {2, 2, 0, 2}, {3, 2, 0, 3}, {1, 8, 0, 8}, {1, 9, 0, 0},
		{1, 3, 3, 0}, {1, 3, 4, 3},
	} {
		f.obey(law, func(s *scenarios.Scenario) judge.Trial {
			if size(s) < c.needed {
				return share(0)
			}
			return share(1)
		})
		scaled.Prefill.Offer.Count = c.count
		f.LeastFixed = func(context.Context, *candidate.Option) (int, error) {
			return c.least, nil
		}
		got, err := f.fixedInstead(t.Context(), scaled)
		if testkit.OK(t, err); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		for i := range law.asked {
			if s := &law.asked[i]; len(s.Fleet.Pools) > 0 || s.Engine.Slowdown != 2 {
				t.Errorf("a fleet that is not fixed, or at another pace, is simulated: %+v",
					s.Fleet)
			}
		}
	}
}

// A scaled fleet has its spares beside the least number, and what a fixed fleet and its spares
// cost. Accelerators are the mean of replicas times the accelerators of each; in a group, parts
// count by their price.
func TestScaledFleetsAddUp(t *testing.T) {
	f, options, law := stubbed(t, wavePlan)
	f.Option, f.Replicas, f.Spare, f.Running = options[1], 4, 1, 3.5
	f.LeastFixed = func(context.Context, *candidate.Option) (int, error) { return 3, nil }
	f.obey(law, func(s *scenarios.Scenario) judge.Trial {
		one := bySize(s)
		one.Running = []float64{3}
		return one
	})
	d, err := f.Deploy(t.Context())
	testkit.OK(t, err)
	s := d.Scaled
	if s.Fewest != 3 || s.Mean != 3.5 || !near(s.Accelerators, 3.5) || s.Fixed != 4 ||
		s.FixedHourly != 8 || s.Policy == "" || d.Likely != nil ||
		!near(d.GPUHours, 3.5/3.6) {
		t.Errorf("%+v, %g GPU-hours", s, d.GPUHours)
	}
	pair := *f.Option
	prefill, decode := *pair.Prefill, *pair.Prefill
	prefill.GPUs, prefill.Price, decode.GPUs, decode.Price = 2, 6, 1, 4
	pair.Parts = &candidate.Parts{Prefill: &prefill, Decode: &decode}
	pair.Prefills, pair.Decodes = 1, 2 // $14/h a group, of 4 accelerators
	f.Option, f.Running = &pair, 5
	for _, c := range [][3]float64{{3, 6, 20}, {3, 0, 6 * 5 / (18 / 14.0)}} {
		got := f.scaledFleet(&judge.Trial{Running: c[:2]})
		if !near(got.Accelerators, c[2]) || got.Mean != 5 {
			t.Errorf("%v run: %+v", c[:2], got)
		}
	}
}

// A large fleet is judged by 48 of its replicas at the same rate each, and its scenario has them
// all, and the requests of a fleet of its size.
func TestLargeFleetsAreWholeInTheirScenario(t *testing.T) {
	f, _, _ := stubbed(t, steadyPlan)
	f.Spare = 2
	for n, want := range map[int]float64{62: 0, 94: 48} {
		f.Replicas = n
		f.Rate = float64(2 * (n + 2))
		law := f.law()
		if (law != nil) != (want > 0) {
			t.Fatalf("%d replicas: %+v", n, law)
		}
		s, rate := f.part()
		file, err := f.WholeFile(77)
		testkit.OK(t, err)
		if got := &file.Scenario; got.Replicas != n+2 ||
			float64(got.Workload.Rate.Value) != f.Rate {
			t.Errorf("%+v", got)
		}
		requests := int64(77)
		if want > 0 {
			requests = f.Trials.File.Plan.Together(f.Rate, n+2)
			if *law != (answer.Law{Replicas: n + 2, Simulated: 48, Whole: 64}) {
				t.Errorf("%+v", law)
			}
		}
		if file.Scenario.Workload.Requests != requests || !near(rate, 2*float64(s.Replicas)) ||
			want > 0 && s.Replicas != 48 || want == 0 && s.Replicas != n+2 {
			t.Errorf("%d requests, %d replicas at %g/s", file.Scenario.Workload.Requests,
				s.Replicas, rate)
		}
	}
}

// A base costs its replicas' own price, and its fleet is two pools that differ in their price and
// have all replicas.
func TestBasesArePools(t *testing.T) {
	f, options, _ := stubbed(t, steadyPlan)
	plain := f.Option.Scenario(&f.Trials.File.Plan.Menu, 7, 1)
	if f.Base() != nil || len(pooled(f.Option, plain, 7).Fleet.Pools) != 0 {
		t.Error("a fleet without a base has one")
	}
	found := false
	for _, o := range options {
		if o.Based() != 3 {
			continue
		}
		found = true
		f.Option, o.Standing.Price = o, 5
		if b := f.Base(); b.Replicas != 3 || b.Hourly != 15 || !strings.Contains(b.Terms,
			"on-demand") {
			t.Errorf("%+v", b)
		}
		s := pooled(o, o.Scenario(&f.Trials.File.Plan.Menu, 7, 1), 7)
		pools := s.Fleet.Pools
		if len(pools) != 2 || s.Replicas != 0 || pools[0].Replicas != 4 ||
			pools[1].Replicas != 3 || pools[0].Name != "spot" || pools[1].Name != "on-demand" ||
			pools[0].Hardware.Price.Amount != 1 ||
			pools[1].Hardware.Accelerator != pools[0].Hardware.Accelerator ||
			pools[1].Hardware.Price == pools[0].Hardware.Price {
			t.Errorf("%+v", pools)
		}
	}
	if !found {
		t.Fatal("no base of three")
	}
}

// Each replica of n groups is a member of one, prefills counted first, and a group's go together,
// at the rate and for the time of interruptions: in order, within the time, and no shorter than a
// millisecond.
func TestGroupsAreTakenAwayTogether(t *testing.T) {
	_, options, _ := stubbed(t, steadyPlan)
	i := slices.IndexFunc(options, func(o *candidate.Option) bool {
		return o.IsSpot() && o.Based() == 0
	})
	pair := *options[i]
	pair.Parts = &candidate.Parts{Prefill: pair.Prefill, Decode: pair.Prefill}
	pair.Prefills, pair.Decodes = 2, 3
	const groups = 4
	of := map[int]int{}
	for g := range groups {
		for k, replica := range members(&pair, g, groups) {
			if (k < 2) != (replica < 2*groups) {
				t.Errorf("member %d of a group is replica %d", k, replica)
			}
			of[replica] = g
		}
	}
	if len(of) != 5*groups || slices.Max(slices.Collect(maps.Keys(of))) != 5*groups-1 {
		t.Errorf("the groups have the replicas %v", of)
	}
	if got := members(options[i], 3, groups); !slices.Equal(got, []int{3}) {
		t.Errorf("replica 3 is %v", got)
	}
	const within = 36000.0
	list := outages(&pair, groups, within, 1)
	seen := map[scenarios.Outage]int{}
	for k, a := range list {
		if k > 0 && a.At < list[k-1].At || seconds(a.At) > within+120 || seconds(a.At) < 120 ||
			seconds(a.For) < 60-1e-9 {
			t.Errorf("%+v", a)
		}
		seen[scenarios.Outage{Replica: of[a.Replica], At: a.At, For: a.For}]++
	}
	for a, n := range seen {
		if n != 5 {
			t.Errorf("%d of a group's replicas go at %v", n, a.At)
		}
	}
	pair.Prefill.Offer.Return = pair.Prefill.Offer.Notice // a replica comes in its place at once
	if list = outages(&pair, 1, within, 1); len(list) == 0 || seconds(list[0].For) != 0.001 {
		t.Errorf("%+v", list)
	}
}

func seconds(s scenarios.Span) float64 { return sim.Time(s).Seconds() }

// A spot fleet is simulated for twenty interruptions on average, or the requests that decisions
// take if these are more, and at most 200,000; without a rate, interruptions or by a part it is
// not.
func TestInterruptionsAreSimulated(t *testing.T) {
	f, options, law := stubbed(t, steadyPlan)
	i := slices.IndexFunc(options, func(o *candidate.Option) bool { return o.Based() == 3 })
	f.Option, f.Replicas, f.Spare = options[i], 8, 2
	offer := f.Option.Prefill.Offer
	for _, c := range []struct{ hourly, rate, seconds float64 }{
		{36, 10, 20 / (7 * 0.01)}, // seven of ten are on spot
		{3600, 10, 200},           // that fleets of ten are simulated for
		{36, 9500, 200_000 / 9500.0},
	} {
		offer.Interruptions = scenarios.PerSecond(c.hourly / 3600)
		f.Rate = c.rate
		f.obey(law, func(s *scenarios.Scenario) judge.Trial { return share(0.7) })
		got, err := f.Interrupt(t.Context())
		testkit.OK(t, err)
		s := &law.asked[0]
		if math.Abs(got.Hours*3600-c.seconds) > 1/c.rate || got.Kept != 0.7 ||
			got.Interruptions != len(s.Fleet.Outages) || s.Fleet.Retries != 3 ||
			!near(float64(s.Workload.Requests), got.Hours*3600*c.rate) || size(s) != 10 {
			t.Errorf("%+v: %+v with %d requests", c, got, s.Workload.Requests)
		}
		for _, a := range s.Fleet.Outages {
			if a.Replica > 6 {
				t.Errorf("replica %d of the base is preempted", a.Replica)
			}
		}
	}
	for name, change := range map[string]func(){
		"without a rate": func() { f.Rate = 0 },
		"on demand":      func() { f.Rate, f.Option = 10, options[0] },
		"by a part":      func() { f.Option, f.Replicas = options[i], 63 },
		"hardly ever":    func() { f.Replicas, offer.Interruptions = 8, 1e-12 },
	} {
		was := *f
		change()
		if got, err := f.Interrupt(t.Context()); err != nil || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		*f, offer.Interruptions = was, 0.01
	}
}

// Insights are of the whole fleet, or of its part, as for its scenario, where a process has all the
// work. Advice is given where the SLO is missed alone, with limits as strict as errors make them.
func TestInsightsAreOfTheFleet(t *testing.T) {
	f, _, _ := stubbed(t, steadyPlan, "effort.requests=100")
	f.Replicas, f.Rate = 1, 1
	f.Trials.Shard.Of = 1
	d, err := f.Deploy(t.Context())
	testkit.OK(t, err)
	file, err := f.WholeFile(100)
	testkit.OK(t, err)
	r, err := file.Run(t.Context(), policies.Default())
	testkit.OK(t, err)
	if want := diagnosis.Of(r); len(want) == 0 || !slices.Equal(d.Insights, want) {
		t.Errorf("%q, want %q", d.Insights, want)
	}
	none := candidate.AsPredicted()
	a, err := Advise(t.Context(), &f.Judge, f.Option, 1, none)
	if testkit.OK(t, err); a != nil {
		t.Errorf("advice where the SLO is kept: %+v", a)
	}
	late := candidate.ErrorFactors{Steps: 2, Late: asked.LateBy(1000)}
	a, err = Advise(t.Context(), &f.Judge, f.Option, 1, late)
	if testkit.OK(t, err); a == nil || a.Replicas != 1 || a.Slowdown != 2 || a.Late != 1000 ||
		a.Kept != 0 || len(a.Insights) < len(a.Remedies) || len(a.Insights) == 0 {
		t.Errorf("%+v", a)
	}
	for _, r := range a.Remedies {
		if strings.Contains(r.Change, "replicas") {
			t.Errorf("more replicas are advised: %+v", r)
		}
	}
}
