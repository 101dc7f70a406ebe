package asked

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
)

const fixedPlan = `
model: llama-3.1-8b
workload: {rate: 95/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
menu: {hardware: [h100-sxm], tensor: [1]}
`

// wave is a load that ends, of fleets that are scaled.
const wave = "{rate: {pattern: wave, average: 10/s, swing: 0.5, period: 60s}, prompt: 300, " +
	"output: 40}"

// built returns a plan and the simulation of a replica with its whole load.
func built(t *testing.T, overrides ...string) (*File, *scenarios.Simulation) {
	t.Helper()
	f, err := Parse("plan.yaml", []byte(fixedPlan), overrides...)
	testkit.OK(t, err)
	file, err := f.File(scenarios.Scenario{Model: f.Plan.Model, Workload: f.Plan.Workload,
		SLO: f.Plan.SLO, Hardware: scenarios.Hardware{Accelerator: "h100-sxm"}}, f.Plan.Peak(),
		DrawnOf(&f.Plan))
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	t.Cleanup(func() { testkit.OK(t, s.Source.Close()) })
	return f, s
}

// times is the work of so many requests of 300 and 40 tokens: while it decodes, each stores its
// prompt and half of its answer on average.
func times(n float64) Work {
	stored := 40 * (300 + 20.0)
	return Work{n, 300 * n, 300 * n, 40 * n, stored * n, stored * n}
}

// Of a steady load as many requests are drawn as give its mean work. Where all are alike, the long
// run is as they are, and nine of ten keep the SLO.
func TestSteadyLoads(t *testing.T) {
	f, s := built(t)
	l, err := f.NewLoad(s)
	testkit.OK(t, err)
	if l.Work != times(20_000) || l.Low != times(20_000) || l.Kept != times(18_000) ||
		l.Flow != 95*40 || l.TPOT != 60*sim.Millisecond || l.Lasts != 0 || l.Stretches != nil ||
		len(l.Probes) != 400 || len(l.Promises) != 400 || l.Target != 0.9 ||
		l.Promises[399].TTFT != sim.Second || l.Probes[0].Prompt != 300 ||
		strings.Contains(l.Words, "20000") || !strings.Contains(l.Words, "95") {
		t.Errorf("%+v", l)
	}
	f, s = built(t, "workload={rate: 95/s, prompt: {distribution: lognormal, mean: 300, cv: 2}, "+
		"output: 40}")
	l, err = f.NewLoad(s)
	testkit.OK(t, err)
	if l.Low.Output != 40*20_000 || l.Low.Prompt >= l.Prompt || l.Low.Prompt < 0.8*l.Prompt ||
		l.Kept.Prompt >= 0.9*l.Low.Prompt || l.Probes[1].Prompt == l.Probes[2].Prompt {
		t.Errorf("of lengths that vary: %+v", l)
	}
}

// A load that ends is read to its end, and its stretches are halves, quarters and so on, each with
// the time in which it comes and the longest answer.
func TestLoadsThatEnd(t *testing.T) {
	f, s := built(t, "workload="+wave, "menu.scaling=[queue]", "slo.percentile=99")
	l, err := f.NewLoad(s)
	testkit.OK(t, err)
	_, s = built(t, "workload="+wave, "menu.scaling=[queue]", "slo.percentile=99")
	all := Draw(s.Source, MostRead, 1)
	n := len(all)
	last := all[n-1].Arrival - all[0].Arrival
	missed := int(math.Ceil(0.01 * float64(n)))
	if n < 400 || l.Work != times(float64(n)) || l.Low != l.Work ||
		l.Kept != times(float64(n-missed)) || l.Lasts != last.Seconds() ||
		math.Abs(l.Flow-40*float64(n)/last.Seconds()) > 1e-6 || len(l.Stretches) != 63 ||
		len(l.Probes) != 400 || l.Target != 0.99 {
		t.Fatalf("%d requests in %v: %+v, %d stretches", n, last, l, len(l.Stretches))
	}
	for i, at := range l.Probes {
		if at.Arrival != all[i*n/400].Arrival {
			t.Fatalf("probe %d arrives at %v", i, at.Arrival)
		}
	}
	k := 0
	for parts := 1; parts <= 32; parts *= 2 {
		for i := range parts {
			first, end := i*n/parts, (i+1)*n/parts
			takes := all[end-1].Arrival - all[first].Arrival + sim.Second + 39*60*sim.Millisecond
			got := l.Stretches[k]
			if got.Work != times(float64(end-first-missed)) || got.Seconds != takes.Seconds() {
				t.Errorf("stretch %d of %d: %+v, want %d requests in %v", i, parts, got,
					end-first-missed, takes)
			}
			k++
		}
	}
	f, s = built(t, "workload="+wave, "menu.scaling=[queue]", "slo={ttft: 1s, percentile: 90}")
	l, err = f.NewLoad(s)
	testkit.OK(t, err)
	if l.Stretches != nil || l.TPOT != 0 {
		t.Errorf("without a limit of answers: %d stretches", len(l.Stretches))
	}
	// Of few requests the most may all miss the SLO.
	few := all[:5]
	if got := stretches(few, s); got != nil {
		t.Errorf("%+v", got)
	}
	_, s = built(t)
	if got := stretches(few, s); len(got) != 4 || got[0].Requests != 4 ||
		got[1].Requests != 1 || got[2].Requests != 2 || got[3].Requests != 1 {
		t.Errorf("five requests: %+v", got)
	}
}

// A load beyond two million requests, or what the plan allows, is refused.
func TestLoadsAreRead(t *testing.T) {
	f, s := built(t, "workload="+wave, "menu.scaling=[queue]")
	all := Draw(s.Source, MostRead, 0)
	for most, ok := range map[float64]bool{float64(len(all)): true, WholeLoad + 1: false} {
		_, s := built(t, "workload="+wave, "menu.scaling=[queue]")
		l := &Load{Work: Work{Requests: most - float64(len(all))}}
		first := Draw(s.Source, 1, 1)
		l.Add(&first[0])
		last, err := f.rest(s.Source, l, &first[0])
		if ok && (err != nil || last != all[len(all)-1].Arrival || l.Requests != most) ||
			!ok && (!scenarios.IsInputError(err) || l.Requests != WholeLoad+1) {
			t.Errorf("%g requests: %v, %v", l.Requests, last, err)
		}
	}
	if DrawnOf(&f.Plan) != Probes {
		t.Errorf("%d are drawn of a load that ends", DrawnOf(&f.Plan))
	}
	if got := Draw(s.Source, 5, 1); len(got) != 0 {
		t.Errorf("%d requests after the end", len(got))
	}
	_, s = built(t)
	if got := Draw(s.Source, 5, 9); len(got) != 5 {
		t.Errorf("%d requests of five", len(got))
	}
}

// The work of requests adds up; shared prompts are nobody's own, and may come from a cache.
func TestWorkAddsUp(t *testing.T) {
	var w Work
	w.Add(&sim.Request{Prompt: 10, Output: 4})
	if w != (Work{1, 10, 10, 4, 48, 48}) {
		t.Errorf("%+v", w)
	}
	w.Add(&sim.Request{Prompt: 20, Output: 6, Content: make([]sim.Segment, 1)})
	if w != (Work{2, 30, 10, 10, 48 + 138, 48 + 18}) {
		t.Errorf("%+v", w)
	}
	for _, c := range []struct {
		rate, output float64
		want         float64
	}{{0, 0, 35}, {3, 0, 35}, {3, 6, 18}} {
		if got := flow(workload.Summary{Rate: c.rate, Output: c.output}, 7, &w); got != c.want {
			t.Errorf("%+v: %g tokens/s", c, got)
		}
	}
	if got := flow(workload.Summary{}, 7, &Work{}); got != 0 {
		t.Errorf("of nothing: %g tokens/s", got)
	}
}

// The longest answer is by whichever limits bound it, and there is none where a request has none.
func TestLongestAnswers(t *testing.T) {
	requests := []sim.Request{{Output: 11}, {Output: 21}, {Output: 1}}
	for slo, want := range map[string]sim.Time{
		"{ttft: 1s, tpot: 50ms}": 2 * sim.Second, "{ttft: 1s}": -1, "{tpot: 50ms}": -1,
		"{ttft: 1s, tpot: 50ms, e2e: 1500ms}": 1500 * sim.Millisecond,
		"{ttft: 1s, tpot: 50ms, e2e: 9s}":     2 * sim.Second, "{e2e: 9s}": 9 * sim.Second,
		"{ttft: 1s, e2e: 9s}": 9 * sim.Second,
	} {
		_, s := built(t, "slo="+slo)
		if got := longestAnswer(requests, s); got != want {
			t.Errorf("%s: %v, want %v", slo, got, want)
		}
	}
	_, s := built(t, "workload={classes: [{name: a, rate: 1/s, prompt: 9, output: 9, "+
		"slo: {ttft: 1s, tpot: 50ms, percentile: 90}}, {name: b, rate: 1/s, prompt: 9, output: 9, "+
		"slo: {ttft: 1s, tpot: 70ms, percentile: 80}}]}", "slo={}")
	mixed := []sim.Request{{Class: 1, Output: 2}, {Class: 0, Output: 2}, {Class: 1, Output: 2}}
	if got := longestPace(mixed, s); got != 70*sim.Millisecond {
		t.Errorf("the longest limit is %v", got)
	}
	if got := longestAnswer(mixed, s); got != 1070*sim.Millisecond {
		t.Errorf("the longest answer is %v", got)
	}
	if got := allowance(mixed, s); got != 1 { // 0.1 and twice 0.2
		t.Errorf("%d requests may miss the SLO", got)
	}
}

// What all but some requests work at least is the sum of the smallest figures of each kind.
func TestWorkWithoutTheLargest(t *testing.T) {
	requests := []sim.Request{{Prompt: 1, Output: 9}, {Prompt: 7, Output: 2},
		{Prompt: 5, Output: 5}}
	for missed, want := range []Work{{3, 13, 13, 16, 49.5 + 16 + 37.5, 49.5 + 16 + 37.5},
		{2, 6, 6, 7, 53.5, 53.5}, {1, 1, 1, 2, 16, 16}, {}, {}} {
		if got := boundWithout(figuresOf(requests), missed); got != want {
			t.Errorf("without %d: %+v, want %+v", missed, got, want)
		}
	}
	// In the long run a figure is what it is on average, less by its interval.
	for n, known := range map[int]bool{2*BatchCount - 1: false, 2 * BatchCount: true} {
		alike := make([]sim.Request, n)
		for i := range alike {
			alike[i] = sim.Request{Prompt: 300, Output: 40}
		}
		all, kept := inTheLongRun(figuresOf(alike), 4)
		if known && (all != times(float64(n)) || kept != times(float64(n-4))) ||
			!known && (all != Work{} || kept != Work{}) {
			t.Errorf("%d requests: %+v, %+v", n, all, kept)
		}
		for i := range alike {
			alike[i].Prompt = 100 + 400*(i/(n/2)%2)
		}
		if varied, part := inTheLongRun(figuresOf(alike), 4); known &&
			(varied.Prompt >= 300*float64(n) || varied.Prompt <= 0 || varied.Output != all.Output ||
				math.Abs(part.Prompt/(100*20+500*16)-varied.Prompt/(300*40)) > 1e-9) {
			t.Errorf("%+v, %+v", varied, part)
		}
	}
	none := make([]sim.Request, 2*BatchCount)
	if all, kept := inTheLongRun(figuresOf(none), 0); all != (Work{Requests: 40}) || kept != all {
		t.Errorf("of nothing: %+v, %+v", all, kept)
	}
}

// Where latencies have percentiles of their own, what each lets miss may miss any.
func TestLeastShareOfAllLimits(t *testing.T) {
	limit := func(l metrics.Latency, p float64) metrics.PercentileLimit {
		return metrics.PercentileLimit{Latency: l, Percentile: p}
	}
	for want, s := range map[float64]metrics.SLO{
		0.7: {Share: 0.7, Percentiles: []metrics.PercentileLimit{limit(metrics.TTFT, 50)}},
		0.5: {Percentiles: []metrics.PercentileLimit{limit(metrics.TTFT, 50)}},
		0.875: {Percentiles: []metrics.PercentileLimit{limit(metrics.TTFT, 50),
			limit(metrics.TTFT, 87.5), limit(metrics.ITL, 50)}},
		0.625: {Percentiles: []metrics.PercentileLimit{limit(metrics.TTFT, 87.5),
			limit(metrics.TPOT, 87.5), limit(metrics.E2E, 87.5)}},
		1: {},
	} {
		if got := least(s); got != want {
			t.Errorf("%+v: %g, want %g", s, got, want)
		}
	}
}

// More requests are more work, and less is left of it where more of them may miss the SLO.
func TestWorkGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var requests []sim.Request
		for range rapid.IntRange(1, 9).Draw(t, "requests") {
			requests = append(requests, sim.Request{Prompt: rapid.IntRange(1, 99).Draw(t, "prompt"),
				Output: rapid.IntRange(1, 99).Draw(t, "output")})
		}
		before := math.Inf(1)
		for missed := range len(requests) + 1 {
			w := boundWithout(figuresOf(requests), missed)
			if w.Stored > before || w.Requests != float64(len(requests)-missed) {
				t.Fatalf("%+v without %d", w, missed)
			}
			before = w.Stored
		}
		fewer := slices.Clone(requests[1:])
		if boundWithout(figuresOf(fewer), 0).Prompt >= boundWithout(figuresOf(requests), 0).Prompt {
			t.Fatal("fewer requests have as much work")
		}
	})
}
