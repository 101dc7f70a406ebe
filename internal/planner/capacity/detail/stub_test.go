package detail

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

const steadyPlan = `
model: llama-3.1-8b
workload: {rate: 95/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
menu:
  hardware: [l40s, {accelerator: l40s, term: spot, price: $1/h, interruptions: 36/h,
    notice: 2m, return: 3m}]
  tensor: [1]
effort: {requests: 200, most-requests: 400}
`

const wavePlan = `
model: llama-3.1-8b
workload: {rate: {pattern: wave, average: 10/s, swing: 0.5, period: 20m}, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
menu: {hardware: [l40s], tensor: [1], scaling: [{policy: outstanding, target: 6, min: 2}]}
effort: {requests: 200, most-requests: 400}
`

// each is what a replica of a stub serves at the predicted pace, in requests/s.
const each = 10

// stub answers simulations by a law, and remembers what was asked.
type stub struct {
	mu    sync.Mutex
	law   func(s *scenarios.Scenario) judge.Trial
	asked []scenarios.Scenario
}

// size is the number of replicas of a scenario's fleet.
func size(s *scenarios.Scenario) (n int) {
	for i := range s.Fleet.Pools {
		n += s.Fleet.Pools[i].Replicas
	}
	return max(1, n, s.Replicas)
}

// load is the share of what a scenario's replicas serve that is asked of them.
func load(s *scenarios.Scenario) float64 {
	return float64(s.Workload.Rate.Value) * s.Engine.Slowdown / float64(each*size(s))
}

// share is a trial of which a share keeps an SLO of 90 %, by the limits of all latencies but TTFT.
func share(kept float64) judge.Trial {
	k := stats.Interval{Mean: kept}
	return judge.Trial{Kept: k, Target: 0.9, All: kept,
		Clauses: []asked.Clause{{Kept: k, Target: 0.9}}}
}

// byCapacity is a law: all requests keep the SLO where replicas serve the rate, else none.
func byCapacity(s *scenarios.Scenario) judge.Trial {
	if load(s) > 1 {
		return share(0)
	}
	return share(1)
}

// byTTFT is a law: the SLO is kept while TTFT is up to that many times the predicted one.
func byTTFT(room float64) func(s *scenarios.Scenario) judge.Trial {
	return func(s *scenarios.Scenario) judge.Trial {
		kept := func(factor float64) float64 {
			return 0.9 - 0.02*math.Log(factor*s.Engine.Slowdown/room)
		}
		t := share(kept(1))
		for _, factor := range asked.LateFactors() {
			t.Clauses[0].Late = append(t.Clauses[0].Late, stats.Interval{Mean: kept(factor)})
		}
		return t
	}
}

// stubbed returns a fleet of the first option of a plan, at $2/h a replica, and all its options.
func stubbed(t *testing.T, text string, overrides ...string) (*Fleet, []*candidate.Option, *stub) {
	t.Helper()
	f, err := asked.Parse("plan.yaml", []byte(text), overrides...)
	testkit.OK(t, err)
	options, err := candidate.Options(f)
	testkit.OK(t, err)
	for _, o := range options {
		o.Slow, o.Late, o.Ceiling, o.Least, o.Price = 1, asked.LateBy(1), 20, 1, 2
		o.Grade = evidence.Here
		o.Physics = candidate.PhysicsOf(evidence.Spread{TPOT: 0.1, TTFT: 0.25, TPOTBias: 0.02,
			TTFTBias: 0.1})
		for _, s := range o.Servers() {
			s.Price, s.Peak, s.Idle, s.Context = 2, 300, 50, 4096
		}
	}
	law := &stub{law: byCapacity}
	q, err := queue.Open(t.Context(), queue.Config{Workers: 1}, queue.Handlers{judge.Kind: func(
		_ context.Context, f *scenarios.File, _ string) (any, error) {
		law.mu.Lock()
		defer law.mu.Unlock()
		law.asked = append(law.asked, f.Scenario)
		return law.law(&f.Scenario), nil
	}})
	testkit.OK(t, err)
	t.Cleanup(q.Close)
	trials := &judge.Trials{File: f, Clocks: scenarios.NewClocks(), Queue: q,
		Shard:  planner.Shard{Of: 2}, // whose insights are not simulated
		Ledger: &judge.Ledger{Known: map[string]*judge.Entry{}}}
	j := judge.Judge{Rate: f.Plan.Peak(), Seeds: judge.MostSeeds, Trials: trials}
	return &Fleet{Judge: j, Option: options[0], Replicas: 10}, options, law
}

// obey answers by another law from now on, whatever was asked before.
func (f *Fleet) obey(l *stub, law func(s *scenarios.Scenario) judge.Trial) {
	l.law, l.asked = law, nil
	f.Trials.Ledger = &judge.Ledger{Known: map[string]*judge.Entry{}}
}

// phi is the distribution function of errors.
func phi(deviations float64) float64 { return evidence.Within(deviations) }

// Where the pace of steps alone matters, n replicas keep the SLO in the share of cases in which
// steps are no slower than n replicas allow, and where TTFT alone does, in the share in which both
// errors together are no larger than its limit allows. Without errors chances are 0 or 1.
func TestChancesAreIntegrals(t *testing.T) {
	f, _, law := stubbed(t, steadyPlan)
	f.Rate = 100
	late := f.Option.Physics.Late()
	for room := 0.75; room < 1.8; room += 0.15 {
		f.obey(law, byTTFT(room))
		c := answer.Chance{Replicas: 7}
		testkit.OK(t, f.chance(t.Context(), &c))
		want := phi((math.Log(room) - late.Bias) / late.Spread)
		if math.Abs(c.Probability-want) > 0.025 || c.Low != c.Probability ||
			c.High != c.Probability {
			t.Errorf("TTFT may be %g times as late: %+v, want %g", room, c, want)
		}
	}
	f.obey(law, byCapacity)
	last := 0.0
	for n := 8; n <= 14; n++ {
		c := answer.Chance{Replicas: n}
		testkit.OK(t, f.chance(t.Context(), &c))
		want := phi((math.Log(float64(n)/10) - 0.02) / 0.1)
		if math.Abs(c.Probability-want) > 0.025 || c.Probability < last {
			t.Errorf("%d replicas: %+v, want %g", n, c, want)
		}
		last = c.Probability
	}
	f.Option.Physics = candidate.PhysicsOf(evidence.Spread{})
	for n, want := range map[int]float64{9: 0, 10: 1} {
		c := answer.Chance{Replicas: n}
		testkit.OK(t, f.chance(t.Context(), &c))
		if c.Probability != want || c.Low != want || c.High != want {
			t.Errorf("%d replicas without errors: %+v, want %g", n, c, want)
		}
	}
}

// A limit of a high percentile is kept in the share of cases in which the error of that percentile
// is no larger than the limit allows, of TTFT and of whole requests: by what evidence says of it.
func TestChancesOfHighPercentiles(t *testing.T) {
	f, _, law := stubbed(t, steadyPlan)
	f.Rate, f.Seeds = 100, 1
	s := evidence.Spread{TPOT: 0.1, TTFT: 0.25, TPOTBias: 0.02, TTFTBias: 0.1}
	for room := 0.9; room < 2; room += 0.2 {
		for metric, latency := range map[string]metrics.Latency{evidence.TTFT: metrics.TTFT,
			evidence.E2E: metrics.E2E} {
			f.obey(law, func(s *scenarios.Scenario) judge.Trial {
				kept := func(factor float64) float64 {
					return 0.99 - 0.003*math.Log(factor*s.Engine.Slowdown/room)
				}
				trial := share(kept(1))
				g := &trial.Clauses[0]
				g.Target, g.Latency = 0.99, latency
				for _, factor := range asked.LateFactors() {
					by := stats.Interval{Mean: kept(factor)}
					if latency == metrics.TTFT {
						g.Late = append(g.Late, by)
					} else {
						g.Whole = append(g.Whole, by)
					}
				}
				return trial
			})
			c := answer.Chance{Replicas: 7}
			testkit.OK(t, f.chance(t.Context(), &c))
			if want := s.Of(metric, 0.99).Law().Below(room); math.Abs(c.Probability-want) > 0.015 {
				t.Errorf("p99 of %s may be %g times as late: %+v, want %g", metric, room, c, want)
			}
		}
	}
}

// A fleet that keeps the SLO with the slowest steps is not simulated with others, and one that
// never keeps it, with the typical ones and faster ones alone.
func TestWhatFollowsIsNotSimulated(t *testing.T) {
	for kept, want := range map[float64]int{1: 1, 0: 5} {
		f, _, law := stubbed(t, steadyPlan)
		f.obey(law, func(*scenarios.Scenario) judge.Trial { return share(kept) })
		c := answer.Chance{Replicas: 10}
		testkit.OK(t, f.chance(t.Context(), &c))
		paces := map[float64]bool{}
		for i := range law.asked {
			paces[law.asked[i].Engine.Slowdown] = true
		}
		if len(paces) > want || c.Probability != kept || c.High != kept || c.Low != kept {
			t.Errorf("%d paces are simulated, %+v; want %d and %g", len(paces), c, want, kept)
		}
	}
}

// onTTFT allows a factor on TTFT of all but high percentiles, and any on other latencies.
func onTTFT(most float64) asked.Late { return asked.Late{First: most, FirstTail: inf, Tail: inf} }

var inf = math.Inf(1)

// Between runs shares are interpolated: if the factor falls at once from any to none between two
// paces, half of the cases between both are kept; and a run that is better with slower steps by
// chance counts as the one before.
func TestChancesAreInterpolated(t *testing.T) {
	first := evidence.Law{Spread: 0.3}
	for _, c := range []struct {
		most []float64 // with steps that are −1, 0 and 1 deviations off
		want float64
	}{
		{[]float64{inf, inf, inf}, 1},
		{[]float64{0, 0, 0}, 0},
		{[]float64{inf, 0, 0}, phi(-1) + (phi(0)-phi(-1))/2},
		{[]float64{inf, inf, 0}, phi(0) + (phi(1)-phi(0))/2},
		{[]float64{inf, 0, inf}, phi(-1) + (phi(0)-phi(-1))/2},
		{[]float64{0, inf, inf}, 0},
		{[]float64{1, 1, 1}, 0.5},
		{[]float64{math.Exp(0.3), 1, 0}, phi(-1)*phi(1) + (phi(0)-phi(-1))*(phi(1)+0.5)/2 +
			(phi(1)-phi(0))*0.25},
	} {
		var runs []lateRun
		for k, most := range c.most {
			runs = append(runs, lateRun{deviations: float64(k - 1),
				most: []asked.Late{onTTFT(most)}})
		}
		var got answer.Chance
		setChance(&got, runs, func(allowed asked.Late, _ float64) float64 {
			return first.Below(allowed.First)
		})
		if math.Abs(got.Probability-c.want) > 0.00501 {
			t.Errorf("%v: %g, want %g", c.most, got.Probability, c.want)
		}
	}
}

// The half width of a jackknife is the one of the mean of n draws, times n−1 as each of its values
// leaves one of them out: of values that are each v·(n−1)⁻¹ off, that of draws that are v off. It
// stays within 0 and 1.
func TestJackknife(t *testing.T) {
	for _, c := range []struct {
		list []float64
		half float64
	}{
		{[]float64{0.5}, 0}, {[]float64{0.5, 0.7}, 0},
		{[]float64{0.5, 0.49, 0.51}, 12.706 * 0.01},
		{[]float64{0.5, 0.48, 0.5, 0.52}, 4.3027 * 0.02 / math.Sqrt(3) * 2},
	} {
		var got answer.Chance
		jackknife(&got, c.list)
		if got.Probability != 0.5 || math.Abs(got.Low-0.5+c.half) > 0.0051 ||
			math.Abs(got.High-0.5-c.half) > 0.0051 {
			t.Errorf("%v: %+v, want a half width of %g", c.list, got, c.half)
		}
	}
	var low, high answer.Chance
	jackknife(&low, []float64{0.02, 0, 0.04})
	jackknife(&high, []float64{0.98, 1, 0.96})
	if low.Low != 0 || high.High != 1 || low.High != 0.27 || high.Low != 0.73 {
		t.Errorf("%+v and %+v", low, high)
	}
}

// What runs keep together is what their pooled clauses keep, and nothing where one of them grows.
// Each run but one is left out once.
func TestRunsOfDifferentSeeds(t *testing.T) {
	f, _, law := stubbed(t, steadyPlan)
	seed := f.Trials.File.Plan.Seed
	f.obey(law, func(s *scenarios.Scenario) judge.Trial {
		return byTTFT(math.Exp(float64(s.Seed - seed)))(s)
	})
	r, err := f.lateRun(t.Context(), 10, 0)
	testkit.OK(t, err)
	pace := f.Option.Physics.Steps.At(0)
	for k, want := range []float64{1.5, 2, 5. / 3, 4. / 3, 1} { // the mean of what is left
		if got := math.Log(r.most[k].First * pace); math.Abs(got-want) > 1e-6 || len(r.most) != 5 {
			t.Errorf("%d: %g, want %g", k, got, want)
		}
	}
	f.obey(law, func(s *scenarios.Scenario) judge.Trial {
		one := byTTFT(2)(s)
		one.Growing = s.Seed == seed+1
		one.Kept.Mean = 1
		return one
	})
	r, err = f.lateRun(t.Context(), 10, 0)
	testkit.OK(t, err)
	for k, most := range r.most {
		if (most.Least() > 0) != (k == 2) {
			t.Errorf("without seed %d: %+v", k-1, most)
		}
	}
	if f.Seeds = 1; true {
		r, err = f.lateRun(t.Context(), 10, 0)
	}
	if testkit.OK(t, err); len(r.most) != 1 {
		t.Errorf("one seed: %v", r.most)
	}
}

// Chances are of the number of replicas, one fewer and one more, at least one and of a spot fleet
// more than its base, rounded down to hundredths, and no higher than evidence bears out.
func TestChancesOfNeighbours(t *testing.T) {
	f, options, law := stubbed(t, steadyPlan)
	f.Rate = 10
	for n, want := range map[int][]int{1: {1, 2}, 2: {1, 2, 3}, 9: {8, 9, 10}} {
		f.Replicas = n
		list, err := f.chances(t.Context())
		testkit.OK(t, err)
		var got []int
		for _, c := range list {
			got = append(got, c.Replicas)
			if 100*c.Probability != math.Round(100*c.Probability) || c.Kept != 1 {
				t.Errorf("%d replicas: %+v", n, c)
			}
		}
		if !slices.Equal(got, want) || list[len(list)-1].Probability != 1 {
			t.Errorf("%d replicas have chances %+v, want of %v", n, list, want)
		}
	}
	f.Option.Grade, f.Replicas = evidence.Measured, 9
	most, _ := evidence.Measured.Supported(1, false)
	list, err := f.chances(t.Context())
	if testkit.OK(t, err); list[1].Probability != math.Floor(100*most)/100 || most > 1 {
		t.Errorf("%+v, where evidence bears out %g", list, most)
	}
	f.Option.Grade = evidence.Here
	f.obey(law, func(*scenarios.Scenario) judge.Trial { return share(1) })
	for _, o := range options {
		if o.Based() == 3 {
			f.Option, f.Replicas = o, 4
			list, err := f.chances(t.Context())
			if testkit.OK(t, err); len(list) != 2 || list[0].Replicas != 4 {
				t.Errorf("beside a base of three: %+v", list)
			}
		}
	}
}

// Where spot replicas are hardly ever away, a fleet of them keeps the SLO in the share of cases in
// which steps are no slower than all replicas allow.
func TestChancesOfSpotFleets(t *testing.T) {
	f, options, _ := stubbed(t, steadyPlan)
	f.Rate, f.Seeds = 100, 2
	for _, o := range options {
		if !o.IsSpot() || o.Based() > 0 {
			continue
		}
		f.Option, o.Prefill.Offer.Interruptions = o, 1e-6/3600.0
		for n, want := range map[int]float64{7: 0, 10: phi(-0.2), 11: phi((math.Log(1.1) - 0.02) /
			0.1), 15: 1} {
			c := answer.Chance{Replicas: n}
			testkit.OK(t, f.chanceTogether(t.Context(), &c))
			if math.Abs(c.Probability-want) > answer.Certain+0.02 || c.Low != c.High ||
				(want == 0 || want == 1) && c.Probability != want {
				t.Errorf("%d replicas: %+v, want %g", n, c, want)
			}
		}
		return
	}
	t.Fatal("no spot option")
}
