package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

func near(t *rapid.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// seen draws requests of a run, one a second, and what a simulator that is always right would
// record of the ones that did not fail. Requests without output have no times.
func seen(t *rapid.T) (*observed.Run, *requestRecorder) {
	r, o := &observed.Run{Name: "run"}, &requestRecorder{}
	for i := range rapid.IntRange(1, 120).Draw(t, "requests") {
		q := observed.Request{Arrival: float64(i), Prompt: 100, Output: rapid.IntRange(0, 9).Draw(t,
			"output"),
			TTFT:   float64(rapid.IntRange(1, 40).Draw(t, "ttft")) / 10,
			Failed: rapid.IntRange(0, 9).Draw(t, "failed") == 0}
		q.E2E = q.TTFT + float64(rapid.IntRange(1, 40).Draw(t, "rest"))/10
		if q.Output == 0 {
			q.TTFT, q.E2E = 0, 0
		}
		r.Requests = append(r.Requests, q)
		if !q.Failed {
			o.requests = append(o.requests, served{q.Arrival, q.TTFT, q.TPOT(), q.E2E, q.Output,
				true})
			o.last = max(o.last, q.Arrival+q.E2E)
		}
	}
	return r, o
}

// A simulator that is always right predicts each datum of requests as it was measured. What is held
// out is the last part of the time, and the groups of a part make it up.
func TestTheRightSimulatorHasNoErrorsOfRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, o := seen(t)
		hold := rapid.SampledFrom([]float64{0.2, 0.3}).Draw(t, "hold")
		var answered []*served
		for i := range o.requests {
			if o.requests[i].output > 0 {
				answered = append(answered, &o.requests[i])
			}
		}
		if len(answered) == 0 {
			t.Skip("nothing was answered")
		}
		split := answered[len(answered)-1].at * (1 - hold)
		var parts [2]int
		for i := range answered {
			if answered[i].at > split {
				parts[1]++
				answered[i].ttft += 10
			} else {
				parts[0]++
			}
		}
		n := 0
		for i := range r.Requests {
			if q := &r.Requests[i]; !q.Failed && q.Output > 0 {
				q.E2E += answered[n].ttft - q.TTFT
				q.TTFT, answered[n].e2e = answered[n].ttft, q.E2E
				answered[n].tpot = q.TPOT()
				n++
			}
		}
		r.Load.Concurrency = rapid.IntRange(0, 1).Draw(t, "limit")
		o.last = 0
		for i := range o.requests { // those without output end as they arrive
			o.last = max(o.last, o.requests[i].at+o.requests[i].e2e)
		}
		list := data([]observed.Run{*r}, hold)
		var sums, wholes [2]float64
		var groups, rates int
		for _, d := range list {
			near(t, d.quantity, d.predicted(o), d.measured)
			if d.quantity == Rate {
				rates++
			}
			if d.quantity != TTFT {
				continue
			}
			k := 0
			if d.held {
				k = 1
			}
			if d.held != (d.measured > 10) {
				t.Errorf("held out: %v, and a mean of %g s", d.held, d.measured)
			}
			if d.whole {
				wholes[k] = d.measured
				continue
			}
			group := groups % 3
			sums[k] += d.measured * float64((group+1)*parts[k]/3-group*parts[k]/3)
			groups++
		}
		for k, n := range parts {
			if (wholes[k] > 0) != (n >= 8) {
				t.Errorf("a part of %d requests has a mean of %g", n, wholes[k])
			}
			if n >= 24 && min(parts[0], parts[1]) >= 24 {
				near(t, "groups", sums[k], wholes[k]*float64(n))
			}
		}
		if rates != r.Load.Concurrency {
			t.Errorf("%d rates with %d in flight", rates, r.Load.Concurrency)
		}
	})
}

// It predicts the sums of intervals, and the figures of a whole run, as they were measured too.
func TestTheRightSimulatorHasNoErrorsOfSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, o := seen(t)
		o.requests = slices.DeleteFunc(o.requests, func(s served) bool { return s.output == 0 })
		var requests observed.Run
		end := float64(len(r.Requests))
		intervals := observed.Run{Name: "intervals"}
		for at := 0.0; at < end; at += 10 {
			v := observed.Interval{At: at, Seconds: 10}
			for _, s := range o.requests {
				if s.at >= at && s.at < at+10 {
					v.Requests++
					v.TTFT, v.E2E = v.TTFT+s.ttft, v.E2E+s.e2e
					v.OutputTokens += float64(s.output - 1)
					v.TPOT += s.e2e - s.ttft
				}
			}
			if v.Requests > 0 {
				v.TTFT, v.E2E = v.TTFT/v.Requests, v.E2E/v.Requests
			}
			if v.OutputTokens > 0 {
				v.TPOT /= v.OutputTokens
			} else {
				v.TPOT = 0
			}
			intervals.Intervals = append(intervals.Intervals, v)
		}
		for _, d := range data([]observed.Run{intervals}, 0.2) {
			if d.quantity != TPOT { // of answers of one token the rest is of no token
				near(t, "intervals, "+d.quantity, d.predicted(o), d.measured)
			}
		}
		pairs, busy := intervalPairs(&intervals, o), 0
		for _, v := range intervals.Intervals {
			if v.Requests > 0 {
				busy++
			}
		}
		if len(pairs) != busy {
			t.Errorf("%d pairs of %d intervals with requests", len(pairs), busy)
		}
		for _, p := range pairs {
			for _, both := range [][2]float64{p.TTFT, p.E2E} {
				near(t, "pair", both[0], both[1])
			}
			near(t, "answers", p.Output*p.Weight, intervals.Intervals[int(p.At/10)].OutputTokens)
		}
		requests.Load.Rate = rapid.SampledFrom([]float64{0, 2}).Draw(t, "rate")
		f := &requests.Summary
		ttft := func(s *served) float64 { return s.ttft }
		if median := rapid.Bool().Draw(t, "median"); median {
			f.TTFT50 = quantile(o, ttft, 0.5)
		} else {
			f.TTFT = mean(o, ttft)
		}
		f.E2E = mean(o, func(s *served) float64 { return s.e2e })
		if len(o.requests) > 0 {
			f.OutputRate = outputRate(o)
		}
		whole := data([]observed.Run{requests, requests, requests, requests, requests}, 0.2)
		held := 0
		for _, d := range whole {
			near(t, "summary, "+d.quantity, d.predicted(o), d.measured)
			if d.held != (d.run == 4) || !d.whole || d.deviation < model {
				t.Errorf("%+v of five runs", d)
			}
			if d.quantity == Rate {
				held++
			}
		}
		if want := 5; len(o.requests) > 0 && (held == want) != (requests.Load.Rate == 0) {
			t.Errorf("%d rates of tokens, at %g requests a second", held, requests.Load.Rate)
		}
		below := 0
		for _, s := range o.requests {
			if s.ttft < quantile(o, ttft, 0.5) {
				below++
			}
		}
		if n := len(o.requests); 2*below > n {
			t.Errorf("%d of %d are below the median", below, n)
		}
	})
}

// A request met the ones that were sent before it and had not ended.
func TestInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := seen(t)
		for i, got := range inFlight(r.Requests) {
			want := 0
			for _, q := range r.Requests[:i] {
				if q.Arrival+q.E2E > r.Requests[i].Arrival {
					want++
				}
			}
			if got != want {
				t.Errorf("request %d met %d, want %d", i, got, want)
			}
		}
	})
}

// A replay sends every request once, in order of arrival, when it is due and a slot is free, and
// never has more under way than its limit.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []sim.Request
		for i := range rapid.IntRange(1, 20).Draw(t, "requests") {
			list = append(list, sim.Request{Prompt: i + 1,
				Arrival: sim.Time(rapid.Int64Range(0, 9).Draw(t, "at"))})
		}
		limit := rapid.IntRange(0, 3).Draw(t, "limit")
		s := newReplay(list, limit)
		var under []sim.Request
		free, now, last := make([]sim.Time, limit), sim.Time(0), sim.Time(-1)
		sent := map[int]bool{}
		for len(sent) < len(list) || len(under) > 0 {
			next := s.NextArrival()
			if blocked := len(sent) == len(list) || limit > 0 && len(under) == limit; blocked !=
				(next == sim.Never) {
				t.Fatalf("%d under way, %d of %d sent: next %v", len(under), len(sent), len(list),
					next)
			}
			if next == sim.Never || len(under) > 0 && rapid.Bool().Draw(t, "ends") {
				now += sim.Time(rapid.Int64Range(0, 3).Draw(t, "takes"))
				ends := now + sim.Time(rapid.Int64Range(0, 3).Draw(t, "way back"))
				free = append(free, ends)
				s.Done(&under[0], ends)
				under = under[1:]
				continue
			}
			var r sim.Request
			s.Next(&r)
			due, slot := list[r.Prompt-1].Arrival, sim.Time(0)
			if limit > 0 {
				slices.Sort(free)
				slot, free = free[0], free[1:]
			}
			if sent[r.Prompt] || due < last || r.Arrival != max(due, slot) || r.Arrival != next {
				t.Fatalf("%+v is sent at %v, due %v, free %v", r, next, due, slot)
			}
			sent[r.Prompt], last = true, due
			under = append(under, r)
		}
	})
}

// Requests of a run of which only sums are known are as many as the sums say, within the time, of
// its mean lengths; each of some distinct prompts comes in its turn, after all were sent once where
// the cache is warm.
func TestDrawnRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := observed.Load{Rate: rapid.SampledFrom([]float64{0, 0.5, 4}).Draw(t, "rate"),
			Concurrency: rapid.IntRange(0, 2).Draw(t, "limit"), Prompt: 99.6, Output: 7.4,
			Requests: rapid.SampledFrom([]int{0, 30}).Draw(t, "requests"),
			Seconds:  rapid.SampledFrom([]float64{0, 50}).Draw(t, "seconds"),
			Distinct: rapid.IntRange(0, 4).Draw(t, "distinct"), Groups: rapid.IntRange(0, 2).Draw(t,
				"groups"),
			System: rapid.SampledFrom([]int{0, 10, 200}).Draw(t, "system"),
			Warm:   rapid.Bool().Draw(t, "warm")}
		r := &observed.Run{Load: l}
		list, before := requestsOf(r)
		count, seconds := l.Requests, l.Seconds
		if count == 0 {
			count = int(math.Round(l.Rate * l.Seconds))
		}
		switch {
		case l.Rate == 0:
			seconds = 0
		case seconds == 0 || l.Concurrency > 0:
			seconds = float64(count) / l.Rate
		}
		warm := 0
		if l.Warm && l.Rate > 0 {
			warm = l.Distinct
		}
		start := 0.0
		if warm > 0 {
			start = float64(warm) / l.Rate
		}
		if before != warm || len(list) != count+warm {
			t.Fatalf("%+v: %d requests, %d before, want %d and %d", l, len(list), before,
				count+warm, warm)
		}
		for i, q := range list {
			at := q.Arrival.Seconds()
			if q.Prompt != 100 || q.Output != 7 || i >= warm && (at < start ||
				at > start+seconds) ||
				i < warm && at > start || i > 0 && q.Arrival < list[i-1].Arrival {
				t.Errorf("request %d is %+v, within %g s from %g on", i, q, seconds, start)
			}
			total := 0
			for _, s := range q.Content {
				total += s.Tokens
			}
			if l.Distinct == 0 && q.Content != nil || l.Distinct > 0 && total != 100 {
				t.Errorf("the content of %d distinct prompts is %+v", l.Distinct, q.Content)
			}
			for k, other := range list[:i] {
				if l.Distinct == 0 {
					continue
				}
				same := slices.Equal(q.Content, other.Content)
				first := q.Content[0] == other.Content[0]
				groups := max(1, l.Groups)
				inGroup := l.System > 0 && i%l.Distinct%groups == k%l.Distinct%groups
				if same != (i%l.Distinct == k%l.Distinct) || !same && first != inGroup {
					t.Errorf("prompts %d and %d of %+v: %+v, %+v", k, i, l, other.Content,
						q.Content)
				}
			}
		}
		// of intervals, each has its own
		r.Load = observed.Load{Prompt: 10, Output: 1}
		for range 4 {
			r.Intervals = append(r.Intervals, observed.Interval{Seconds: 5,
				Requests: float64(rapid.IntRange(0, 9).Draw(t, "requests of an interval"))})
		}
		list, _ = requestsOf(r)
		for i, v := range r.Intervals {
			n := 0
			for _, q := range list {
				if at := q.Arrival.Seconds(); at >= 5*float64(i) && at < 5*float64(i+1) {
					n++
				}
			}
			near(t, "requests of an interval", float64(n), v.Requests)
		}
	})
}

// The tokens of a step are shared by its prompts as equally as may be.
func TestTokensOfAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := observed.Step{Prefills: rapid.IntRange(0, 5).Draw(t, "prompts"),
			PrefillTokens: rapid.IntRange(0, 50).Draw(t, "tokens"), PrefillKV: 20,
			Decodes: rapid.IntRange(0, 9).Draw(t, "decodes"), DecodeKV: 70}
		got := simulated(&s)
		sum, least, most := 0, s.PrefillTokens, 0
		for _, c := range got.Prefill {
			sum, least, most = sum+c.New, min(least, c.New), max(most, c.New)
			if c.Cached != 20/len(got.Prefill) || !c.Last {
				t.Errorf("%+v", c)
			}
		}
		if sum != s.PrefillTokens || most > least+1 || got.Decodes != s.Decodes ||
			got.DecodeTokens != s.Decodes || got.Context != 70 ||
			sum > 0 && len(got.Prefill) != max(1, min(s.Prefills, sum)) || sum == 0 &&
			got.Prefill != nil {
			t.Errorf("%+v is simulated as %+v", s, got)
		}
	})
}

// Two figures that are measured to within the model's error add their information: of factors that
// are known apart, the one that the figures follow has the variance 1/(1/v + 2·s²/model²), and the
// others keep theirs.
func TestInformationAdds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0.001, 0.1).Draw(t, "variance")
		s := rapid.Float64Range(0, 2).Draw(t, "slope")
		prior := mat.NewSymDense(2, []float64{v, 0, 0, 0.04})
		got, err := posterior(prior, [2][]float64{{s, 0}, {-s, 0}})
		testkit.OK(t, err)
		near(t, "learnt", got.At(0, 0), 1/(1/v+2*s*s/(0.015*0.015)))
		near(t, "not learnt", got.At(1, 1), 0.04)
		if _, err := posterior(mat.NewSymDense(1, []float64{-1}), [2][]float64{{1},
			{1}}); err == nil {
			t.Error("a negative variance is no error")
		}
	})
}

// A name that is too long keeps its end.
func TestEnding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zé/]{0,12}`).Draw(t, "name")
		n := rapid.IntRange(1, 12).Draw(t, "letters")
		got := ending(name, n)
		long := utf8.RuneCountInString(name) > n
		rest, cut := strings.CutPrefix(got, "…")
		if cut != long || !strings.HasSuffix(name, rest) || long &&
			utf8.RuneCountInString(got) != n ||
			!long && got != name {
			t.Errorf("%q in %d letters is %q", name, n, got)
		}
	})
}

// The text has a line for each factor that is fitted and for each error, under what it is of.
func TestTextOfAFit(t *testing.T) {
	for _, held := range []bool{false, true} {
		r := &Result{problem: &problem{free: []bool{true, false}},
			Factors: []FittedFactor{{Name: "one",
				Value: 1.25, Deviation: 0.125, Learnt: held}, {Name: "two"}},
			Errors: []Error{{Run: "a", Quantity: TTFT, Before: 0.5, After: -0.25, Held: held}}}
		if held {
			r.Next = []Next{{Load: "a load", Figure: TTFT, Now: 0.25, Then: 0.125}}
		}
		var b strings.Builder
		testkit.OK(t, r.WriteText(&b))
		fitted, out, _ := strings.Cut(b.String(), "\nerrors held out\n")
		line := fmt.Sprintf("  %-44s %-12s before   +50.0 %%   after   -25.0 %%\n", "a", TTFT)
		for words, is := range map[string]bool{"one         1.250     ±12.5 %": true, "two": false,
			"no more than was believed": !held, "measure next: a load": held,
			"known to ±25.0 %, and would be to ±12.5 %": held} {
			if strings.Contains(b.String(), words) != is {
				t.Errorf("%q is said: %v\n%s", words, !is, b.String())
			}
		}
		if strings.Contains(fitted, line) == held || strings.Contains(out, line) != held ||
			strings.Contains(fitted, "too little data") != held ||
			strings.Contains(out, "too little data") == held {
			t.Errorf("held out: %v\n%s", held, b.String())
		}
	}
}

// It predicts the time of each group of steps as it was measured, once steps are left out that took
// twice their time or half of it; and what is held out is the last part of them.
func TestTheRightClockHasNoErrors(t *testing.T) {
	file, err := scenarios.Describe("llama-3.1-8b", "h100-sxm")
	testkit.OK(t, err)
	steps, err := file.Steps(policies.Default())
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		r := &observed.Run{}
		n, hold := rapid.IntRange(150, 300).Draw(t, "steps"), 0.25
		for i := range n {
			s := observed.Step{Decodes: rapid.IntRange(1, 64).Draw(t, "decodes")}
			s.DecodeKV = 1000 * s.Decodes
			if rapid.IntRange(0, 3).Draw(t, "prompt") == 0 {
				s.Prefills, s.PrefillTokens = 1, rapid.IntRange(1, 2000).Draw(t, "tokens")
			}
			made := simulated(&s)
			if s.Seconds = steps.Clock.Duration(&made).Seconds(); i%17 == 5 {
				s.Seconds *= rapid.SampledFrom([]float64{0.4, 2.5}).Draw(t, "off")
			}
			r.Steps = append(r.Steps, s)
		}
		groups := stepData(3, r, hold, steps.Clock, 1000)
		fitted, held := 0, 0
		for i := range groups {
			g := &groups[i]
			near(t, "a group", g.predict(steps.Clock)/g.measured, 1)
			if g.run != 3 || g.quantity != Steps {
				t.Errorf("%+v", g.datum)
			}
			if g.whole {
				continue
			}
			if g.held {
				held += len(g.steps)
			} else {
				fitted += len(g.steps)
			}
		}
		if fitted > n-n/4 || held > n/4+1 || fitted < n/3 {
			t.Errorf("%d steps are fitted to and %d held out of %d", fitted, held, n)
		}
	})
}

// Predict returns the errors of runs under given factors, as Run does with the fitted ones.
func Predict(ctx context.Context, server *Server, runs []observed.Run,
	f scenarios.Factors) ([]Error, error) {
	p, err := newProblem(server, runs, 0)
	if err != nil {
		return nil, err
	}
	before, err := p.predict(ctx, scenarios.Factors{}, all)
	if err != nil {
		return nil, err
	}
	return p.errors(ctx, before, f)
}

// The load has the prompt tokens and the output tokens of all requests but the failed ones; what
// ended without a token is in it, with one.
func TestTheLoadKeepsAllTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := seen(t)
		want, got := [2]int{}, [2]int{}
		for _, q := range r.Requests {
			if !q.Failed {
				want = [2]int{want[0] + q.Prompt, want[1] + max(1, q.Output)}
			}
		}
		list, _ := requestsOf(r)
		for _, q := range list {
			got = [2]int{got[0] + q.Prompt, got[1] + q.Output}
		}
		if got != want {
			t.Errorf("the load has %d prompt and output tokens, want %d", got, want)
		}
	})
}

// What a client with a fixed number of streams recorded of one server is replayed on another as the
// same loop: the times are those of the loop on the other, whatever the first server's speed.
func TestALoopIsReplayedAsALoop(t *testing.T) {
	s := Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("test.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
			"engine: vllm\nworkload: {rate: 1/s, prompt: 100, output: 10, requests: 10}"), sets...)
	}}
	for _, streams := range []int{1, 4, 12} {
		loop := observed.Run{Load: observed.Load{Concurrency: streams}}
		for i := range 100 {
			loop.Requests = append(loop.Requests, observed.Request{Prompt: 50 + i*37%200,
				Output: 5 + i*i%40})
		}
		for _, slower := range []float64{0.7, 1, 1.6} {
			f := scenarios.Factors{Prompts: slower, Memory: slower, Step: slower}
			there, err := s.run(context.Background(), f, &loop)
			testkit.OK(t, err)
			var seen observed.Run
			for i, q := range loop.Requests {
				p := there.requests[i]
				q.Arrival, q.TTFT, q.E2E = p.at, p.ttft, p.e2e
				seen.Requests = append(seen.Requests, q)
			}
			if found := seen.Arrange(); !found || seen.Load.Concurrency != streams {
				t.Errorf("found a loop: %v, of %d streams, want %d", found, seen.Load.Concurrency,
					streams)
			}
			want, err := s.run(context.Background(), scenarios.Factors{}, &loop)
			testkit.OK(t, err)
			got, err := s.run(context.Background(), scenarios.Factors{}, &seen)
			testkit.OK(t, err)
			of := func(q *served) float64 { return q.ttft }
			if a, b := mean(got, of), mean(want, of); math.Abs(a/b-1) > 1e-6 ||
				math.Abs(got.last/want.last-1) > 1e-6 {
				t.Errorf("%d streams, recorded at %g: TTFT %g s until %g s, want %g s until %g s",
					streams, slower, a, got.last, b, want.last)
			}
		}
	}
}
