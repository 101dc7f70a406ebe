package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// closedForm answers simulations by a law instead of simulating: a replica keeps the SLO up to a
// rate of its own, which lies below the bound, and a fleet up to that many times it. So the answer
// to a plan is known in closed form, and searches are held to it in milliseconds.
type closedForm struct {
	mu    sync.Mutex
	seed  uint64
	rates map[string]float64 // of a replica at the predicted pace, in requests/s
}

// serverOf names the server of a scenario, whose replicas are alike.
func serverOf(s *scenarios.Scenario) string {
	return fmt.Sprint(s.Model, s.Hardware.Accelerator, s.Parallelism.Tensor,
		s.Batching.Params["max-sequences"], s.Batching.Params["token-budget"], s.Engine.KVCache)
}

// learn draws the rates of options: from a third of their bounds to three quarters.
func (c *closedForm) learn(s *search, from int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range s.options[from:] {
		if o.Unfit() != "" {
			continue
		}
		one := o.Scenario(&s.Trials.File.Plan.Menu, 1, 1)
		name, h := serverOf(&one), uint64(14695981039346656037)
		for _, b := range []byte(name) {
			h = (h ^ uint64(b)) * 1099511628211
		}
		if _, known := c.rates[name]; !known {
			share := 0.33 + 0.4*rand.New(rand.NewPCG(c.seed, h)).Float64()
			c.rates[name] = o.Ceiling * o.Slow * share
		}
	}
}

// of returns the rate that a replica of an option sustains where it must keep the SLO.
func (c *closedForm) of(s *search, o *candidate.Option) float64 {
	one := o.Scenario(&s.Trials.File.Plan.Menu, 1, 1)
	return c.rates[serverOf(&one)] / o.Slow
}

// The time of a job before its first request and after its last, in seconds, and the latency and
// the energy of a fleet that is hardly loaded, in milliseconds and Wh.
const (
	aroundJob   = 5
	idleLatency = 1e5
	idleEnergy  = 1e7
)

func (c *closedForm) trial(_ context.Context, f *scenarios.File, _ string) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &f.Scenario
	n := max(1, s.Replicas)
	if pools := s.Fleet.Pools; len(pools) > 0 {
		n = pools[0].Replicas
	}
	rate := float64(s.Workload.Rate.Value)
	if w := &s.Workload.Rate; w.Average > 0 { // of a wave
		rate = float64(w.Average) * (1 + w.Swing)
	}
	each := c.rates[serverOf(s)] / cmp.Or(s.Engine.Slowdown, 1)
	load := rate / (float64(n) * each)
	kept := stats.Interval{Mean: 1}
	if load > 1 {
		kept.Mean = 0.5 / load
	}
	t := judge.Trial{Kept: kept, Target: 0.99, All: kept.Mean, Met: load <= 1,
		Clauses: []asked.Clause{{Kept: kept, Target: 0.99}}, Limit: "the queue grows",
		Seconds: aroundJob + float64(s.Workload.Requests)/(float64(n)*each), Flow: 1,
		EnergyPerMillion: idleEnergy * (1 + 1/max(load, 1e-3)),
		Latencies: map[string]float64{"mean_ttft_ms": idleLatency * (1 + load),
			"mean_e2el_ms": 1, "p99_ttft_ms": idleLatency * (2 + load)}}
	if pools := s.Fleet.Pools; len(pools) > 0 {
		least := float64(max(1, pools[0].Scaling.Least()))
		used := max(least, math.Ceil(rate/each))
		t.Running = []float64{min(float64(n), max(least, 0.8*rate/each))}
		t.Unused = max(0, n-int(used))
	}
	return t, nil
}

// agreed returns a search of a plan whose simulations are answered in closed form.
func agreed(t *testing.T, seed uint64, text string,
	overrides ...string) (*search, *closedForm) {
	t.Helper()
	f, err := asked.Parse("plan.yaml", []byte(text), overrides...)
	testkit.OK(t, err)
	c := &closedForm{seed: seed, rates: map[string]float64{}}
	q, err := queue.Open(t.Context(), queue.Config{Workers: 2},
		queue.Handlers{judge.Kind: c.trial})
	testkit.OK(t, err)
	t.Cleanup(q.Close)
	s, err := newSearch(t.Context(), f, q, Options{})
	testkit.OK(t, err)
	c.learn(s, 0)
	return s, c
}

// menuDrawn is a plan with a drawn menu: prices, counts, spares and settings.
func menuDrawn(rng *rand.Rand, load, further string) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	return fmt.Sprintf(`
model: llama-3.1-8b
workload: {%s, prompt: 500, output: 60}
menu:
  hardware:
    - {accelerator: h100-sxm, price: $%.2f/h, count: %s}
    - {accelerator: a100-80gb-sxm, price: $%.2f/h}
    - {accelerator: l40s, price: $%.2f/h, count: %s}
    - {accelerator: l4, price: $%.2f/h}
  tensor: [1, 2]
  batching: [{max-sequences: 64}, {token-budget: 2048}]
%s
seed: %d
effort: {requests: 100, most-requests: 200}
`, load, 1+4*rng.Float64(), pick("2", "4", "9"), 0.7+2*rng.Float64(), 0.5+rng.Float64(),
		pick("1", "6", "40"), 0.3+rng.Float64()/2, further, rng.IntN(1000))
}

const steadySLO = "slo: {ttft: 1s, tpot: 60ms}\n"

// least returns the least number of replicas of an option that serve a rate; 0 where the stock has
// fewer, or the option cannot be built.
func (c *closedForm) least(s *search, o *candidate.Option, rate float64) int {
	if o.Unfit() != "" || o.Tight {
		return 0
	}
	n := max(1, int(math.Ceil(rate/c.of(s, o))))
	if n > s.Allowed(o)-s.Spare {
		return 0
	}
	return n
}

// cheapestOf returns the best of all fleets for a rate: its option, -1 without one, and its number
// of replicas without spares.
func (c *closedForm) cheapestOf(s *search, rate float64) (best, replicas int) {
	best = -1
	for i, o := range s.options {
		n := c.least(s, o, rate)
		if n == 0 {
			continue
		}
		if best >= 0 {
			b := s.options[best]
			if cmp.Or(cmp.Compare(o.Cost(n+s.Spare), b.Cost(replicas+s.Spare)),
				cmp.Compare(candidate.Rank(o.Grade), candidate.Rank(b.Grade)),
				cmp.Compare((n+s.Spare)*o.GPUs, (replicas+s.Spare)*b.GPUs),
				s.comparePlain(o, b)) >= 0 {
				continue
			}
		}
		best, replicas = i, n
	}
	return best, replicas
}

// rates of the drawn plans, in requests/s: for one replica, for some, and for more than the counted
// ones serve.
var agreedRates = []float64{3, 40, 200, 900}

// The cheapest fleet is the cheapest of all in closed form. Each option has an outcome that is
// true of it, and the options of all kinds of outcomes are the menu. The rate of a replica that is
// shown is found to 3 %, each fleet in the table has as few replicas as serve the load, and costs
// what these cost. A later, larger load and inputs that are a tenth other are answered as if they
// were asked for.
func TestTheCheapestIsKnownInClosedForm(t *testing.T) {
	for k, rate := range agreedRates {
		seed := uint64(k)
		rng := rand.New(rand.NewPCG(seed, 46))
		s, c := agreed(t, seed, menuDrawn(rng, fmt.Sprintf("rate: %g/s", rate), steadySLO+
			fmt.Sprintf("fleet: {spare: %d, growth: 1.7}\n", k%2)), untuned)
		g := &cheapestGoal{fleetGoal{s}}
		testkit.OK(t, g.find(t.Context()))
		best, n := c.cheapestOf(s, rate)
		if s.best != best || s.outcomes[best].replicas != n || s.size() != n+s.Spare ||
			math.Abs(s.cost()-s.options[best].Cost(n+s.Spare)) > 1e-9 {
			t.Fatalf("%g/s: %s, want %s", rate, bestOf(s, s.best), answerOf(s, best, n))
		}
		outcomesAreTrue(t, s, c, rate)
		list, left, err := g.shapes(t.Context())
		testkit.OK(t, err)
		shapes := map[string]bool{}
		for i := range s.options {
			shapes[s.options[i].Shape()] = true
		}
		if left != 0 || len(list) != len(shapes) {
			t.Errorf("%d shapes, %d left out of %d", len(list), left, len(shapes))
		}
		for i := range list {
			shapeIsTrue(t, s, c, &list[i], rate)
		}
		for i := range list[1:] {
			a, b := &list[i], &list[i+1]
			if a.Replicas == 0 && b.Replicas > 0 ||
				a.Replicas > 0 && b.Replicas > 0 && a.Hourly > b.Hourly {
				t.Errorf("%+v comes before %+v", a, b)
			}
		}
		later, err := g.growth(t.Context(), 1.7)
		testkit.OK(t, err)
		if i, n := c.cheapestOf(s, 1.7*rate); i < 0 && later.Label != "" ||
			i >= 0 && (later.Factor != 1.7 || later.Label != s.label(i) ||
				later.Replicas != n+s.Spare ||
				math.Abs(later.Hourly-s.options[i].Cost(n+s.Spare)) > 1e-9) {
			t.Errorf("1.7 times %g/s: %+v, want %s", rate, later, answerOf(s, i, n))
		}
		if k > 0 && k < 3 {
			sensitivityIsTrue(t, g, c, rate)
		}
	}
}

// Of fleets of one price the surer is taken, though prices of replicas are rounded: with spares and
// without, each server is given the price at which its fleet costs as much as all others. Of two
// with the same evidence, the one with the higher chance is taken, or with fewer accelerators. The
// order of the menu's lists changes nothing.
func TestOfEqualPricesTheSurerIsTaken(t *testing.T) {
	testkit.Dear(t)
	surer, likelier := 0, 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 48))
		load, spare := fmt.Sprintf("rate: %d/s", 5+rng.IntN(80)), rng.IntN(2)
		text := func(prices map[string]string) string {
			var hardware []string
			for _, name := range []string{"l4", "l40s", "a40", "a100-80gb-sxm", "h100-sxm"} {
				hardware = append(hardware, fmt.Sprintf("{accelerator: %s, price: $%s/h}", name,
					cmp.Or(prices[name], "1")))
			}
			tensor, batching := []string{"1", "2"}, []string{"{max-sequences: 64}",
				"{token-budget: 2048}"}
			for _, list := range [][]string{hardware, tensor, batching} {
				rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			}
			join := func(list []string) string { return strings.Join(list, ", ") }
			return fmt.Sprintf("model: llama-3.1-8b\nworkload: {%s, prompt: 500, output: 60}\n"+
				"menu: {hardware: [%s], tensor: [%s], batching: [%s]}\nfleet: {spare: %d}\n%s"+
				"effort: {requests: 100, most-requests: 200}\n", load, join(hardware),
				join(tensor), join(batching), spare, steadySLO)
		}
		s, c := agreed(t, seed, text(nil), untuned)
		rate, prices := s.Rate, map[string]string{}
		for _, o := range s.options {
			if n := c.least(s, o, rate); n > 0 && o.GPUs == 1 {
				prices[o.Prefill.Offer.Accelerator] = fmt.Sprintf("%.17g", 7.3/float64(n+s.Spare))
			}
		}
		s, c = agreed(t, seed, text(prices), untuned)
		testkit.OK(t, (&cheapestGoal{fleetGoal{s}}).find(t.Context()))
		shuffled, _ := agreed(t, seed, text(prices), untuned)
		testkit.OK(t, (&cheapestGoal{fleetGoal{shuffled}}).find(t.Context()))
		if s.best < 0 {
			continue
		}
		if shuffled.best < 0 || bestOf(s, s.best) != bestOf(shuffled, shuffled.best) {
			t.Errorf("seed %d: %s, and in another order %s", seed, bestOf(s, s.best),
				bestOf(shuffled, shuffled.best))
		}
		chance := func(i, n int) float64 {
			f := s.fleet()
			f.Option, f.Replicas = s.options[i], n
			c, err := f.Chance(t.Context())
			testkit.OK(t, err)
			return c.Simulated
		}
		own := chance(s.best, s.outcomes[s.best].replicas)
		for i, o := range s.options {
			n := c.least(s, o, rate)
			if n == 0 || math.Abs(o.Cost(n+s.Spare)-s.cost()) > 1e-6 {
				continue // it serves nothing, or has the price of no fleet
			}
			if candidate.Rank(o.Grade) > candidate.Rank(s.chosen().Grade) {
				surer++
			}
			kept, r := own, s.rows[o.Shape()]
			if r.option == i { // the best of its shape
				kept = chance(i, n)
			}
			if own > kept {
				likelier++
			}
			if c := cmp.Or(cmp.Compare(candidate.Rank(o.Grade), candidate.Rank(s.chosen().Grade)),
				cmp.Compare(own, kept), cmp.Compare((n+s.Spare)*o.GPUs, s.accelerators())); c < 0 &&
				(r.option == i || candidate.Rank(o.Grade) < candidate.Rank(s.chosen().Grade)) {
				t.Errorf("seed %d: %s (%s, %g), and %s (%s, %g) costs as much", seed,
					bestOf(s, s.best), s.chosen().Grade, own, answerOf(s, i, n), o.Grade, kept)
			}
		}
	}
	if surer == 0 || likelier == 0 {
		t.Errorf("%d fleets have worse evidence than an answer of their price, %d a lower chance",
			surer, likelier)
	}
}

func outcomesAreTrue(t *testing.T, s *search, c *closedForm, rate float64) {
	t.Helper()
	for i, o := range s.options {
		n, kind := c.least(s, o, rate), s.outcomes[i].kind
		switch {
		case (kind == chosen) != (i == s.best), kind == 0, kind == unfit != (o.Unfit() != ""),
			kind == tooFew && n > 0,
			i != s.best && s.words(i) == "" && s.outcomes[i].replicas != n,
			kind == costsMore && n > 0 && o.Cost(n+s.Spare) < s.cost()-1e-9:
			t.Errorf("%s: %v, %q; %d replicas serve %g/s", s.label(i), kind, s.words(i), n, rate)
		}
		if n > 0 && s.beats(o, n) || s.mostWorthwhile(i) > 0 && n > 0 &&
			n <= s.mostWorthwhile(i) && i != s.best {
			t.Errorf("%d of %s beat the best, up to %d do", n, s.label(i), s.mostWorthwhile(i))
		}
	}
	a := &answer.Answer{}
	addOutcomes(a, s)
	tried, pruned := 0, 0
	for _, o := range a.Outcomes {
		if o.Kind == chosen.String() || o.Kind == simulated.String() {
			tried++
		}
	}
	for _, p := range a.Pruned {
		pruned += p.Options
	}
	if tried+pruned != len(s.options) || len(a.Outcomes) != len(s.options) || tried == 0 {
		t.Errorf("%d tried and %d pruned of %d options, %d outcomes", tried, pruned,
			len(s.options), len(a.Outcomes))
	}
}

func shapeIsTrue(t *testing.T, s *search, c *closedForm, sh *answer.Shape, rate float64) {
	t.Helper()
	o := s.options[sh.Option]
	each, n := c.of(s, o), c.least(s, o, rate)
	if o.Unfit() != "" || o.Tight {
		if sh.Rate > 0 || sh.Limit == "" {
			t.Errorf("%+v cannot be built", sh)
		}
		return
	}
	if sh.Replicas > 0 && (sh.Rate > each*(1+1e-5) || sh.Rate < each/1.031) || sh.GPUs != o.GPUs ||
		sh.Label != s.label(sh.Option) || sh.Limit == "" {
		t.Errorf("a replica sustains %g/s: %+v", each, sh)
	}
	if n > 0 && sh.Replicas == 0 && (sh.AtLeast <= 0 || sh.AtLeast > o.Cost(n+s.Spare)) {
		t.Errorf("%d replicas serve %g/s for $%g/h: %+v", n, rate, o.Cost(n+s.Spare), sh)
	}
	near := o.Cost(int(math.Ceil(rate/each))+s.Spare) < contender*s.cost()/1.05
	if near && n > 0 && (sh.Replicas != n+s.Spare || sh.Accelerators != sh.Replicas*o.GPUs ||
		math.Abs(sh.Hourly-o.Cost(sh.Replicas)) > 1e-9 ||
		math.Abs(sh.PerMillion*s.millions()/sh.Hourly-1) > 1e-9) ||
		n == 0 && sh.Replicas > 0 {
		t.Errorf("%d replicas serve %g/s: %+v", n, rate, sh)
	}
}

func sensitivityIsTrue(t *testing.T, g *cheapestGoal, c *closedForm, rate float64) {
	t.Helper()
	s := g.search
	s.prior = s.label(s.best)
	defer func() { s.prior = "" }()
	list, err := g.sensitivity(t.Context())
	testkit.OK(t, err)
	tried := 0
	for _, other := range list {
		factor := map[string]float64{"rate +10 %": 1.1, "rate −10 %": 0.9}[other.Input]
		if factor == 0 {
			continue
		}
		tried++
		i, n := c.cheapestOf(s, rate*factor)
		want := "no option meets the SLO"
		switch {
		case i == s.best && n == s.outcomes[i].replicas:
			want = "the same"
		case i == s.best:
			want = fmt.Sprintf("instead of %d", s.size())
		case i >= 0:
			want = " of " + s.label(i)
		}
		size := fmt.Sprint(n+s.Spare, " ")
		if !strings.HasSuffix(other.Answer, want) || other.Changes != (want != "the same") ||
			i >= 0 && other.Changes && !strings.HasPrefix(other.Answer, size) {
			t.Errorf("%g/s, %s: %+v, want %d of %s", rate, other.Input, other, n+s.Spare, want)
		}
	}
	if tried != 2 {
		t.Errorf("%d other rates in %+v", tried, list)
	}
	near, _ := g.contenders()
	if !slices.Contains(near, s.best) || !slices.IsSorted(near) {
		t.Errorf("the contenders of %d are %v", s.best, near)
	}
	for i := range s.options {
		within := s.outcomes[i].kind != unfit && s.leastCost(i) <= contender*s.cost()
		if within != slices.Contains(near, i) {
			t.Errorf("%s is a contender: %v", s.label(i), !within)
		}
	}
}

// Where no fleet is large enough, the option that comes nearest is named, with the share that its
// largest fleet keeps.
func TestTheNearestIsKnownInClosedForm(t *testing.T) {
	text := strings.NewReplacer("{accelerator: a100-80gb-sxm,",
		"{accelerator: a100-80gb-sxm, count: 3,", "{accelerator: l4,",
		"{accelerator: l4, count: 2,").Replace(menuDrawn(rand.New(rand.NewPCG(5, 5)),
		"rate: 900/s", steadySLO))
	s, c := agreed(t, 5, text, untuned)
	testkit.OK(t, s.cheapest(t.Context()))
	near := s.nearest()
	if s.best >= 0 || near == nil {
		t.Fatalf("%s serves 900/s, and %+v is nearest", bestOf(s, s.best), near)
	}
	for i, o := range s.options {
		if s.outcomes[i].closest > near.Kept || near.Label != s.label(near.Option) ||
			near.Limit != s.words(near.Option) {
			t.Errorf("%s keeps %g, the nearest is %+v", s.label(i), s.outcomes[i].closest, near)
		}
		if n := s.Allowed(o); c.least(s, o, 900) > 0 || s.outcomes[i].kind == tooFew &&
			float64(n)*o.Ceiling >= 900 {
			t.Errorf("%d of %s serve 900/s", n, s.label(i))
		}
	}
}

// The fleet that serves most is the one of all whose highest rate of the grid is highest, within
// the budget; each that is shown serves that rate, and the next of its grid it does not.
func TestMostThroughputIsKnownInClosedForm(t *testing.T) {
	for k, budget := range []float64{4, 11, 40} {
		seed := uint64(k)
		s, c := agreed(t, seed, menuDrawn(rand.New(rand.NewPCG(seed, 7)), "arrivals: poisson",
			steadySLO+fmt.Sprintf("goal: {find: throughput, budget: $%g/h}\nfleet: {spare: %d}\n",
				budget, k%2)), untuned)
		g := goalOf(s).(*throughputGoal)
		testkit.OK(t, g.find(t.Context()))
		served := func(o *candidate.Option, n int) (rate, next float64) {
			grid := judge.RateGrid{Ceiling: float64(n) * o.Ceiling}
			for place := range judge.Grid + 1 {
				if rate = grid.Rate(place); rate <= float64(n)*c.of(s, o) {
					return rate, grid.Rate(place - 1)
				}
			}
			return 0, 0
		}
		best, most := -1, 0.0
		for i, o := range s.options {
			n := s.Allowed(o) - s.Spare
			if o.Unfit() != "" || o.Tight || n < 1 {
				if kind := s.outcomes[i].kind; kind != unfit && kind != outOfReach &&
					kind != beyond || s.words(i) == "" {
					t.Errorf("%s: %v, %q", s.label(i), kind, s.words(i))
				}
				continue
			}
			if rate, _ := served(o, n); rate > most {
				best, most = i, rate
			}
		}
		if s.best != best || s.Rate != most || s.cost() > budget {
			t.Fatalf("$%g/h: %s at %g/s, want %s at %g/s", budget, bestOf(s, s.best), s.Rate,
				s.label(best), most)
		}
		a := &answer.Answer{}
		testkit.OK(t, g.show(t.Context(), a))
		last := math.Inf(1)
		for _, row := range a.Throughputs {
			i := slices.IndexFunc(s.options, func(o *candidate.Option) bool {
				return s.label(o.Index) == row.Label
			})
			o := s.options[i]
			rate, next := served(o, row.Replicas-s.Spare)
			if row.Rate != rate && (row.Rate > rate || next <= most) || row.Rate > last ||
				row.Hourly != o.Cost(row.Replicas) || row.Hourly > budget ||
				math.Abs(row.Watts-float64(row.Replicas)*o.Watts()) > 1e-9 {
				t.Errorf("$%g/h: %+v, want %g/s, below %g/s", budget, row, rate, next)
			}
			last = row.Rate
		}
		if len(a.Throughputs) == 0 || a.Throughputs[0].Rate != most || s.Rate != most {
			t.Errorf("%+v are shown of fleets of up to %g/s", a.Throughputs, most)
		}
	}
}

// Of the fleets of a front each keeps the SLO within the budget and has the latency and the energy
// of its load; the front is what no other beats. It begins with the cheapest fleet of all, and ends
// with one that is as fast as any that the budget pays for.
func TestFrontsAreKnownInClosedForm(t *testing.T) {
	for k, goal := range []string{"budget: $60/h, measure: mean_ttft_ms",
		"measure: p99_ttft_ms", "budget: $30/h, measure: mean_ttft_ms"} {
		rate, seed := agreedRates[k], uint64(k)
		s, c := agreed(t, seed, menuDrawn(rand.New(rand.NewPCG(seed, 9)), fmt.Sprintf(
			"rate: %g/s", rate), steadySLO+"goal: {find: front, "+goal+
			fmt.Sprintf("}\nfleet: {spare: %d}\n", k%2)), untuned)
		g := goalOf(s).(*frontGoal)
		testkit.OK(t, g.find(t.Context()))
		best, n := c.cheapestOf(s, rate)
		if s.best != best || s.outcomes[best].replicas != n {
			t.Fatalf("%s: the cheapest is %s, want %s", goal, bestOf(s, s.best),
				answerOf(s, best, n))
		}
		most := cmp.Or(s.Goal().Budget.Amount, maxPriceRatio*s.cost())
		latency := func(i, n int) float64 {
			return idleLatency * (1 + rate/(float64(n)*c.of(s, s.options[i])))
		}
		if s.Goal().Measure != "mean_ttft_ms" {
			latency = func(i, n int) float64 {
				return idleLatency * (2 + rate/(float64(n)*c.of(s, s.options[i])))
			}
		}
		fastest := math.Inf(1)
		for i, p := range g.all {
			o := s.options[p.Option]
			if p.Replicas-s.Spare < c.least(s, o, rate) || p.Hourly > most*(1+1e-9) ||
				p.Hourly != o.Cost(p.Replicas) ||
				math.Abs(p.Latency/latency(p.Option, p.Replicas)-1) > 1e-6 {
				t.Errorf("%s, %g/s: %+v, its latency %g", goal, rate, p,
					latency(p.Option, p.Replicas))
			}
			beaten := slices.ContainsFunc(g.all, func(q answer.Point) bool {
				return q.Dominates(&g.all[i])
			})
			if p.Front == beaten {
				t.Errorf("%s: %+v is beaten: %v", goal, p, beaten)
			}
			fastest = min(fastest, p.Latency)
		}
		a := &answer.Answer{}
		testkit.OK(t, g.show(t.Context(), a))
		front := a.Front()
		if len(front) < 2 || front[0].Hourly != s.cost() || !slices.ContainsFunc(front,
			func(p answer.Point) bool { return p.Option == best && p.Replicas == n+s.Spare }) {
			t.Errorf("%s: the front is %+v", goal, front)
		}
		for i, o := range s.options {
			largest := min(int(o.Affordable(most*(1+1e-9))), s.Allowed(o))
			if least := c.least(s, o, rate); least > 0 && largest-s.Spare >= least &&
				latency(i, largest) < fastest*(1-1e-6) {
				t.Errorf("%s: %d of %s are faster than the front", goal, largest, s.label(i))
			}
		}
	}
}

// A job is done for the least money that it costs with the fewest replicas in time of any option,
// and the figures of each fleet are those of that time.
func TestJobsAreKnownInClosedForm(t *testing.T) {
	for k, requests := range []int64{20_000, 900_000} {
		seed := uint64(k)
		text := menuDrawn(rand.New(rand.NewPCG(seed, 3)), "",
			fmt.Sprintf("job: {requests: %d, within: 20m}\n", requests))
		s, c := agreed(t, seed, strings.Replace(text, "{, ", "{", 1), untuned)
		g := goalOf(s).(*jobGoal)
		testkit.OK(t, g.find(t.Context()))
		time := func(o *candidate.Option, n int) float64 {
			part := float64(min(requests, mostInJob))
			return (aroundJob + part/(float64(n)*c.of(s, o))) * float64(requests) / part
		}
		dollars := func(o *candidate.Option, n int) float64 {
			return float64(n) * o.Price * time(o, n) / 3600
		}
		fewest := func(o *candidate.Option) int {
			for n := 1; n <= s.Allowed(o) && o.Unfit() == "" && n < 10_000; n++ {
				if time(o, n) <= 1200 {
					return n
				}
			}
			return 0
		}
		best := -1
		for i, o := range s.options {
			if n := fewest(o); n > 0 && (best < 0 ||
				dollars(o, n) < dollars(s.options[best], fewest(s.options[best]))) {
				best = i
			}
		}
		if s.best != best || g.requests != requests || s.outcomes[best].kind != chosen {
			t.Fatalf("%d requests: %s, want %s", requests, bestOf(s, s.best), answerOf(s, best,
				fewest(s.options[best])))
		}
		a := &answer.Answer{}
		testkit.OK(t, g.show(t.Context(), a))
		for i, j := range g.all {
			o, done := s.options[j.option], a.Jobs[i]
			want := dollars(o, fewest(o))
			if j.replicas != fewest(o) || math.Abs(j.dollars/want-1) > 1e-6 ||
				done.Dollars != j.dollars || done.Requests != requests ||
				math.Abs(done.Hours*3600/time(o, j.replicas)-1) > 1e-6 ||
				math.Abs(done.PerMillion*float64(requests)*560/1e6/want-1) > 1e-6 ||
				i > 0 && j.dollars < g.all[i-1].dollars || s.words(j.option) == "" &&
				j.option != s.best {
				t.Errorf("%d requests: %d of %s for $%g, want %d for $%g; %+v", requests,
					j.replicas, s.label(j.option), j.dollars, fewest(o), want, done)
			}
		}
		for i := range s.options {
			if kind := s.outcomes[i].kind; kind == tooFew && fewest(s.options[i]) > 0 ||
				(kind == chosen) != (i == best) || kind == 0 {
				t.Errorf("%s: %v", s.label(i), kind)
			}
		}
		d, err := g.deployJob(t.Context())
		testkit.OK(t, err)
		share := float64(min(requests, mostInJob)) / float64(requests)
		if d.JobShare != share || d.Replicas != fewest(s.options[best]) || d.JobHours <= 0 {
			t.Errorf("%d requests: %d replicas for %g hours, of a share of %g, want %g", requests,
				d.Replicas, d.JobHours, d.JobShare, share)
		}
	}
}

// Fleets of two models that share a stock cost the least of all pairs for which there are
// accelerators; what one takes and leaves is what there was.
func TestSharedStocksAreKnownInClosedForm(t *testing.T) {
	for k, counts := range [][2]int{{2, 2}, {3, 5}, {8, 8}, {1, 1}} {
		f, err := asked.Parse("joint.yaml", fmt.Appendf(nil, `
models:
  - {name: a, model: llama-3.1-8b, workload: {rate: 90/s, prompt: 300, output: 60}, slo: {ttft: 1s}}
  - {name: b, model: qwen2.5-14b, workload: {rate: 16/s, prompt: 900, output: 60}, slo: {ttft: 1s}}
menu:
  hardware: [{accelerator: h100-sxm, count: %d, price: $2/h}, {accelerator: l40s, count: %d, price: $1.2/h}, {accelerator: a100-80gb-sxm, price: $%d/h}]
  tensor: [1, 2]
  tune: none
effort: {requests: 100, most-requests: 200}
`, counts[0], counts[1], 3+k))
		testkit.OK(t, err)
		c := &closedForm{seed: uint64(k), rates: map[string]float64{}}
		q, err := queue.Open(t.Context(), queue.Config{Workers: 2},
			queue.Handlers{judge.Kind: c.trial})
		testkit.OK(t, err)
		t.Cleanup(q.Close)
		var searches []*search
		for _, part := range questions(f) {
			s, err := newSearch(t.Context(), part, q, Options{})
			testkit.OK(t, err)
			c.learn(s, 0)
			testkit.OK(t, s.cheapest(t.Context()))
			searches = append(searches, s)
		}
		a, b := searches[0], searches[1]
		j := newJointSearch(searches)
		if !slices.Equal(j.stock, counts[:]) {
			t.Errorf("the stocks are %v, want %v", j.stock, counts)
		}
		alone, want := a.cost()+b.cost(), math.Inf(1)
		for i, x := range a.options {
			for l, y := range b.options {
				n, m := c.least(a, x, 90), c.least(b, y, 16)
				if n > 0 && m > 0 && judge.Fit(j.stock, j.acceleratorsUsed(a, x, n),
					j.acceleratorsUsed(b, b.options[l], m)) {
					want = min(want, a.options[i].Cost(n)+y.Cost(m))
				}
			}
		}
		if j.conflict() != (want > alone+1e-9) {
			t.Errorf("%v: a conflict: %v, alone $%g/h, together $%g/h", counts, j.conflict(),
				alone, want)
		}
		left := a.remaining(f.Plan.Menu.Hardware)
		for _, offer := range f.Plan.Menu.Hardware {
			has := slices.IndexFunc(left, func(o asked.Offer) bool {
				return o.Accelerator == offer.Accelerator
			})
			rest, took := 0, 0
			if has >= 0 {
				rest = left[has].Count
			}
			for _, o := range a.chosen().Offers() {
				if o.Accelerator == offer.Accelerator {
					took = a.chosen().Accelerators(o, a.size())
				}
			}
			if offer.Count > 0 && rest+took != offer.Count || offer.Count == 0 && has < 0 {
				t.Errorf("%v: of %d %s %d are taken and %d left", counts, offer.Count,
					offer.Accelerator, took, rest)
			}
		}
		possible, err := j.choose(t.Context())
		testkit.OK(t, err)
		if !possible || math.Abs(a.cost()+b.cost()-want) > 1e-9 || j.conflict() {
			t.Errorf("%v: possible: %v, $%g/h, want $%g/h", counts, possible, a.cost()+b.cost(),
				want)
		}
	}
}

// Scaled fleets are charged for what runs, and the cheapest of fixed and scaled ones is the answer.
// No fleet is left in doubt where the rules hold.
func TestScaledFleetsAreKnownInClosedForm(t *testing.T) {
	for k, average := range []float64{3, 20, 70} {
		seed := uint64(k)
		text := menuDrawn(rand.New(rand.NewPCG(seed, 4)), fmt.Sprintf("rate: {pattern: wave, "+
			"average: %g/s, swing: 0.9, period: 10m}", average), steadySLO)
		text = strings.Replace(text, "  tensor: [1, 2]", "  tensor: [1]\n  scaling: [{policy: "+
			"outstanding, target: 6, min: 1..2}]", 1)
		s, c := agreed(t, seed, text, untuned)
		testkit.OK(t, s.cheapest(t.Context()))
		rate := average * 1.9
		best, replicas, hourly := -1, 0, 0.0
		for i, o := range s.options {
			n := c.least(s, o, rate)
			if n == 0 {
				continue
			}
			cost := o.Cost(n)
			if o.Scaled() {
				n = max(n, o.Always())
				// At the predicted pace, replicas are quicker than they must be.
				running := max(float64(o.Always()), 0.8*rate/(c.of(s, o)*o.Slow))
				cost = o.Price * min(float64(n), running)
			}
			if best < 0 || cost < hourly-1e-9 {
				best, replicas, hourly = i, n, cost
			}
		}
		if s.best != best || s.outcomes[best].replicas != replicas ||
			math.Abs(s.cost()/hourly-1) > 1e-6 {
			t.Errorf("%g/s: %s for $%g/h, want %s for $%g/h", average, bestOf(s, s.best), s.cost(),
				answerOf(s, best, replicas), hourly)
		}
		if s.better != 0 {
			t.Errorf("%g/s: %d of %d checked fleets are better", average, s.better, s.checked)
		}
	}
}

// What is tuned costs less by what makes it worth it, and has the fewest replicas that serve the
// load; what it is compared with is the cheapest without.
func TestTunedFleetsAreKnownInClosedForm(t *testing.T) {
	for k, rate := range agreedRates[1:] {
		seed := uint64(k)
		s, c := agreed(t, seed, menuDrawn(rand.New(rand.NewPCG(seed, 8)),
			fmt.Sprintf("rate: %g/s", rate), steadySLO))
		listed := len(s.options)
		best, n := c.cheapestOf(s, rate)
		testkit.OK(t, s.answer(t.Context()))
		tuned := &tuner{s}
		before, fresh := s.best, 0
		list, err := tuned.changedAny(s.best)
		testkit.OK(t, err)
		s.tuned = &answer.Tuned{}
		places, err := tuned.added(t.Context(), list)
		testkit.OK(t, err)
		again, err := tuned.added(t.Context(), list)
		testkit.OK(t, err)
		c.learn(s, listed)
		if before != best || s.outcomes[best].replicas != n || len(again) > 0 ||
			len(places) == 0 || s.listed() != listed {
			t.Fatalf("%d settings of %s, %d of them again, of %d options %d listed", len(places),
				bestOf(s, before), len(again), listed, s.listed())
		}
		cost := s.cost()
		for _, i := range places {
			if o := s.options[i]; o.Index != i || s.outcomes[i].kind != costsMore ||
				len(o.Settings()) == 0 {
				t.Errorf("%s is option %d, %v", s.label(i), o.Index, s.outcomes[i].kind)
			}
			most := tuned.cheaper(i)
			if o := s.options[i]; most > 0 && o.Cost(most+s.Spare) >= s.cost()*(1-worthTuning) {
				t.Errorf("%d of %s cost $%g/h, and not less than $%g/h", most, s.label(i),
					o.Cost(most+s.Spare), s.cost())
			}
			if most < 1 {
				continue
			}
			was := s.cost()
			_, err := tuned.tryTuned(t.Context(), i)
			testkit.OK(t, err)
			need := c.least(s, s.options[i], rate)
			won := need > 0 && need <= most
			if won != (s.best == i) || won && (s.outcomes[i].replicas != need ||
				s.cost() > was*(1-worthTuning)) || !won && s.words(i) == "" {
				t.Errorf("%d of %s serve %g/s, %d are cheaper; the best is %s", need, s.label(i),
					rate, most, bestOf(s, s.best))
			}
			fresh++
		}
		if s.cost() > cost {
			t.Errorf("tuned for $%g/h, without for $%g/h, %d tried", s.cost(), cost, fresh)
		}
	}
}

// What is said of a fleet that loses names its rate only where that decides, and the stock only
// where one replica more is not there; bounds are said with the least price that they allow.
func TestLosersAreDescribedByWhatTheyLack(t *testing.T) {
	for k, load := range []string{"rate: 200/s", "arrivals: {process: closed-loop, users: 40}"} {
		s, _ := agreed(t, 3, menuDrawn(rand.New(rand.NewPCG(uint64(k), 12)), load, steadySLO+
			fmt.Sprintf("fleet: {spare: %d}\n", k)), untuned)
		s.best, s.outcomes = -1, make([]outcome, len(s.options))
		for i, o := range s.options {
			v := judge.Verdict{Rate: 3.25, Trial: judge.Trial{Limit: "queues grow"}}
			for n := 1; n < 12; n++ {
				words, more := s.whyLost(o, n, v), n+s.Spare+1
				left := ""
				if count := o.Prefill.Offer.Count; count > 0 && more*o.GPUs > count {
					left = fmt.Sprintf("; there are %d × %s", count, o.Prefill.Offer.Accelerator)
				}
				first := "at 3.25/s a replica, queues grow"
				if s.Rate == 0 {
					first = fmt.Sprintf("with %d replica", n)
				}
				if !strings.HasPrefix(words, first) || !strings.HasSuffix(words, left) ||
					strings.Contains(words, "there are") != (left != "") {
					t.Errorf("%d of %s: %q, want %q and %q", n, s.label(i), words, first, left)
				}
			}
			s.outcomes[i].kind = costsMore
			if words := s.words(i); o.Unfit() == "" && (!strings.Contains(words,
				"costs "+s.Money(o.Cost(s.Fewest(o)+s.Spare))+"/h at least") ||
				strings.Contains(words, "a replica cannot sustain") != (s.Rate > 0)) {
				t.Errorf("%s: %q", s.label(i), words)
			}
			s.outcomes[i].kind = tooFew
			offer := *o.Prefill.Offer
			o.Prefill.Offer.Count = 1
			want := (s.Fewest(o) + s.Spare) * o.GPUs
			if words := s.words(i); o.Unfit() == "" && want > 1 && words != fmt.Sprintf(
				"%d × %s and more are needed, there are 1", want, offer.Accelerator) {
				t.Errorf("%s: %q, want %d", s.label(i), words, want)
			}
			*o.Prefill.Offer = offer
		}
	}
}

// A plan is possible if its budget and its power pay for the smallest fleet of some option with its
// spares. Where they do not, the option that needs least of what is lacking is named.
func TestPlansThatArePossible(t *testing.T) {
	for spare := range 2 {
		for _, limit := range []string{"budget: $0.1/h", "budget: $0.9/h", "power: 90W",
			"power: 200W", "budget: $9/h, power: 60W"} {
			further := fmt.Sprintf("fleet: {spare: %d}\ngoal: {find: throughput, %s}\n", spare,
				limit)
			s, _ := agreed(t, 2, menuDrawn(rand.New(rand.NewPCG(2, 14)), "arrivals: poisson",
				steadySLO+further), untuned)
			g := s.Goal()
			possible, price, watts := false, math.Inf(1), math.Inf(1)
			for _, o := range s.options {
				n := float64(1 + spare)
				if o.Unfit() != "" || o.Tight {
					continue
				}
				stock := o.Prefill.Offer.Count == 0 || (1+spare)*o.GPUs <= o.Prefill.Offer.Count
				possible = possible || stock &&
					(g.Budget.Amount == 0 || n*o.Price <= g.Budget.Amount) &&
					(g.Power == 0 || n*o.Watts() <= float64(g.Power))
				price, watts = min(price, n*o.Price), min(watts, n*o.Watts())
			}
			err := s.possible()
			if possible != (err == nil) {
				t.Errorf("%s: possible: %v, %v", limit, possible, err)
				continue
			}
			dear := g.Budget.Amount > 0 && price > g.Budget.Amount
			strong := !dear && g.Power > 0 && watts > float64(g.Power)
			if err != nil && (strings.Contains(err.Error(), "goal.budget: ") != dear ||
				strings.Contains(err.Error(), "goal.power: ") != strong ||
				dear && !strings.Contains(err.Error(), s.Money(price)) ||
				dear && strings.Contains(err.Error(), "with its spares") != (spare > 0)) {
				t.Errorf("%s, $%g/h and %g W at least: %v", limit, price, watts, err)
			}
		}
	}
}

// Options are ordered by how near they are to being chosen: each is nearer than the next or as
// near, and the nearest of each shape leads it.
func TestNearnessIsAnOrder(t *testing.T) {
	s, _ := agreed(t, 1, menuDrawn(rand.New(rand.NewPCG(1, 13)), "rate: 40/s", steadySLO), untuned)
	rng := rand.New(rand.NewPCG(1, 15))
	for range 40 {
		s.outcomes = make([]outcome, len(s.options))
		var all []int
		for i := range s.outcomes {
			all = append(all, i)
			s.outcomes[i].kind = kind(2 + rng.IntN(7))
			s.outcomes[i].closest = float64(rng.IntN(4)) / 4
			s.outcomes[i].replicas = max(0, rng.IntN(6)-3)
		}
		s.sortByNearness(all)
		rank := func(i int) int {
			switch o := s.outcomes[i]; {
			case o.replicas > 0:
				return 0
			case o.kind == simulated:
				return 1
			case o.kind == costsMore || o.kind == tooFew:
				return 2
			case o.kind == outOfReach || o.kind == broken:
				return 3
			}
			return 4
		}
		for k, i := range all[1:] {
			j := all[k]
			a, b := &s.outcomes[j], &s.outcomes[i]
			same := rank(i) == rank(j)
			if rank(j) > rank(i) || s.nearerToChosen(i, j) ||
				same && rank(i) == 0 && s.hourly(j) > s.hourly(i) ||
				same && (rank(i) == 1 || rank(i) == 3) && a.closest < b.closest ||
				same && rank(i) == 2 && s.leastCost(j) > s.leastCost(i) {
				t.Fatalf("%s, %+v, comes before %s, %+v", s.label(j), a, s.label(i), b)
			}
		}
		leaders, _ := s.leaders()
		for _, i := range all {
			leads := slices.Contains(leaders, i)
			for _, j := range all[:slices.Index(all, i)] {
				alike := s.options[i].Shape() == s.options[j].Shape()
				if alike && leads && s.nearerToChosen(j, i) {
					t.Fatalf("%s leads its shape, and %s is nearer", s.label(i), s.label(j))
				}
			}
		}
	}
}

// Several models are answered one by one with what each would have alone, or with fleets for which
// there are accelerators together; in turn, each has what the ones before it leave.
func TestSeveralModelsKeepToTheStock(t *testing.T) {
	for k, count := range []int{2} {
		f, err := asked.Parse("joint.yaml", fmt.Appendf(nil, `
models:
  - {name: a, model: llama-3.1-8b, workload: {rate: 60/s, prompt: 300, output: 60}, slo: {ttft: 1s}}
  - {name: b, model: llama-3.2-3b, workload: {rate: 40/s, prompt: 300, output: 60}, slo: {ttft: 1s}}
menu: {hardware: [{accelerator: h100-sxm, count: %d, price: $0.2/h}, {accelerator: a100-80gb-sxm, price: $2/h}], tensor: [1], tune: none}
effort: {requests: 100, most-requests: 200}
`, count))
		testkit.OK(t, err)
		c := &closedForm{seed: uint64(k), rates: map[string]float64{}}
		q, err := queue.Open(t.Context(), queue.Config{Workers: 2},
			queue.Handlers{judge.Kind: c.trial})
		testkit.OK(t, err)
		t.Cleanup(q.Close)
		for _, part := range questions(f) {
			s, err := newSearch(t.Context(), part, q, Options{})
			testkit.OK(t, err)
			c.learn(s, 0)
		}
		together, _, err := solveEach(t.Context(), f, q, Options{})
		testkit.OK(t, err)
		turns, err := inTurn(t.Context(), f, q, Options{})
		testkit.OK(t, err)
		for name, list := range map[string][]*answer.Answer{"together": together, "turns": turns} {
			used, hourly := 0, 0.0
			for i, a := range list {
				if a.Chosen == nil || a.Name != f.Plan.Models[i].Name ||
					a.Model != f.Plan.Models[i].Model || a.Simulations == 0 {
					t.Fatalf("%s: %+v", name, a)
				}
				if hourly += a.Chosen.Hourly; strings.Contains(a.Chosen.Label, "h100") {
					used += a.Chosen.Accelerators
				}
				if a.Joint != (name == "together") {
					t.Errorf("%s: joint %v", name, a.Joint)
				}
			}
			if used > count {
				t.Errorf("%s: %d H100 are used of %d", name, used, count)
			}
			if cost := together[0].Chosen.Hourly + together[1].Chosen.Hourly; cost > hourly+1e-9 {
				t.Errorf("$%g/h together, $%g/h %s", cost, hourly, name)
			}
		}
	}
}
