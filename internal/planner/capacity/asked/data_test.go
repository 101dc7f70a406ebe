package asked

import (
	"encoding"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Amounts and ranges are read as they are written, and what is none is refused.
func TestAmountsAreReadAndWritten(t *testing.T) {
	for _, c := range []struct {
		value     encoding.TextUnmarshaler
		good, bad []string
	}{
		{new(Counts), []string{"1", "2", "1..4", "999..1000", "1000"},
			[]string{"0", "-1", "4..1", "1..1001", "1001", "x", "1..x", "x..1", "", "0..1"}},
		{new(Carbon), []string{"380g/kWh", "0g/kWh", "0.5g/kWh"},
			[]string{"380", "-1g/kWh", "100000g/kWh", "xg/kWh", "NaNg/kWh"}},
		{new(Watts), []string{"1200W"}, []string{"1200", "xW"}},
		{new(Currency), []string{"EUR", "USD"}, []string{"ERU"}},
		{new(Purchase), []string{"$30000", "€9"}, []string{"30000", "$9/h", ""}},
		{new(Electricity), []string{"$0.12/kWh"}, []string{"$0.12", "0.12/kWh", "$NaN/kWh"}},
	} {
		for _, text := range c.good {
			if err := c.value.UnmarshalText([]byte(text)); err != nil {
				t.Errorf("%s: error %v", text, err)
				continue
			}
			got, err := c.value.(encoding.TextMarshaler).MarshalText()
			if testkit.OK(t, err); string(got) != text {
				t.Errorf("%s is written as %s", text, got)
			}
		}
		for _, text := range c.bad {
			if err := c.value.UnmarshalText([]byte(text)); err == nil ||
				!strings.Contains(err.Error(), text) {
				t.Errorf("%T of %q: error %v", c.value, text, err)
			}
		}
	}
	if (Counts{2, 5}).Size() != 4 || (Purchase{Amount: 3}).Number() != 3 ||
		(Electricity{Amount: 4}).Number() != 4 {
		t.Error("numbers are not those given")
	}
	var w Watts
	if testkit.OK(t, w.UnmarshalText([]byte("10kW"))); w != 10_000 {
		t.Errorf("10kW are %g W", w)
	}
}

// A list of a side takes the place of the menu's, and is no common choice.
func TestListsOfSides(t *testing.T) {
	a, b := []int{1, 2}, []int{3}
	for _, c := range []struct {
		menu, side, other, want []int
		own                     bool
	}{
		{a, nil, nil, a, false}, {a, b, nil, b, true}, {a, nil, b, a, true},
		{nil, nil, nil, []int{0}, false}, {nil, b, a, b, true},
	} {
		if got, own := Own(c.menu, c.side, c.other); !slices.Equal(got, c.want) || own != c.own {
			t.Errorf("%+v: %v, %v", c, got, own)
		}
	}
}

// Offers are told apart by their terms, unless one is the only one of its accelerator.
func TestTermsOfOffers(t *testing.T) {
	price := func(x float64) scenarios.Price { return scenarios.Price{Amount: x} }
	a := Offer{Accelerator: "a", Price: price(2)}
	dear := Offer{Accelerator: "a", Price: price(3.25)}
	spot := Offer{Accelerator: "a", Term: Spot, Price: price(1)}
	region := Offer{Accelerator: "a", Region: "north", Price: price(2)}
	provider := Offer{Accelerator: "a", Provider: "acme", Price: price(2)}
	all := Offer{Accelerator: "a", Term: Reserved, Region: "north", Provider: "acme",
		Price: price(2)}
	b := Offer{Accelerator: "b"}
	for _, c := range []struct {
		o    Offer
		list []Offer
		want string
	}{
		{a, []Offer{a, b}, ""}, {a, []Offer{a, a}, ""}, {region, []Offer{region, b}, ""},
		{a, []Offer{a, dear}, " at $2/h"}, {dear, []Offer{a, dear}, " at $3.25/h"},
		{spot, []Offer{spot}, " spot at $1/h"},
		{Offer{Accelerator: "a", listedPrice: 4}, []Offer{dear}, " at $4/h"},
		{Offer{Accelerator: "a", Term: Spot}, []Offer{dear}, " spot"},
		{region, []Offer{region, a}, " on-demand in north at $2/h"},
		{provider, []Offer{provider, a}, " on-demand from acme at $2/h"},
		{all, []Offer{all}, " reserved from acme in north at $2/h"},
	} {
		if got := c.o.Terms(c.list); got != c.want {
			t.Errorf("%+v has the terms %q, want %q", c.o, got, c.want)
		}
	}
	for term, want := range map[string]bool{"": true, OnDemand: true, Spot: false,
		Reserved: false, Owned: false} {
		o := &Offer{Term: term}
		if o.Scalable() != want || o.RentedOn() == "" {
			t.Errorf("%q can be given back: %v", term, o.Scalable())
		}
	}
	for want, o := range map[string]*Offer{
		"": {}, "given without a source": {Price: price(1)}, "a page": {Source: "a page"},
		"bought for $9000, over 3 years, and 1.2 kW at $0.5/kWh": {Term: Owned,
			Purchase: Purchase{Amount: 9000}, Years: 3, Draw: 1200,
			Electricity: Electricity{Amount: 0.5}},
	} {
		if got := o.PriceSource(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A fleet joins accelerators of one provider as far from its users, and a base stays beside spot
// replicas of the same accelerators.
func TestOffersThatJoin(t *testing.T) {
	p := &Plan{}
	a, b := &Offer{Provider: "a"}, &Offer{Provider: "b"}
	far := &Offer{Provider: "a", RoundTrip: 7}
	if !p.Joins(a, a) || p.Joins(a, b) || !p.Joins(a, &Offer{}) || p.Joins(a, far) ||
		!p.Joins(&Offer{listed: "a"}, a) || p.Joins(&Offer{listed: "a"}, b) {
		t.Error("offers of one provider join")
	}
	if p.Mix = true; !p.Joins(a, b) || p.Joins(a, far) {
		t.Error("providers are mixed")
	}
	p.Mix = false
	spot := &Offer{Accelerator: "x", Link: "l", Term: Spot, Provider: "a", Region: "north"}
	for _, c := range []struct {
		o    Offer
		want bool
	}{
		{Offer{Accelerator: "x", Link: "l"}, true}, {Offer{Accelerator: "x"}, false},
		{Offer{Accelerator: "y", Link: "l"}, false}, {Offer{Accelerator: "x", Link: "l",
			Term: Spot}, false}, {Offer{Accelerator: "x", Link: "l", Provider: "b"}, false},
		{Offer{Accelerator: "x", Link: "l", Term: Reserved, Region: "south"}, true},
	} {
		if got := p.Stays(&c.o, spot); got != c.want {
			t.Errorf("%+v stays: %v", c.o, got)
		}
	}
	if p.Stays(&Offer{Accelerator: "x"}, &Offer{Accelerator: "x"}) {
		t.Error("a base stays beside what is not preempted")
	}
}

// The words of goals name what is sought and its bounds; those of scaling leave out what all ways
// have in common.
func TestWordsOfPlans(t *testing.T) {
	for want, g := range map[string]*Goal{
		"the most requests a second": {Find: FindThroughput}, "": {Find: FindCheapest},
		"the most requests a second, for at most $40 an hour": {Find: FindThroughput,
			Measure: "p99_e2el_ms", Budget: scenarios.Price{Amount: 40}},
		"fleets that no other beats in price, mean_ttft_ms and energy, with accelerators of at " +
			"most 2 kW in all": {Find: FindFront, Measure: "mean_ttft_ms", Power: 2000},
	} {
		if got := g.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	m := Menu{Scaling: []Autoscale{{Policy: "queue", Every: 7}, {Policy: "forecast", Every: 7,
		Min: &Fewest{Counts{2, 2}}}}}
	if got := m.ScalingWords(2); got != "scaled by forecast min:2" {
		t.Errorf("%q", got)
	}
	m.Scaling[1].Every = scenarios.Span(sim.Second)
	if got := m.ScalingWords(2); got != "scaled by forecast every:1s min:2" {
		t.Errorf("%q", got)
	}
	if got := Settings(scenarios.Policy{Policy: "p", Params: map[string]string{"a": "1"}}); got !=
		"a:1 policy:p" {
		t.Errorf("%q", got)
	}
}

// A load that is put at a rate ends after so many requests. One that is not steady keeps its rates,
// and ends by itself where it can; a job begins at once, and a trace is repeated.
func TestLoadsArePut(t *testing.T) {
	phases := scenarios.Rate{Pattern: "phases", Phases: []scenarios.Phase{{Rate: 5}}}
	bursts := scenarios.Rate{Pattern: "bursts", High: 9, Low: 1}
	at := func(r scenarios.Rate) scenarios.Workload { return scenarios.Workload{Rate: r} }
	for name, c := range map[string]struct {
		w        scenarios.Workload
		requests int64
	}{
		"bursts": {at(bursts), 7}, "a duration": {scenarios.Workload{Rate: bursts, Duration: 9}, 0},
		"requests": {scenarios.Workload{Rate: bursts, Requests: 3}, 3},
		"recorded": {scenarios.Workload{Trace: &scenarios.Trace{}}, 0},
	} {
		p := &Plan{Workload: c.w}
		if got := p.Put(c.w, 3, 7); got.Requests != c.requests || got.Rate.Pattern !=
			c.w.Rate.Pattern || got.Rate.Value != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if got := p.Put(c.w, 3, 0); got.Requests != c.w.Requests {
			t.Errorf("%s: %d requests where none are asked for", name, got.Requests)
		}
		if p.Steady() || p.Peak() != 0 || !p.Replayed() || p.Divisible() ||
			!strings.HasSuffix(p.Params(), ReplayedWhole) {
			t.Errorf("%s is steady", name)
		}
	}
	p := &Plan{Job: &Job{}, Workload: at(phases)}
	if got := p.Put(p.Workload, 3, 7); got.Requests != 7 || got.Arrivals.Process != "at-once" {
		t.Errorf("a job: %+v", got)
	}
	p = &Plan{Workload: scenarios.Workload{Trace: &scenarios.Trace{},
		Rate: scenarios.Rate{Value: 4}}}
	if got := p.Put(p.Workload, 3, 7); !got.Trace.Repeat || p.Workload.Trace.Repeat ||
		got.Rate.Value != 3 || got.Requests != 7 || !p.Steady() || p.Divisible() {
		t.Errorf("a trace at a rate: %+v", got)
	}
	loop := &Plan{Workload: scenarios.Workload{Arrivals: scenarios.Arrivals{Process: "closed-loop",
		Users: 10}}}
	if loop.Steady() || loop.Replayed() {
		t.Error("a closed loop is steady or recorded")
	}
	if loop.ScaleRate(1.26); loop.Workload.Arrivals.Users != 13 {
		t.Errorf("%d users", loop.Workload.Arrivals.Users)
	}
	to := scenarios.PerSecond(6)
	p = &Plan{Workload: scenarios.Workload{Rate: scenarios.Rate{Pattern: "phases", High: 4, Low: 2,
		Phases: []scenarios.Phase{{Rate: 5, To: &to}, {Rate: 1}}}}}
	before := p.Workload.Rate.Phases
	p.ScaleRate(2)
	if r := p.Workload.Rate; r.High != 8 || r.Low != 4 || r.Phases[0].Rate != 10 ||
		*r.Phases[0].To != 12 || r.Phases[1].Rate != 2 || before[0].Rate != 5 || to != 6 {
		t.Errorf("%+v of %+v", p.Workload.Rate, before)
	}
	for scale, want := range map[float64]float64{0: 2, 3: 6} {
		trace := &scenarios.Trace{Scale: scale}
		p = &Plan{Workload: scenarios.Workload{Trace: trace}}
		if p.ScaleRate(2); p.Workload.Trace.Scale != want || trace.Scale != scale {
			t.Errorf("a trace %g times as fast is %g times", scale, p.Workload.Trace.Scale)
		}
	}
}

// Replicas share a load where no request depends on where another went.
func TestLoadsThatDivide(t *testing.T) {
	classed := func(classes ...scenarios.RequestKeys) func(*Plan) {
		return func(p *Plan) {
			for _, keys := range classes {
				p.Workload.Classes = append(p.Workload.Classes, scenarios.Class{RequestKeys: keys})
			}
		}
	}
	for _, c := range []struct {
		change             func(*Plan)
		divides, followers bool
	}{
		{func(*Plan) {}, true, false},
		{func(p *Plan) { p.Workload.Prefix = &scenarios.Prefix{} }, false, false},
		{func(p *Plan) { p.Workload.Distinct = 2 }, false, false},
		{func(p *Plan) { p.Workload.Samples = 2 }, false, true},
		{func(p *Plan) { p.Workload.Samples = 1 }, true, false},
		{func(p *Plan) { p.Workload.Sessions = &scenarios.Sessions{} }, false, true},
		{func(p *Plan) { p.Workload.Preset = "x" }, false, true},
		{func(p *Plan) { p.Menu.Routing = make([]scenarios.Policy, 1) }, true, false},
		{func(p *Plan) { p.Menu.Routing = make([]scenarios.Policy, 2) }, false, false},
		{func(p *Plan) { p.Workload.Classes = make([]scenarios.Class, 2) }, true, false},
		{classed(scenarios.RequestKeys{}, scenarios.RequestKeys{Distinct: 2}), false, false},
		{classed(scenarios.RequestKeys{Prefix: &scenarios.Prefix{}}), false, false},
		{classed(scenarios.RequestKeys{}, scenarios.RequestKeys{Samples: 2}), false, true},
		{classed(scenarios.RequestKeys{Samples: 1}), true, false},
		{classed(scenarios.RequestKeys{Preset: "x"}), false, true},
	} {
		p := &Plan{Workload: scenarios.Workload{Rate: scenarios.Rate{Value: 4}}}
		c.change(p)
		if p.Divisible() != c.divides || p.Sessions() != c.followers || p.Params() != "0" {
			t.Errorf("%+v: divides %v, sessions %v", p.Workload, p.Divisible(), p.Sessions())
		}
	}
}

// Other limits and lengths are so many times those of the plan, of its classes too.
func TestPlansAreScaled(t *testing.T) {
	p := &Plan{SLO: scenarios.SLO{TTFT: scenarios.Limits{Request: 10},
		E2E: scenarios.Limits{P99: 40}}}
	p.Workload.Classes = []scenarios.Class{{SLO: scenarios.SLO{TPOT: scenarios.Limits{P50: 6},
		ITL: scenarios.Limits{P90: 8}}}}
	p.ScaleLimits(1.5)
	if c := p.Workload.Classes[0].SLO; p.SLO.TTFT.Request != 15 || p.SLO.E2E.P99 != 60 ||
		c.TPOT.P50 != 9 || c.ITL.P90 != 12 {
		t.Errorf("%+v", p)
	}
	c := &p.Workload.Classes[0]
	p.Workload.Prompt.Value, p.Workload.Output.Value = 30, 50
	c.Prompt.Value, c.Output.Value = 40, 60
	p.ScaleLengths(2, 3)
	if c.Prompt.Value != 80 || c.Output.Value != 180 || p.Workload.Prompt.Value != 60 ||
		p.Workload.Output.Value != 150 {
		t.Errorf("%+v", p.Workload)
	}
	if p.Seeds(5) != 5 {
		t.Error("drawn requests are the same with every seed")
	}
	p.Workload = scenarios.Workload{Trace: &scenarios.Trace{}}
	if !p.RecordedTimes() || p.Seeds(5) != 1 {
		t.Errorf("recorded requests have %d seeds", p.Seeds(5))
	}
	for _, w := range []scenarios.Workload{{Trace: &scenarios.Trace{}, Rate: scenarios.Rate{
		Value: 1}}, {Trace: &scenarios.Trace{}, Arrivals: scenarios.Arrivals{Process: "poisson"}},
		{Trace: &scenarios.Trace{}, Rate: scenarios.Rate{Pattern: "wave"}}, {}} {
		if p.Workload = w; p.RecordedTimes() {
			t.Errorf("%+v arrives at recorded times", w)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-3, 1e6).Draw(t, "rate")
		if got := Round(x); math.Abs(got/x-1) > 5.1e-6 || Round(got) != got {
			t.Fatalf("%g is rounded to %g", x, got)
		}
	})
	if Round(1234567) != 1234570 {
		t.Errorf("six digits of 1234567 are %g", Round(1234567))
	}
}
