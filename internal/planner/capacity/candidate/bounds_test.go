package candidate

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// near reports whether two numbers are the same but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// plainPace is of a server whose steps of n tokens take 1 + n seconds, of up to four sequences.
func plainPace() Pace {
	return Pace{Hull: []point{{1, 2}, {11, 12}}, token: 3, context: 0.5, Batch: 4,
		room: math.Inf(1), Stride: 1, Mean: 1,
		curve: []point{{1, 1}, {2, 1.5}, {3, 2}, {4, 2.5}}}
}

// someWork is of two requests.
func someWork() asked.Work {
	return asked.Work{Requests: 2, Prompt: 20, Fresh: 12, Output: 8, Stored: 100, Own: 60}
}

// A server is busy with as many equal steps as its answers take at least, which the sequences of a
// step, the memory and the drafts bound, and with attention to all context besides.
func TestBusyServers(t *testing.T) {
	w := someWork()
	for _, c := range []struct {
		name                  string
		change                func(*Pace)
		both, prefill, decode float64
	}{
		{"four at once", func(*Pace) {}, 2*(1+14) + 50, 60, 1.5*(1+4) + 37.5},
		{"prompts from a cache", func(p *Pace) { p.Shares = true }, 2*(1+10) + 50, 36,
			1.5*(1+4) + 37.5},
		{"ten tokens of memory", func(p *Pace) { p.room = 10 }, 10*(1+2.8) + 50, 60,
			7.5*(1+1) + 37.5}, // a step has one token at least
		{"shared memory", func(p *Pace) { p.room, p.Shares = 10, true }, 6*(1+20.0/6) + 50, 36,
			4.5*(1+6/4.5) + 37.5},
		{"two tokens a step", func(p *Pace) { p.Mean = 2 }, 1*(1+28) + 25, 60, 0.75*(1+8) + 18.75},
	} {
		p := plainPace()
		c.change(&p)
		if got := p.Both(&w); !near(got, c.both) {
			t.Errorf("%s: %g s for all, want %g", c.name, got, c.both)
		}
		if got := p.Prefill(&w); !near(got, c.prefill) {
			t.Errorf("%s: %g s for prompts, want %g", c.name, got, c.prefill)
		}
		if got := p.Decode(&w); !near(got, c.decode) {
			t.Errorf("%s: %g s for answers, want %g", c.name, got, c.decode)
		}
	}
	p := plainPace()
	if got := p.Both(&asked.Work{Requests: 1, Prompt: 7}); got != 21 {
		t.Errorf("a prompt alone takes %g s", got)
	}
	p.Batch = math.Inf(1) // then a step has the most tokens that are looked at
	if got, want := p.Both(&asked.Work{Output: 4 * LargestStep}), 4.0*(1+LargestStep); got != want {
		t.Errorf("a long answer takes %g s, want %g", got, want)
	}
	if got := p.Decode(&asked.Work{}); got != 0 {
		t.Errorf("nothing takes %g s", got)
	}
}

// Steps are interpolated between those of a hull, and beyond its ends.
func TestStepsOfAHull(t *testing.T) {
	p := Pace{Hull: []point{{1, 2}, {3, 4}, {5, 10}}}
	for n, want := range map[float64]float64{0.5: 2, 1: 2, 2: 3, 3: 4, 4: 7, 5: 10, 7: 16} {
		if got := p.Step(n); !near(got, want) {
			t.Errorf("a step of %g takes %g, want %g", n, got, want)
		}
	}
	if p.Hull = p.Hull[:1]; p.Step(9) != 2 {
		t.Error("of one point there is nothing to interpolate")
	}
	if p.Hull = []point{{2, 1}, {3, 3}}; p.Step(1) != 0 {
		t.Error("a step takes a negative time")
	}
}

// A hull has the first and the last point, turns upwards, and lies below all points.
func TestHullsLieBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hull, all []point
		for i := range rapid.IntRange(1, 12).Draw(t, "points") {
			next := point{float64(i*i + i), float64(rapid.IntRange(0, 20).Draw(t, "seconds"))}
			all, hull = append(all, next), appendBelow(hull, next)
		}
		if hull[0] != all[0] || hull[len(hull)-1] != all[len(all)-1] {
			t.Fatalf("%v, of %v", hull, all)
		}
		slope := func(i int) float64 {
			return (hull[i].seconds - hull[i-1].seconds) / (hull[i].tokens - hull[i-1].tokens)
		}
		for i := 2; i < len(hull); i++ {
			if slope(i) <= slope(i-1) {
				t.Fatalf("%v bends down at %d", hull, i)
			}
		}
		at := 1
		for _, p := range all[:len(all)-1] {
			for hull[at].tokens < p.tokens {
				at++
			}
			if y := hull[at].seconds - slope(at)*(hull[at].tokens-p.tokens); y > p.seconds+1e-9 {
				t.Fatalf("%v is above %v", hull, p)
			}
		}
	})
}

// A token has its share of a step, which is smaller in larger ones, as far as steps keep the limit
// on average.
func TestSharesOfSteps(t *testing.T) {
	p := plainPace()
	for limit, want := range map[float64]float64{0.5: 1, 1: 1, 1.25: 0.875, 1.5: 0.75,
		1.75: 0.75 - 1.0/24, 2: 2.0 / 3, 2.25: (2.0/3 + 0.625) / 2, 2.5: 0.625, 9: 0.625} {
		if got := p.share(limit); !near(got, want) {
			t.Errorf("a token takes %g within %g, want %g", got, limit, want)
		}
	}
	for batch, want := range map[float64]float64{1: 1, 2: 0.75, 8: 2.5 / 8} {
		if p.Batch = batch; !near(p.share(99), want) {
			t.Errorf("of %g at once a token takes %g, want %g", batch, p.share(99), want)
		}
	}
	// Steps of up to three sequences may take as long as that of one.
	p.curve = []point{{1, 1}, {4, 2.5}}
	for batch, want := range map[float64]float64{2: 0.5, 4: 1.0 / 3, 5: 1.0 / 3} {
		if p.Batch = batch; !near(p.share(1), want) {
			t.Errorf("of %g at once a token takes %g, want %g", batch, p.share(1), want)
		}
	}
	// With drafts a step gives up to two tokens, and 1.2 on average, of which requests that keep
	// the SLO may have the most.
	p = plainPace()
	p.Stride, p.Mean = 2, 1.2
	w, kept := someWork(), asked.Work{Requests: 1, Output: 5, Stored: 30}
	if got, want := p.paced(&w, &kept, 1.25*3/4), (4*0.875+15)*0.75; !near(got, want) {
		t.Errorf("requests in time take %g s, want %g", got, want)
	}
	if p.Mean = 2; !near(p.paced(&w, &kept, 0.625), (4*0.875+15)/2) {
		t.Errorf("with the best drafts they take %g s", p.paced(&w, &kept, 0.625))
	}
	kept.Output = 1
	if got := p.paced(&w, &kept, 1); got != 30*0.5/2 {
		t.Errorf("without a second token they take %g s", got)
	}
}

// extend adds an element to a list, and returns it.
func extend[T any](list *[]T) *T {
	*list = append(*list, *new(T))
	return &(*list)[len(*list)-1]
}

// testLoad is two requests, of which a stretch has to be done in 10 s and another in 2 s.
func testLoad() *asked.Load {
	w := someWork()
	l := &asked.Load{Work: w, Low: w, Kept: asked.Work{Requests: 1, Output: 5, Stored: 30},
		Lasts: 8, Target: 0.9, Probes: make([]sim.Request, 4),
		Promises: make([]metrics.SLO, 4)}
	for _, seconds := range []float64{10, 2} {
		s := extend(&l.Stretches)
		s.Work, s.Seconds = w, seconds
	}
	for i := range l.Probes {
		l.Probes[i].Output = 11
		l.Promises[i] = metrics.SLO{TTFT: sim.Second}
	}
	return l
}

// testServer serves a load with the plain pace; probe i takes i + 1 times 400 ms.
func testServer(l *asked.Load) *Server {
	s := &Server{Load: l, Pace: plainPace(), Offer: &asked.Offer{}, Price: 5, Context: 100,
		Evidence: &evidence.Evidence{Grade: evidence.Relative}}
	for i := range l.Probes {
		s.Alone = append(s.Alone, Latency{TTFT: sim.Time(i+1) * 400 * sim.Millisecond,
			TPOT: 10 * sim.Millisecond})
	}
	s.Slowest = s.Alone[len(s.Alone)-1]
	return s
}

// The rate of an option is bounded by how long its replicas are busy, and their number by what must
// be done within a time; both with the slack of bounds.
func TestBoundsOfOptions(t *testing.T) {
	plan := &asked.Plan{}
	plan.Effort.Confidence = 0.95
	l := testLoad()
	one := testServer(l)
	o := &Option{Parts: &Parts{Prefill: one}, Prefills: 1, Scaling: &scaling{}}
	o.Bound(o.Parts.Bound(plan))
	if busy := 2*(1+14) + 50.0; o.Price != 5 || !near(o.Ceiling, 1.05*2/busy) ||
		o.Least != 39 || !near(o.Scaling.Mean, busy/(1.05*8)) ||
		!near(o.BusyCost(), 5*busy/(1.05*8)) || o.Slow != 1 || o.Late.First != 1 {
		t.Errorf("%+v, %+v", o, o.Scaling)
	}
	if o.Unscaled().BusyCost() != 0 {
		t.Error("a fixed number is busy")
	}
	// Slower steps serve less.
	spread := evidence.Spread{TPOTBias: math.Log(2), TTFTBias: math.Log(3)}
	one.Evidence = &evidence.Evidence{Grade: evidence.Relative, Spread: spread}
	o.Bound(o.Parts.Bound(plan))
	if o.Slow != 2 || o.Late.First != 1.5 || !near(o.Ceiling, 1.05*2/160) || o.Least != 77 ||
		o.Worst() != (ErrorFactors{2, o.Late}) {
		t.Errorf("with slow steps: %+v", o)
	}
	one.Evidence = &evidence.Evidence{Grade: evidence.Relative}
	// A limit on the time per token is an upper bound on how many share a step.
	l.TPOT = sim.Second
	all := o.Parts.Bound(plan)
	if want := max(80, one.Pace.paced(&l.Low, &l.Kept, 1)); !near(all[0].first, want) {
		t.Errorf("busy for %g s, want %g", all[0].first, want)
	}
	one.Pace.Batch = 1
	l.Kept.Output = 101
	all = o.Parts.Bound(plan)
	if want := one.Pace.paced(&l.Low, &l.Kept, 1); want < 100 || !near(all[0].first, want) {
		t.Errorf("busy for %g s, want %g", all[0].first, want)
	}
	o.Parts.Slow = 2 // so steps as predicted must take half the limit
	if got := o.Parts.busy(&l.Low, &l.Kept, 3*sim.Second).first; !near(got,
		one.Pace.paced(&l.Low, &l.Kept, 1.5)) {
		t.Errorf("busy for %g s with slow steps", got)
	}
	one.Pace.Batch, l.Kept.Output, l.TPOT = 4, 5, 0
	// In a stretch, drafts may be accepted as often as can be.
	one.Pace.Stride = 2
	all = o.Parts.Bound(plan)
	if all[0].first != 80 || all[1].first != 29+25 || len(all) != 3 || one.Pace.Mean != 1 {
		t.Errorf("busy for %+v", all)
	}
	// Groups are busy as the busier of both kinds is.
	one.Pace.Stride = 1
	other := testServer(l)
	other.Price = 1
	pair := &Option{Parts: &Parts{Prefill: one, Decode: other}, Prefills: 2, Decodes: 3,
		Scaling: &scaling{}}
	pair.Bound(pair.Parts.Bound(plan))
	if paid := (60*5 + 45*1.0) / (1.05 * 8 * 13); pair.Price != 13 ||
		!near(pair.Ceiling, 1.05*2/(30*pair.Slow)) ||
		pair.Least != int32(math.Ceil(30*pair.Slow/2.1)) || pair.Slow <= 1 ||
		!near(pair.Scaling.Mean, paid) {
		t.Errorf("%+v, %+v", pair, pair.Scaling)
	}
	pair.Decodes = 1
	if pair.Bound(pair.Parts.Bound(plan)); !near(pair.Ceiling, 1.05*2/(45*pair.Slow)) {
		t.Errorf("at most %g/s", pair.Ceiling)
	}
	shorter := testLoad()
	other.Load, other.Context = shorter, 99
	if pair.Load() != shorter || o.Load() != l {
		t.Error("a group has the load of the shorter context")
	}
	if other.Context = 100; pair.Load() != l {
		t.Error("of equal contexts, the load is that of the first")
	}
	o.Parts.whyUntrusted = "no"
	o.Price = -1
	if o.Bound(nil); o.Price != -1 || o.Parts.Bound(plan) != nil {
		t.Error("what does not fit is bounded")
	}
}

// The share of requests that keep the SLO alone counts those whose latencies keep all limits with
// errors and the round trip, and is not enough where chance does not explain it.
func TestLatenciesAlone(t *testing.T) {
	plan := &asked.Plan{}
	plan.Effort.Confidence = 0.95
	for _, c := range []struct {
		name          string
		change        func(*asked.Load, *Server)
		alone, excess float64
		tight         bool
	}{
		{"TTFT", func(*asked.Load, *Server) {}, 0.5, 1, false},
		{"at the limit", func(l *asked.Load, _ *Server) {
			for i := range l.Promises {
				l.Promises[i].TTFT = 1200 * sim.Millisecond
			}
		}, 0.75, 2.5 / 3, false},
		{"none", func(l *asked.Load, _ *Server) {
			for i := range l.Promises {
				l.Promises[i].TTFT = 200 * sim.Millisecond
			}
		}, 0, 5, true},
		{"round trip", func(_ *asked.Load, s *Server) {
			s.Offer.RoundTrip = scenarios.Span(300 * sim.Millisecond)
		}, 0.25, 1.3, true},
		{"TPOT", func(l *asked.Load, _ *Server) {
			for i := range l.Promises {
				l.Promises[i] = metrics.SLO{TPOT: 5 * sim.Millisecond}
			}
		}, 0, 2, true},
		{"E2E", func(l *asked.Load, _ *Server) { // 400 to 1600 ms and ten further tokens
			for i := range l.Promises {
				l.Promises[i] = metrics.SLO{E2E: sim.Second}
			}
		}, 0.5, 1.1, false},
		{"errors", func(_ *asked.Load, s *Server) {
			s.Evidence = &evidence.Evidence{Grade: evidence.Relative, Spread: evidence.Spread{
				TPOTBias: math.Log(1.5), TTFTBias: math.Log(3)}}
		}, 0, 3, true},
		{"no target", func(l *asked.Load, _ *Server) { l.Target = 0 }, 0.5, 1, false},
	} {
		l := testLoad()
		s := testServer(l)
		c.change(l, s)
		p := &Parts{Prefill: s}
		p.Bound(plan)
		if !near(p.Alone, c.alone) || !near(p.Excess, c.excess) || p.Tight != c.tight {
			t.Errorf("%s: %g keep the SLO alone, %g times the limit, tight %v", c.name, p.Alone,
				p.Excess, p.Tight)
		}
	}
	// 64 probes, of which 48 keep the limit: three standard deviations are 3 · √(0.75·0.25/64).
	edge := 0.75 + 3*math.Sqrt(0.75*0.25/64)
	for target, tight := range map[float64]bool{edge - 1e-3: false, edge + 1e-3: true} {
		l := testLoad()
		l.Probes, l.Promises = make([]sim.Request, 64), make([]metrics.SLO, 64)
		s := testServer(l)
		for i := range l.Promises {
			l.Promises[i].TTFT = sim.Second
			if i < 48 {
				s.Alone[i].TTFT = 100 * sim.Millisecond
			} else {
				s.Alone[i].TTFT = 5 * sim.Second
			}
		}
		l.Target = target
		p := &Parts{Prefill: s}
		if p.Bound(plan); p.Alone != 0.75 || p.Tight != tight {
			t.Errorf("%g keep it alone, of which %g must: tight %v", p.Alone, target, p.Tight)
		}
	}
	// Of servers with different contexts nothing is claimed.
	l := testLoad()
	p := &Parts{Prefill: testServer(l), Decode: testServer(testLoad())}
	if p.Bound(plan); p.Alone != 1 || p.Excess != 0 || p.Tight {
		t.Errorf("%+v", p)
	}
	// The first token is of prompt replicas, the pace of the others.
	p.Decode = testServer(l)
	p.Decode.Slowest = Latency{TTFT: 9 * sim.Second, TPOT: 77 * sim.Millisecond}
	if p.Bound(plan); p.Alone != 0.25 || p.Slow <= 1.25 { // groups were never measured
		t.Errorf("%g keep it alone, with steps of %g", p.Alone, p.Slow)
	}
	p.Slow, p.Late = 2, asked.LateBy(1.5)
	const want = "takes up to 4.8 s to the first token and 154 ms a token: 25% of them could"
	if got := p.Floor(); !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p.Prefill.Offer.RoundTrip = scenarios.Span(200 * sim.Millisecond)
	const far = "5 s to the first token (200 ms of that for messages there and back) and"
	if got := p.Floor(); !strings.Contains(got, far) {
		t.Errorf("%q, want %q", got, far)
	}
}

// A plan that trusts one grade takes no server with a worse one, and of a group the worse counts.
func TestTrustInGrades(t *testing.T) {
	grades := evidence.Grades()
	plan := &asked.Plan{}
	plan.Effort.Confidence = 0.95
	for i, one := range grades {
		for k, other := range grades {
			l := testLoad()
			p := &Parts{Prefill: testServer(l), Decode: testServer(l)}
			p.Prefill.Evidence = &evidence.Evidence{Grade: one}
			p.Decode.Evidence = &evidence.Evidence{Grade: other}
			if i == 0 || k == 0 {
				continue // a part of a group counts as measured apart
			}
			for n, trust := range append([]evidence.Grade{"", "any"}, grades...) {
				p.whyUntrusted, plan.Trust = "", string(trust)
				p.Bound(plan)
				apart := Rank(evidence.Distant) // at best
				if want := n < 2 || max(i, k, apart) <= n-2; (p.Unfit() == "") != want {
					t.Errorf("%s and %s, where the plan trusts %q: %q", one, other, trust,
						p.Unfit())
				}
			}
		}
		if Rank(one) != i {
			t.Errorf("%s has the rank %d", one, Rank(one))
		}
	}
	if Rank(evidence.Here) != -1 || !trusted("measured", evidence.Here) {
		t.Error("own measurements are not trusted")
	}
	// A latency that the SLO limits and nobody measured is not trusted as measured.
	l := testLoad()
	p := &Parts{Prefill: testServer(l)}
	p.Prefill.Evidence = &evidence.Evidence{Grade: evidence.Measured}
	plan.SLO.TTFT.Request = 1
	for trust, want := range map[string]bool{"": true, "any": true, "relative": true,
		"measured": false} {
		p.whyUntrusted, plan.Trust = "", trust
		if p.Bound(plan); (p.Unfit() == "") != want ||
			!want && !strings.Contains(p.Unfit(), "its TTFT was not measured") {
			t.Errorf("a plan that trusts %q: %q", trust, p.Unfit())
		}
	}
}
