package detail

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// A weighted list has the mean and the 99th percentile of the list in which each value is repeated
// as its weight says, whatever its order.
func TestWeightsAreRepeats(t *testing.T) {
	if mean, p99 := meanAndP99(nil); mean != 0 || p99 != 0 {
		t.Errorf("of nothing: %g and %g", mean, p99)
	}
	rapid.Check(t, func(t *rapid.T) {
		var list []weightedValue
		var all []float64
		for range rapid.IntRange(1, 5).Draw(t, "values") {
			v := weightedValue{float64(rapid.IntRange(0, 9).Draw(t, "value")),
				float64(rapid.IntRange(1, 120).Draw(t, "weight"))}
			list = append(list, v)
			for range int(v.weight) {
				all = append(all, v.value)
			}
		}
		sum, below := 0.0, 0
		want := math.Inf(1)
		for _, v := range all {
			sum += v
		}
		for at := range 10 { // the least value that 99 % are not above
			below = 0
			for _, v := range all {
				if v <= float64(at) {
					below++
				}
			}
			if want == math.Inf(1) && 100*below >= 99*len(all) {
				want = float64(at)
			}
		}
		mean, p99 := meanAndP99(list)
		if !near(mean, sum/float64(len(all))) || p99 != want {
			t.Fatalf("%v: mean %g, p99 %g; want %g and %g", list, mean, p99,
				sum/float64(len(all)), want)
		}
	})
}

// Cells count each request within the context once, and have no longer lengths than any of it, and
// no less than by 8 %. All answers count, also of requests that are too long.
func TestCellsCoverRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const context = 1000
		var requests []sim.Request
		var work asked.Work
		tokens, at := 0.0, sim.Time(0)
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			at += sim.Second
			r := sim.Request{Arrival: at, Prompt: rapid.IntRange(1, 1000).Draw(t, "prompt"),
				Output: rapid.IntRange(1, 50).Draw(t, "output")}
			requests = append(requests, r)
			if tokens += float64(r.Output); r.Prompt+r.Output <= context {
				work.Add(&r)
			}
		}
		s := sampled(requests, context)
		if s.tokens != tokens || s.seconds != at.Seconds() || s.work != work || s.shared {
			t.Fatalf("%+v of %v", s, requests)
		}
		weights, prompts, outputs := 0.0, 0.0, 0.0
		for _, c := range s.cells {
			weights += c.weight
			prompts += c.weight * float64(s.prompts[c.group])
			outputs += c.weight * float64(c.output)
		}
		if weights != work.Requests || prompts > work.Prompt || outputs > work.Output ||
			prompts < work.Prompt/similar || outputs < work.Output/similar {
			t.Fatalf("%+v of %+v", s, work)
		}
		again := sampled([]sim.Request{{Prompt: 999, Output: 1, Content: []sim.Segment{{}}},
			{Prompt: 1000, Output: 1}}, context)
		if !again.shared || again.work.Requests != 1 || again.tokens != 2 {
			t.Fatalf("%+v", again)
		}
	})
}

// A request takes its first token and the pace of all others; one with a single token has no pace.
func TestMeasuresOfCells(t *testing.T) {
	s := &sample{cells: []cell{{0, 1, 1}, {1, 11, 3}}}
	first, pace := []float64{100, 200}, []float64{7, 10}
	for measure, want := range map[string]float64{"mean_ttft_ms": 175, "p99_ttft_ms": 200,
		"mean_tpot_ms": 10, "p99_tpot_ms": 10, "mean_e2el_ms": (100 + 3*300) / 4,
		"p99_e2el_ms": 300} {
		if got := s.measured(measure, first, pace); !near(got, want) {
			t.Errorf("%s: %g, want %g", measure, got, want)
		}
	}
	s.cells[1].output = 2
	if got := s.measured("p99_tpot_ms", first, pace); got != 10 {
		t.Errorf("the pace of two tokens: %g", got)
	}
}

// paired returns a comparison of one option with a pace, its requests alone.
func paired(t *testing.T, text string, overrides ...string) (*Comparison, *candidate.Option,
	*stub) {
	t.Helper()
	f, options, law := stubbed(t, text, overrides...)
	o := options[0]
	steps, err := f.Trials.Steps(o.Prefill)
	testkit.OK(t, err)
	o.Prefill.Pace, o.Prefill.Run = candidate.NewPace(steps).Under(steps), 100
	f.Rate = 10
	return NewComparison(f.Judge), o, law
}

// The energy is what replicas draw when idle, and besides what their steps draw for as long as the
// work takes, which does not depend on their number; for a million tokens.
func TestEnergyAddsUp(t *testing.T) {
	_, o, _ := paired(t, steadyPlan)
	var w asked.Work
	w.Add(&sim.Request{Prompt: 300, Output: 40})
	s := &sample{seconds: 10, tokens: 40, work: w}
	o.Slow = 1.5
	busy := o.Prefill.Pace.Both(&w)
	for n := range 3 {
		joules := float64(n)*50*10 + 1.5/candidate.BoundSlack*100*busy
		if got, want := s.energy(o, n), joules/3600/40*1e6; !near(got, want) || busy <= 0 {
			t.Errorf("%d replicas: %g, want %g", n, got, want)
		}
	}
	pair, decode := *o, *o.Prefill
	decode.Run, decode.Idle = 200, 30
	pair.Parts = &candidate.Parts{Prefill: o.Prefill, Decode: &decode, Slow: 2}
	pair.Prefills, pair.Decodes = 1, 3
	joules := 2*(50+3*30)*10 + 2/candidate.BoundSlack*(100*o.Prefill.Pace.Prefill(&w)+
		200*decode.Pace.Decode(&w))
	if got, want := s.energy(&pair, 2), joules/3600/40*1e6; !near(got, want) {
		t.Errorf("two groups: %g, want %g", got, want)
	}
}

// Latencies of any fleet are no less than of requests alone, as fast as slow steps go.
func TestFloorsAreRequestsAlone(t *testing.T) {
	c, o, _ := paired(t, steadyPlan, "goal={find: front, measure: mean_e2el_ms}")
	steps, err := c.Trials.Steps(o.Prefill)
	testkit.OK(t, err)
	o.Slow, c.Spare = 1.5, 2
	r := &sim.Request{Prompt: 300, Output: 40}
	first := judge.Milliseconds(o.Prefill.PrefillAlone(steps, r))
	pace := judge.Milliseconds(o.Prefill.DecodeAlone(steps, r))
	goal := &c.Trials.File.Plan.Goal
	for measure, want := range map[string]float64{"mean_ttft_ms": first, "p99_tpot_ms": pace,
		"mean_e2el_ms": first + 39*pace} {
		goal.Measure = measure
		got, err := c.Bounded(o, 3)
		testkit.OK(t, err)
		if want *= 1.5 / candidate.BoundSlack; math.Abs(got.Latency-want) > 1e-6*want ||
			got.Replicas != 3 || got.Option != o || got.Known {
			t.Errorf("%s: %+v, want %g", measure, got, want)
		}
		s, err := c.sample(o)
		testkit.OK(t, err)
		if !near(got.Energy, s.energy(o, 5)) || s.work.Requests != 2000 ||
			math.Abs(s.seconds-200) > 30 {
			t.Errorf("%d requests in %g s, %g Wh", int(s.work.Requests), s.seconds, got.Energy)
		}
		again, err := c.sample(o)
		if testkit.OK(t, err); again != s {
			t.Error("the requests are drawn again")
		}
	}
	s := &sample{prompts: []int{300}, cells: []cell{{0, 40, 1}}, shared: true}
	goal.Measure = "mean_ttft_ms"
	for shares, want := range map[bool]float64{true: 0, false: first * 1.5 /
		candidate.BoundSlack} {
		o.Prefill.Pace.Shares = shares
		got, err := c.floor(s, o)
		if testkit.OK(t, err); math.Abs(got-want) > 1e-9 {
			t.Errorf("a cache that shares is %v: %g, want %g", shares, got, want)
		}
	}
	pair, decode := *o, *o.Prefill
	decode.Context--
	pair.Parts = &candidate.Parts{Prefill: o.Prefill, Decode: &decode}
	if s, err := c.sample(&pair); err != nil || s != nil {
		t.Errorf("groups of two contexts have requests %v, %v", s, err)
	}
	if got, err := c.Bounded(&pair, 3); err != nil || got.Latency != 0 || got.Energy != 0 {
		t.Errorf("without known requests: %+v, %v", got, err)
	}
	c.samples = map[int]*sample{}
	c.Trials.File.Plan.Workload.Arrivals.Process = "closed-loop"
	if s, err := c.sample(o); err != nil || s != nil {
		t.Errorf("a closed loop has requests %v, %v", s, err)
	}
}

// A compared fleet has its spares, at its price and with the figures of all its replicas, if the
// rest of them keep the SLO with slow steps and late first tokens. All have the same requests. A
// simulation that fails is told.
func TestComparedFleetsHaveTheSameRequests(t *testing.T) {
	c, o, law := paired(t, steadyPlan, "goal={find: front, measure: mean_ttft_ms}")
	c.Spare, o.Slow, o.Late, o.Index = 2, 2, asked.LateBy(3), 5
	law.law = func(s *scenarios.Scenario) judge.Trial {
		one := byTTFT(8 * float64(size(s)))(s)
		one.Clauses[0].Kept.Mean = min(1, one.Clauses[0].Kept.Mean)
		one.Latencies = map[string]float64{"mean_ttft_ms": float64(100 * size(s))}
		one.EnergyPerMillion = float64(size(s))
		if size(s) == 9 {
			one.Target = 2
		}
		return one
	}
	list, err := c.Simulate(t.Context(), []Rival{{Option: o, Replicas: 1},
		{Option: o, Replicas: 4}, {Option: o, Replicas: 9}})
	testkit.OK(t, err)
	for k, n := range []int{1, 4} {
		got := list[k]
		p := got.Point
		if !got.Kept || got.Failure != "" || p.Replicas != n+2 || p.Hourly != 2*float64(n+2) ||
			p.Latency != float64(100*(n+2)) || p.Energy != float64(n+2) || p.Option != 5 ||
			p.Grade != o.Grade || p.Kept != got.Reduced.Kept.Mean || p.Label == "" ||
			math.Abs(p.Kept-(0.9-0.02*math.Log(3*2/(8*float64(n))))) > 1e-6 {
			t.Errorf("%+v", got)
		}
	}
	if got := list[2]; got.Failure == "" || got.Kept {
		t.Errorf("a failed one: %+v", got)
	}
	for i := range law.asked {
		if s := &law.asked[i]; s.Workload.Requests != 2000 || s.Engine.Slowdown != 2 {
			t.Errorf("%d requests with steps %g times as long", s.Workload.Requests,
				s.Engine.Slowdown)
		}
	}
	o.Late = asked.LateBy(50) // with one replica, which is known to keep the SLO, or not
	c.Trials.Ledger = &judge.Ledger{Known: map[string]*judge.Entry{}}
	for known, want := range map[bool]int{false: 0, true: 3} {
		list, err := c.Simulate(t.Context(), []Rival{{Option: o, Replicas: 1, Known: known}})
		testkit.OK(t, err)
		if got := list[0]; got.Kept != known || got.Point.Replicas != want ||
			len(got.Reduced.Clauses) != 1 {
			t.Errorf("known %v: %+v", known, got)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	if stop(); true {
		_, err = c.Simulate(ctx, []Rival{{Option: o, Replicas: 3}})
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an error that is no failure: %v", err)
	}
}
