package judge

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Shares are from 0 to 1, other figures finite and from 0, and cached tokens are a part of the
// input; what is not so is refused by its name.
func TestImpossibleTrialsAreRefused(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name string
		set  func(t *Trial, x float64)
		most float64
	}{
		{"the mean share", func(t *Trial, x float64) { t.Kept.Mean = x }, 1},
		{"the target", func(t *Trial, x float64) { t.Target = x }, 1},
		{"the share of all", func(t *Trial, x float64) { t.All = x }, 1},
		{"the interval", func(t *Trial, x float64) { t.Kept.Half = x }, inf},
		{"the energy", func(t *Trial, x float64) { t.EnergyPerMillion = x }, inf},
		{"the flow", func(t *Trial, x float64) { t.Flow = x }, inf},
		{"the duration", func(t *Trial, x float64) { t.Seconds = x }, inf},
		{"latencies.a", func(t *Trial, x float64) { t.Latencies = map[string]float64{"a": x} },
			inf},
	} {
		for _, x := range []float64{0, 1, 1 + rounding/2, 1 + 3*rounding, 7, -1e-300, -inf, inf,
			math.NaN()} {
			var one Trial
			c.set(&one, x)
			err := one.Check()
			good := x >= 0 && !math.IsInf(x, 0) && (c.most > 1 || x <= 1+rounding)
			if (err == nil) != good || err != nil && !strings.HasPrefix(err.Error(), c.name+": ") {
				t.Errorf("%s of %g: %v", c.name, x, err)
			}
		}
	}
	for counts, want := range map[scenarios.TokenCounts]bool{{}: true,
		{Input: 2, Cached: 2, Output: 1}: true, {Input: 2, Cached: 3}: false,
		{Input: 2, Cached: -1}: false, {Output: -1}: false} {
		if err := (&Trial{Tokens: counts}).Check(); (err == nil) != want {
			t.Errorf("%+v: %v", counts, err)
		}
	}
}

// Latencies are over the requests that they exist for: whole requests that were not cut, and paces
// of answers of more than one token. A 99th percentile is a value that 99 % do not exceed.
func TestLatenciesAreOfServedRequests(t *testing.T) {
	list := []planner.Request{{TTFT: 2 * sim.Second, TPOT: sim.Second, E2E: 4 * sim.Second,
		Output: 3},
		{TTFT: 4 * sim.Second, TPOT: 9 * sim.Second, E2E: 6 * sim.Second, Output: 1},
		{TTFT: 6 * sim.Second, TPOT: 3 * sim.Second, E2E: 99 * sim.Second, Output: 2, Cut: true},
		{TTFT: 99 * sim.Second, E2E: 99 * sim.Second, Output: 5, Rejected: true}}
	got := latencies(list)
	for name, want := range map[string]float64{"mean_ttft_ms": 4000, "p99_ttft_ms": 6000,
		"mean_tpot_ms": 2000, "p99_tpot_ms": 3000, "mean_e2el_ms": 5000, "p99_e2el_ms": 6000} {
		if math.Abs(got[name]-want) > 1e-9 || len(got) != 6 {
			t.Errorf("%s: %g, want %g", name, got[name], want)
		}
	}
	for name, v := range latencies(nil) {
		if v != 0 {
			t.Errorf("%s of nothing is %g", name, v)
		}
	}
	for n, want := range map[int]int{1: 1, 99: 99, 100: 99, 101: 100, 200: 198} {
		var times []sim.Time
		for k := n; k > 0; k-- {
			times = append(times, sim.Time(k)*sim.Second)
		}
		mean, p99 := spreadOf(times)
		if math.Abs(p99-1000*float64(want)) > 1e-6 || math.Abs(mean-500*float64(n+1)) > 1e-6 {
			t.Errorf("of 1 to %d: mean %g, p99 %g", n, mean, p99)
		}
	}
}

// A series grows whose last quarter is more than a tenth above the second, wherever else it is.
func TestGrowingSeries(t *testing.T) {
	for last, want := range map[float64]bool{1.09: false, 1.11: true, 9: true, 0: false} {
		for _, n := range []int{8, 11} {
			series := make([]float64, n)
			for i := range series {
				switch q := n / 4; {
				case i < q:
					series[i] = 50
				case i < 2*q:
					series[i] = 1
				case i >= 3*q && i < 4*q:
					series[i] = last
				default:
					series[i] = 7
				}
			}
			if growing(series) != want {
				t.Errorf("%v grows: %v", series, !want)
			}
		}
	}
	if growing(nil) || growing([]float64{1, 2, 9}) {
		t.Error("too few to tell grow")
	}
}

// What ran in a result of any length is spread over the time in which requests came; each pool by
// itself, or the fleet where it is one.
func TestReplicasRunWhileRequestsCome(t *testing.T) {
	r := &scenarios.Result{}
	r.Duration = 20
	seen := &planner.Observation{Result: r, Requests: []planner.Request{{Arrival: 2 * sim.Second},
		{Arrival: 4 * sim.Second}, {Arrival: 12 * sim.Second}}}
	if got := running(seen); got != nil {
		t.Errorf("%v of fixed fleets", got)
	}
	r.Fleet = &scenarios.FleetResult{MeanReplicas: 3}
	if got := running(seen); !slices.Equal(got, []float64{6}) {
		t.Errorf("%v of 3 on average", got)
	}
	r.Pools = []scenarios.PoolResult{{MeanReplicas: 1}, {MeanReplicas: 2}}
	if got := running(seen); !slices.Equal(got, []float64{2, 4}) {
		t.Errorf("%v of pools", got)
	}
	seen.Requests = seen.Requests[:1]
	if got := running(seen); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("%v with one request", got)
	}
	if seen.Requests = nil; !slices.Equal(running(seen), []float64{1, 2}) {
		t.Errorf("%v without requests", running(seen))
	}
}

// lengths are the numbers of requests of the simulations so far, in order.
func (s *stub) lengths() (list []int64) {
	for i := range s.asked {
		list = append(list, s.asked[i].Workload.Requests)
	}
	return list
}

// The simulation of a replica doubles until it is clear whether the rate is sustained, up to the
// longest; and where it is, until a replica that begins empty has been full for long.
func TestReplicasAreSimulatedUntilItIsClear(t *testing.T) {
	filled := func(e2e float64) Trial {
		one := run(1, 0)
		one.Latencies = map[string]float64{"mean_e2el_ms": e2e}
		return one
	}
	growing, short := run(1, 0), run(1, 0)
	growing.Growing, short.Short = true, true
	for name, c := range map[string]struct {
		one       Trial
		rough     bool
		want      []int64
		sustained bool
	}{
		"clear":        {run(0.95, 0.01), false, []int64{200}, true},
		"missed":       {run(0.85, 0.01), false, []int64{200}, false},
		"close":        {run(0.92, 0.05), false, []int64{200, 400, 800, 1600}, true},
		"close, rough": {run(0.89, 0.05), true, []int64{200, 400, 800}, false},
		"no interval":  {run(0.9, 0), false, []int64{200}, true},
		"growing":      {growing, false, []int64{200, 400, 800, 1600}, false},
		"short":        {short, false, []int64{200, 400, 800, 1600}, false},
		"fills at 250": {filled(5000), false, []int64{200, 400}, true},
		"fills at 5000": {filled(100_000), false, []int64{200, 400, 800, 1600, 3200, 5000},
			true},
	} {
		j, options, law := stubbed(t, steadyPlan, "effort.most-requests=1600")
		law.obey(t, func(*scenarios.Scenario) Trial { return c.one })
		j.Trials.Rough = c.rough
		v, err := j.Trials.Sustains(t.Context(), options[0], 5.0000001)
		testkit.OK(t, err)
		if !slices.Equal(law.lengths(), c.want) || v.Sustained != c.sustained || v.Rate != 5 {
			t.Errorf("%s: %v of %v requests, want %v", name, v.Sustained, law.lengths(), c.want)
		}
	}
}

// The simulation of a fleet doubles at most four times while the SLO is kept and latencies seem to
// grow, and is as long as it takes to fill it; one that misses the SLO does not grow.
func TestFleetsAreSimulatedUntilTheyAreFull(t *testing.T) {
	for name, c := range map[string]struct {
		kept, e2e float64
		growing   bool
		want      []int64
		grows     bool
	}{
		"kept":            {1, 0, false, []int64{600}, false},
		"grows":           {1, 0, true, []int64{600, 1200, 2400, 4800, 9600}, true},
		"missed":          {0.5, 0, true, []int64{600}, false},
		"just kept":       {0.9, 0, true, []int64{600, 1200, 2400, 4800, 9600}, true},
		"fills at 1000":   {1, 5000, false, []int64{600, 1000}, false},
		"nearly full":     {1, 3300, false, []int64{600}, false},
		"missed, to fill": {0.5, 5000, false, []int64{600}, false},
		"grows, to fill":  {1, 5000, true, []int64{600, 2000, 4000, 8000, 16000}, true},
	} {
		j, options, law := stubbed(t, steadyPlan)
		law.obey(t, func(*scenarios.Scenario) Trial {
			one := run(c.kept, 0)
			one.Growing = c.growing
			one.Latencies = map[string]float64{"mean_e2el_ms": c.e2e}
			return one
		})
		s := options[0].Scenario(&j.Trials.File.Plan.Menu, 3, 1)
		got, requests, err := j.Trials.Fleet(t.Context(), s, 3, 20, asked.LateBy(1), 0)
		testkit.OK(t, err)
		if !slices.Equal(law.lengths(), c.want) || got.Growing != c.grows ||
			requests != c.want[len(c.want)-1] {
			t.Errorf("%s: %v requests, the last %d, growing %v; want %v", name, law.lengths(),
				requests, got.Growing, c.want)
		}
	}
}

// A run fills what is served with ten times what it holds, up to 300,000 requests.
func TestRunsFillWhatIsServed(t *testing.T) {
	for e2e, want := range map[float64]int64{0: 0, 1000: 200, 2500: 500, 1e9: 300_000} {
		one := Trial{Latencies: map[string]float64{"mean_e2el_ms": e2e}}
		if got := one.fills(20); got != want {
			t.Errorf("%g ms: %d, want %d", e2e, got, want)
		}
	}
	for mean, want := range map[float64][2]bool{0.9: {true, false}, 0.8999: {false, false},
		0.8: {false, false}, 0.79: {false, true}, 1: {true, false}} {
		one := run(mean, 0)
		if one.Keeps() != want[0] || one.Hopeless() != want[1] {
			t.Errorf("%g: keeps %v, hopeless %v", mean, one.Keeps(), one.Hopeless())
		}
	}
	one := run(0.95, 0)
	if one.Short = true; one.Keeps() {
		t.Error("a short run keeps the SLO")
	}
}

// A simulation counts once, where the answer rests on it, however often it was asked for; one that
// was run ahead counts when it is needed. Failures are counted, and told.
func TestSimulationsAreCountedOnce(t *testing.T) {
	j, options, law := stubbed(t, steadyPlan)
	ahead := *j.Trials
	ahead.Ahead = true
	s := options[0].Scenario(&j.Trials.File.Plan.Menu, 2, 1)
	for k, step := range []struct {
		trials       *Trials
		rate         float64
		count, asked int
	}{{&ahead, 5, 0, 1}, {j.Trials, 5, 1, 1}, {j.Trials, 5, 1, 1}, {j.Trials, 6, 2, 2},
		{&ahead, 6, 2, 2}} {
		_, err := step.trials.Trial(t.Context(), s, step.rate, 100)
		testkit.OK(t, err)
		if j.Trials.Count() != step.count || len(law.asked) != step.asked ||
			j.Trials.Failed() != 0 {
			t.Errorf("step %d: %d counted, %d run", k, j.Trials.Count(), len(law.asked))
		}
	}
	ran := 0
	j.Trials.Ran = func() { ran++ }
	law.err = errors.New("broken")
	_, err := j.Trials.Trial(t.Context(), s, 7, 100)
	if words, failed := Failure(err); !failed || !strings.Contains(words, "broken") ||
		j.Trials.Failed() != 1 || j.Trials.Count() != 3 || ran != 1 {
		t.Errorf("%v: %d failed of %d, %d ran", err, j.Trials.Failed(), j.Trials.Count(), ran)
	}
	if words, failed := Failure(errors.New("other")); failed || words != "" {
		t.Errorf("%q is a failure of a simulation", words)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := j.Trials.Trial(ctx, s, 5, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// A journal has each needed result once, from which it is read again without a simulation; without
// it, a part that only reads it says what is missing.
func TestJournalsKeepTrials(t *testing.T) {
	j, options, law := stubbed(t, steadyPlan)
	s := options[0].Scenario(&j.Trials.File.Plan.Menu, 2, 1)
	path := filepath.Join(t.TempDir(), "a.journal")
	kept, err := planner.OpenJournal(path)
	testkit.OK(t, err)
	j.Trials.Journal = kept
	j.Trials.Ahead = true
	_, err = j.Trials.Trial(t.Context(), s, 5, 100)
	testkit.OK(t, err)
	before := len(testkit.Read(t, path))
	j.Trials.Ahead = false
	want, err := j.Trials.Trial(t.Context(), s, 5, 100)
	testkit.OK(t, err)
	once := len(testkit.Read(t, path))
	_, err = j.Trials.Trial(t.Context(), s, 5, 100)
	testkit.OK(t, err)
	if twice := len(testkit.Read(t, path)); before >= once || twice != once {
		t.Errorf("the journal has %d bytes, %d and %d", before, once, twice)
	}
	j.Trials.Ledger = &Ledger{Known: map[string]*Entry{}}
	j.Trials.Recorded = true
	got, err := j.Trials.Trial(t.Context(), s, 5, 100)
	testkit.OK(t, err)
	if got.Kept != want.Kept || len(law.asked) != 1 || j.Trials.Count() != 1 {
		t.Errorf("%+v from the journal after %d simulations", got, len(law.asked))
	}
	var missing planner.MissingShards
	if _, err = j.Trials.Trial(t.Context(), s, 6, 100); !errors.As(err, &missing) {
		t.Errorf("what the journal lacks: %v", err)
	}
}

// A trial does not depend on prices, nor with one replica on the routing, and leaves the scenario
// that it is of as it was.
func TestWhatATrialDependsOn(t *testing.T) {
	dear := scenarios.Price{Amount: 3}
	s := scenarios.Scenario{Routing: scenarios.Policy{Policy: "random"}, Replicas: 2,
		Tokens: &scenarios.TokenPrices{}}
	s.Hardware.Price, s.Memory.Price = dear, dear
	got := relevantToTrial(s)
	none := scenarios.Price{}
	if got.Hardware.Price != none || got.Memory.Price != none || got.Tokens != nil ||
		got.Routing.Policy != "random" || got.Replicas != 2 {
		t.Errorf("%+v", got)
	}
	for _, n := range []int{0, 1} {
		if s.Replicas = n; relevantToTrial(s).Routing.Policy != "" {
			t.Errorf("%d replicas have a routing", n)
		}
	}
	s.Fleet.Pools = []scenarios.Pool{{Hardware: s.Hardware, Memory: s.Memory}}
	got = relevantToTrial(s)
	if p := got.Fleet.Pools[0]; got.Routing.Policy != "random" || p.Hardware.Price != none ||
		p.Memory.Price != none || s.Fleet.Pools[0].Hardware.Price != dear {
		t.Errorf("%+v", got.Fleet)
	}
}

// More than 64 alike replicas are 48 at the same rate each, under a routing that was compared and
// with Poisson arrivals.
func TestPartsHaveTheSameRateEach(t *testing.T) {
	j, _, _ := stubbed(t, steadyPlan)
	for n, want := range map[int]int{1: 1, 64: 64, 65: 48, 480: 48} {
		s, rate := j.Trials.Part(scenarios.Scenario{Replicas: n}, float64(3*n))
		if s.Replicas != want || math.Abs(rate-float64(3*want)) > 1e-9 {
			t.Errorf("%d replicas: %d at %g/s", n, s.Replicas, rate)
		}
	}
	big := scenarios.Scenario{Replicas: 480}
	for name, change := range map[string]func(s *scenarios.Scenario){
		"routing": func(s *scenarios.Scenario) { s.Routing.Policy = "prefix" },
		"pools":   func(s *scenarios.Scenario) { s.Fleet.Pools = make([]scenarios.Pool, 1) },
		"arrivals": func(*scenarios.Scenario) {
			j.Trials.File.Plan.Workload.Arrivals.Process = "even"
		},
	} {
		s := big
		change(&s)
		if got, rate := j.Trials.Part(s, 5); got.Replicas != 480 || rate != 5 {
			t.Errorf("%s: %d replicas", name, got.Replicas)
		}
		j.Trials.File.Plan.Workload.Arrivals.Process = "poisson"
	}
}

// The next number is one between two that was not tried, nearest to the first that was or else to
// the number that is given, and not above one above which all show the same.
func TestNumbersAreTriedFromTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.IntRange(1, 9)
		var n Numbers
		seen := map[int]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "tried") {
			k := number.Draw(t, "number")
			n.Add(k)
			seen[k] = true
		}
		from := number.Draw(t, "from")
		to := rapid.IntRange(from, 9).Draw(t, "to")
		near := number.Draw(t, "near")
		top := 9
		for range rapid.IntRange(0, 2).Draw(t, "tops") {
			k, settled := rapid.IntRange(from, 9).Draw(t, "top"), rapid.Bool().Draw(t, "settled")
			if n.SameAbove(k, settled); settled {
				top = min(top, k)
			}
		}
		if len(seen) > 0 {
			near = n.First
		}
		got, best := n.Next(from, to, near), math.MaxInt
		near = min(max(near, from), min(to, top))
		for k := from; k <= min(to, top); k++ {
			if d := max(k-near, near-k); !seen[k] && d < best {
				best = d
			}
		}
		if best == math.MaxInt && got != 0 || best < math.MaxInt && (got < from ||
			got > min(to, top) || seen[got] || max(got-near, near-got) != best) {
			t.Fatalf("tried %v, from %d to %d (%d), near %d: %d", seen, from, to, top, near, got)
		}
	})
}

// Candidates come in order, as many at once as may be, without the ones that cannot win.
func TestOrderedCandidates(t *testing.T) {
	o := Ordered[int]{Open: []int{1, 2, 3, 4, 5, 6, 7}, AtOnce: 2,
		MayWin: func(n int) bool { return n%3 != 0 }}
	for k, want := range [][]int{{1, 2}, {4, 5}, {7}, nil} {
		if got := o.Next(); !slices.Equal(got, want) {
			t.Errorf("turn %d: %v, want %v", k, got, want)
		}
	}
}

// A binomial's probabilities add up to 1 and have its mean and variance, also where nothing
// happens.
func TestBinomialsAddUp(t *testing.T) {
	for _, n := range []int{0, 1, 7, 40} {
		for _, p := range []float64{0, 0.01, 0.3, 0.9} {
			sum, mean, square := 0.0, 0.0, 0.0
			for k := 0; k <= n; k++ {
				b := Binomial(n, k, p)
				sum += b
				mean += float64(k) * b
				square += float64(k*k) * b
			}
			if math.Abs(sum-1) > 1e-9 || math.Abs(mean-float64(n)*p) > 1e-9 ||
				math.Abs(square-mean*mean-float64(n)*p*(1-p)) > 1e-8 {
				t.Errorf("%d of %g: %g, mean %g", n, p, sum, mean)
			}
		}
	}
}

// Where a run keeps the SLO, and does not with latencies as late as they may be, the reason is the
// latency that makes it so.
func TestTheReasonIsWhatIsLate(t *testing.T) {
	text := []byte("model: llama-3.1-8b\nhardware: l40s\nslo: {ttft: 150ms, tpot: 60ms, " +
		"percentile: 99}\nworkload: {rate: 1/s, prompt: 300, output: 40, requests: 400}\n")
	f, err := scenarios.Parse("a.yaml", text)
	testkit.OK(t, err)
	got, err := Simulate(t.Context(), f, "0.95")
	testkit.OK(t, err)
	one := got.(Trial)
	if one.Kept.Mean != 1 {
		t.Fatalf("%+v", one)
	}
	for words, late := range map[string]asked.Late{
		"TTFT, as late as it may be: " + one.Causes.First: {First: 1, FirstTail: 8, Tail: 1},
		"TPOT, as late as it may be: " + one.Causes.Other: {First: 1, FirstTail: 1, Tail: 3},
	} {
		under := one.Under(late)
		if share := units.PercentOf(under.Kept.Mean, 0.99); under.Kept.Mean > 0.99 ||
			under.Limit != share+" of the requests keep the limit of "+words {
			t.Errorf("%+v: %g keep it: %s", late, under.Kept.Mean, under.Limit)
		}
	}
	for limits, words := range map[string][2]string{"{e2e: 5s}": {"E2E", "E2E"},
		"{ttft: 150ms, e2e: 5s}":             {"E2E or TTFT", "E2E"},
		"{ttft: 150ms, tpot: 60ms, e2e: 5s}": {"E2E or TTFT", "E2E or TPOT"},
		"{ttft: {p99: 150ms}}":               {"p99 TTFT", "p99 TTFT"}} {
		f, err := scenarios.Parse("a.yaml", text, "slo="+limits)
		testkit.OK(t, err)
		got, err := Simulate(t.Context(), f, "0.95")
		testkit.OK(t, err)
		trial := got.(Trial)
		for k, first := range []bool{true, false} {
			if said := trial.Clauses[0].LimitWords(first); said != words[k] {
				t.Errorf("%s: %s may be missed, want %s", limits, said, words[k])
			}
		}
	}
	if none := one.Under(asked.Late{First: 1, FirstTail: 1.01, Tail: 1}); none.Limit != one.Limit {
		t.Errorf("nothing is late: %s", none.Limit)
	}
}

// A run of a scenario is summed up as its result says, over all requests where the load ends by
// itself, else over the steady ones.
func TestTrialsAreOfResults(t *testing.T) {
	const text = `
model: llama-3.1-8b
hardware: l40s
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
workload: {rate: 5/s, prompt: 300, output: 40, requests: 300,
  classes: [{name: a, share: 0.5}, {name: b, share: 0.5}]}
fleet: {pools: [{replicas: 3}]}
`
	f, err := scenarios.Parse("a.yaml", []byte(text))
	testkit.OK(t, err)
	got, err := Simulate(t.Context(), f, "0.95")
	testkit.OK(t, err)
	seen, err := planner.Observe(t.Context(), f)
	testkit.OK(t, err)
	one, r := got.(Trial), seen.Result
	testkit.OK(t, one.Check())
	if one.All != r.Attainment.All || one.Met != r.SLOMet || one.Binds != r.Binds ||
		one.Flow != r.OutputThroughput || one.Seconds != r.Duration ||
		one.EnergyPerMillion != r.EnergyPerMillion || one.Tokens.Output != 300*40 ||
		len(one.Classes) != 2 || one.Classes[1].Name != "b" ||
		one.Classes[1].Kept != r.Classes["b"].Attainment.All || len(one.Clauses) != 2 ||
		one.Short || one.Growing || !strings.Contains(one.Limit, "of the requests keep") {
		t.Errorf("%+v", one)
	}
	if g := asked.Binding(one.Clauses); one.Kept != g.Kept || one.Target != g.Target {
		t.Errorf("%+v binds, not %+v", one.Kept, g)
	}
	whole := Summarize(seen, 0.95, true)
	if math.Abs(whole.Kept.Mean-min(r.Classes["a"].Attainment.All,
		r.Classes["b"].Attainment.All)) > 1e-9 {
		t.Errorf("of all requests %g keep the SLO, and of classes %+v", whole.Kept.Mean,
			one.Classes)
	}
	if _, err := Simulate(t.Context(), f, "none"); err == nil {
		t.Error("no confidence is taken")
	}
}

// A spot fleet is confirmed by fresh draws with the errors that decide, which count in the mean.
func TestFreshDrawsConfirmSpotFleets(t *testing.T) {
	j, options, law := stubbed(t, steadyPlan)
	seed := j.Trials.File.Plan.Seed
	for _, o := range options {
		if !o.IsSpot() || o.Based() > 0 {
			continue
		}
		for missed, want := range map[uint64]bool{0: true, MostSeeds: false, MostSeeds + 3: false,
			MostSeeds + 4: true} {
			law.obey(t, func(s *scenarios.Scenario) Trial {
				if load := float64(s.Workload.Rate.Value) * s.Engine.Slowdown; s.Seed-seed ==
					missed || load > each*float64(replicas(s)) {
					return steady(0)
				}
				return steady(1)
			})
			kept, err := j.Confirms(t.Context(), o, 16)
			if testkit.OK(t, err); kept != want {
				t.Errorf("without the draw of seed %d: %v", missed, kept)
			}
		}
	}
}

// Each replica takes one accelerator at least, of which there are so many.
func TestAcceleratorsBoundReplicas(t *testing.T) {
	j, options, _ := stubbed(t, steadyPlan)
	o := options[0]
	for gpus, want := range map[int]int{1: 7, 2: 3, 7: 1, 8: 0} {
		o.Prefill.Offer.Count, o.Prefill.GPUs = 7, gpus
		if got := j.Allowed(o); got != want {
			t.Errorf("seven accelerators, %d each: %d replicas", gpus, got)
		}
	}
}

// The least number is found from wherever the search begins, and no number is tried twice.
func TestLeastTriesNothingTwice(t *testing.T) {
	for first := 1; first <= 9; first++ {
		for least := 1; least <= 10; least++ {
			for step := 1; step <= 3; step++ {
				tried := map[int]bool{}
				got, err := Least{First: first, Most: 9, Step: step, Near: 1}.Find(
					func(n int) (bool, error) {
						if tried[n] || n < 1 || n > 9 {
							return false, errors.New("tried again")
						}
						tried[n] = true
						return n >= least, nil
					})
				if want := least % 10; err != nil || got != want {
					t.Errorf("from %d by %d: %d, want %d: %v", first, step, got, want, err)
				}
			}
		}
	}
}

// A rate that another fleet serves is tried, and none below it.
func TestRatesThatAreServedAreTried(t *testing.T) {
	g := RateGrid{Kept: Grid + 1, Missed: -1, Ceiling: 64}
	middle := g.Next(0)
	for _, place := range []int{3, 20, middle} {
		if got := g.Next(g.Rate(place)); got != place {
			t.Errorf("place %d, where place %d is served", got, place)
		}
		if got := g.Next(g.Rate(place) * 1.001); got != place-1 {
			t.Errorf("place %d, where a little more than place %d is served", got, place)
		}
	}
}
