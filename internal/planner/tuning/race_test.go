package tuning

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// small is a scenario whose runs take a few milliseconds, and whose batch of 8 is too small.
const small = `
model: llama-3.1-8b
hardware: h100-sxm
batching: {max-sequences: 8, token-budget: 2048}
workload: {rate: 60/s, prompt: 300, output: 4, requests: 500}
slo: {ttft: 500ms, tpot: 30ms}
`

// menuOf returns a menu with so many choices of each dimension, the first of which sets nothing.
func menuOf(counts ...int) (menu []Dimension) {
	for d, n := range counts {
		dimension := Dimension{Name: fmt.Sprintf("d%d", d), Choices: []Choice{{Label: "own"}}}
		for c := 1; c < n; c++ {
			dimension.Choices = append(dimension.Choices,
				Choice{fmt.Sprint(c), []string{fmt.Sprintf("d%d=%d", d, c)}})
		}
		menu = append(menu, dimension)
	}
	return menu
}

// Options are every combination once, the default first. A sample has the default, all single
// changes and the asked number; neighbours differ in one dimension, and are all that do.
func TestOptionsOfMenus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "choices")
		menu := menuOf(counts...)
		all, product, single := options(menu), 1, 0
		for _, n := range counts {
			product *= n
			single += n - 1
		}
		distinct := func(list []option) bool {
			seen := map[string]bool{}
			for _, o := range list {
				seen[fmt.Sprint(o)] = true
			}
			return len(seen) == len(list)
		}
		if len(all) != product || !distinct(all) || all[0].changes() != 0 {
			t.Fatalf("%v: options %v", counts, all)
		}
		most := rapid.IntRange(1, 30).Draw(t, "most")
		some := sample(all, most)
		ones := 0
		for _, o := range some {
			if o.changes() == 1 {
				ones++
			}
		}
		if want := min(product, max(most, 1+single)); len(some) != want || ones != single ||
			!distinct(some) || some[0].changes() != 0 ||
			!slices.EqualFunc(some, sample(options(menu), most), slices.Equal[option]) {
			t.Fatalf("%d of %v: %v", most, counts, some)
		}
		o := all[rapid.IntRange(0, product-1).Draw(t, "option")]
		near := o.neighbours(menu)
		for _, n := range near {
			differ := 0
			for d := range n {
				if n[d] != o[d] {
					differ++
				}
			}
			if differ != 1 {
				t.Fatalf("%v is called a neighbour of %v", n, o)
			}
		}
		if len(near) != single || !distinct(near) || len(o.settings(menu)) != o.changes() {
			t.Fatalf("%v has the neighbours %v and sets %v", o, near, o.settings(menu))
		}
		before := slices.Clone(o)
		for d := range o {
			one := o.without(d)
			if one[d] != 0 || one.changes() != o.changes()-min(1, o[d]) ||
				!slices.Equal(o, before) {
				t.Fatalf("%v without %d is %v", before, d, one)
			}
		}
	})
}

// racing returns a trial with a loss for each seed.
func racing(o option, losses ...float64) trial {
	one := trial{option: o}
	for _, l := range losses {
		one.runs = append(one.runs, run{loss: l})
	}
	return one
}

// The best come first, and of equals the one that changes less; of trials alike to the last bit
// one survives before others do, and the default always does.
func TestSurvivors(t *testing.T) {
	trials := []trial{racing(option{1, 1}, 1, 3), racing(option{2, 0}, 2, 2),
		racing(option{3, 1}, 2, 2), racing(option{0, 0}, 9, 9), racing(option{0, 1}, 2, 2)}
	trials[4].runs[1].figures[3] = 5 // so that it is no twin of the two before it
	order(trials)
	var got []string
	for _, one := range trials {
		got = append(got, fmt.Sprint(one.option, one.loss()))
	}
	if want := "[2 0]2 [0 1]2 [1 1]2 [3 1]2 [0 0]9"; strings.Join(got, " ") !=
		strings.ReplaceAll(want, "]", "] ") {
		t.Errorf("order %v, want %s", got, want)
	}
	for most, want := range map[int]string{1: "[[2 0] [0 0]]", 2: "[[2 0] [0 1] [0 0]]",
		3: "[[2 0] [0 1] [1 1] [0 0]]", 4: "[[2 0] [0 1] [1 1] [0 0]]",
		5: "[[2 0] [0 1] [1 1] [0 0] [3 1]]", 9: "[[2 0] [0 1] [1 1] [0 0] [3 1]]"} {
		if got := fmt.Sprint(survivors(trials, most)); got != want {
			t.Errorf("%d survive: %s, want %s", most, got, want)
		}
	}
	a, b := racing(nil, 1, 2), racing(nil, 1, 2)
	if !same(&a, &b) {
		t.Error("equal trials are not the same")
	}
	for _, change := range []func(){func() { b.runs[1].loss = 3 },
		func() { b.runs[1] = run{loss: 2, figures: [figureCount]float64{1}} }} {
		if change(); same(&a, &b) {
			t.Errorf("%+v and %+v are called the same", a, b)
		}
	}
}

// Each option that cannot run is counted once, with the others of its reason, of which the first
// is the example.
func TestRefusedOptionsAreCounted(t *testing.T) {
	r := &halving{refused: map[string]bool{}}
	menu := menuOf(3, 3)
	for _, c := range []struct {
		o      option
		reason string
	}{{option{1, 2}, "x"}, {option{2, 0}, "y"}, {option{1, 2}, "x"}, {option{2, 2}, "x"}} {
		r.refuse(trial{option: c.o, reason: c.reason}, menu)
	}
	if got := fmt.Sprint(r.unfit, len(r.refused)); got !=
		"[{x 2 [d0=1 d1=2]} {y 1 [d0=2]}] 3" {
		t.Errorf("refused: %s", got)
	}
	for text, want := range map[string]string{"--set a.b=1: no": "no", "x.yaml:3: no": "no",
		"in x: no": "in x: no"} {
		if got := withoutLocation(errors.New(text)); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// A swap negates a difference, and of two options at most one is worse; within noise neither is,
// and with one run any difference counts.
func TestWorseIsBeyondNoise(t *testing.T) {
	s := &tuner{Options: Options{Confidence: 0.95}}
	for _, c := range []struct {
		a, b  []float64
		worse bool
	}{
		{[]float64{3, 4, 5}, []float64{1, 2.1, 2.9}, true},
		{[]float64{3, 4, 5}, []float64{3, 4, 5}, false},
		{[]float64{3, 1, 5}, []float64{1, 3, 4}, false}, {[]float64{2}, []float64{1}, true},
		{[]float64{1}, []float64{1}, false}, {[]float64{4, 5}, []float64{3, 4}, true},
	} {
		a, b := racing(nil, c.a...), racing(nil, c.b...)
		d, back := difference(a, b, 0.95), difference(b, a, 0.95)
		if s.worse(a, b) != c.worse || s.worse(b, a) || d.Mean != -back.Mean ||
			d.Half != back.Half || math.Abs(d.Mean-(a.loss()-b.loss())) > 1e-12 {
			t.Errorf("%+v: differences %+v and %+v", c, d, back)
		}
		g, lost := gain(a, b, 0.95), gain(b, a, 0.95)
		if g.NoDifference == c.worse || lost.NoDifference == c.worse || g.Mean != -lost.Mean {
			t.Errorf("%+v: gains %+v and %+v", c, g, lost)
		}
	}
}

// A rung has four times the requests of the one before, up to the whole run, and then as many more
// seeds; a quarter of its options goes on, and five and the default race to the end. Every
// simulation is counted once.
func TestRungsOfARace(t *testing.T) {
	for _, c := range []struct {
		change string
		want   []Rung
	}{
		// The default's batch of 8 is filled by fewer requests than the least number, 200.
		{"", []Rung{{48, 200, 1}, {13, 500, 1}, {6, 500, 3}}},
		// An outage is no steady state: all rungs have the whole run.
		{"fleet: {retries: 2, outages: [{replica: 0, at: 1s, for: 10ms}]}\nreplicas: 2\n",
			[]Rung{{48, 500, 1}, {13, 500, 3}, {6, 500, 3}}},
	} {
		var ran atomic.Int64
		o := Options{Replications: 3, Requests: 1000, Most: 1000, Confidence: 0.95, Workers: 2,
			Ran: func() { ran.Add(1) }}
		o.Axes = axes(t, "batching.max-sequences=2,3,4", "batching.token-budget=1024,512,300",
			"memory.block-size=32,64")
		s, r, best := searching(t, small+c.change, o)
		for i, want := range c.want {
			got := r.rungs[i]
			if got.Options != want.Options && got.Options != want.Options-1 || // the default
				got.Requests != want.Requests || got.Seeds != want.Seeds {
				t.Errorf("%q: rungs %+v, want %+v", c.change, r.rungs, c.want)
				break
			}
		}
		for _, more := range r.rungs[len(c.want):] {
			if more.Requests != 500 || more.Seeds != 3 {
				t.Errorf("neighbours ran as %+v, want as the last rung", more)
			}
		}
		if r.options != 48 || r.tried != 48 || r.requests != 500 || int64(s.runs) != ran.Load() {
			t.Errorf("%d of %d options, %d requests, %d simulations, of which %d were counted",
				r.tried, r.options, r.requests, ran.Load(), s.runs)
		}
		// The answer measures with seeds that took no part, at a level that shares the error
		// among the gain and what each setting brought.
		a, err := s.answer(context.Background(), r, best)
		testkit.OK(t, err)
		trials, err := s.measure(context.Background(), []option{make(option, 3), best}, 500,
			[]uint64{3, 4, 5})
		testkit.OK(t, err)
		want := gain(trials[0], trials[1], 1-0.05/float64(1+best.changes()))
		if a.Gain != want && !a.Gain.NoDifference || a.Gain.NoDifference != want.NoDifference ||
			a.Seeds != 3 || a.Requests != 500 {
			t.Errorf("gain %+v, want %+v", a.Gain, want)
		}
		// A setting that changes nothing is dropped, and the default is the answer.
		useless := option{0, 0, 1}
		if a, err = s.answer(context.Background(), r, useless); err != nil || a.Changed() ||
			!a.Gain.NoDifference || !slices.Equal(a.Dropped, useless.settings(s.menu)) ||
			len(a.Tuned.Set) != 0 || a.Gain.Mean != 0 ||
			strings.Contains(string(a.Scenario()), "block-size: 32\n") {
			t.Errorf("%+v, %v: want the default", a, err)
		}
		last, err := s.measure(context.Background(), []option{useless, {0, 0, 0}}, 500, r.seeds)
		testkit.OK(t, err)
		simple, err := s.simplify(context.Background(), &halving{last: last, requests: 500,
			seeds: r.seeds})
		if err != nil || simple.changes() != 0 {
			t.Errorf("%v, %v: want a setting that changes nothing taken back", simple, err)
		}
	}
}

// Options that cannot be are refused, and the least ones that can be are taken.
func TestBoundsOfOptions(t *testing.T) {
	least := Options{Replications: 2, Requests: 1, Most: 1, Confidence: 0.5, Workers: 1,
		Axes: axes(t, "batching.max-sequences=4")}
	if _, err := Tune(t.Context(), loader(small), least); err != nil {
		t.Errorf("%+v: %v", least, err)
	}
	for _, change := range []func(o *Options){
		func(o *Options) { o.Replications = 1 }, func(o *Options) { o.Requests = 0 },
		func(o *Options) { o.Most = 0 }, func(o *Options) { o.Confidence = 0 },
		func(o *Options) { o.Confidence = 1 }, func(o *Options) { o.Confidence = math.NaN() },
	} {
		o := least
		if change(&o); true {
			_, err := Tune(t.Context(), loader(small), o)
			if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), "at least 2") {
				t.Errorf("%+v: error %v", o, err)
			}
		}
	}
}

// simulated returns a scenario that is built and not run.
func simulated(t *testing.T, text string) *scenarios.Simulation {
	t.Helper()
	f, err := loader(text)()
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	testkit.OK(t, s.Source.Close())
	return s
}

// A menu may have a million options and no more, and at least two.
func TestBoundsOfMenus(t *testing.T) {
	s := simulated(t, small)
	var list []planner.Axis
	for d := range 6 { // with the scenario's own value, ten choices each
		a := planner.Axis{Key: fmt.Sprint("key", d)}
		for v := range 9 {
			a.Values = append(a.Values, strconv.Itoa(v))
		}
		list = append(list, a)
	}
	m, err := menu(s, list)
	if err != nil || len(m) != 6 || len(m[5].Choices) != 10 ||
		m[5].Choices[0].Label != "as it is" || m[5].Choices[9].Set[0] != "key5=8" {
		t.Errorf("a million options: %+v, %v", m, err)
	}
	if _, err = menu(s, append(list, list[0])); !scenarios.IsInputError(err) {
		t.Errorf("more than a million: %v", err)
	}
	own, err := menu(s, axes(t, "batching.token-budget=64"))
	if err != nil || own[0].Choices[0].Label != "2048" {
		t.Errorf("the scenario's own value: %+v, %v", own, err)
	}
}

// Without axes the menu has what there is a choice of: the numbers with a flag of the engine, by
// the name of the flag, and parallelism where there are several accelerators.
func TestMenuOfAnEngine(t *testing.T) {
	for _, c := range []struct {
		add    string
		layout bool
	}{{"engine: vllm\n", false}, {"engine: vllm\nparallelism: 2\n", true}} {
		s := simulated(t, small+c.add)
		list, err := menu(s, nil)
		testkit.OK(t, err)
		if n := len(Numbers(&s.Scenario)); n < 3 || (len(list) == n+1) != c.layout ||
			(list[0].Name == "parallelism") != c.layout {
			t.Errorf("%q: menu %+v", c.add, list)
		}
		for _, d := range list {
			if len(d.Choices) < 2 || d.Name != "parallelism" && !strings.HasPrefix(d.Name, "--") {
				t.Errorf("dimension %+v", d)
			}
		}
	}
}

// A number is tried at an eighth to four times of the present value, but for what is below the
// least, or at the values of a list that are not the present one.
func TestValuesOfNumbers(t *testing.T) {
	for _, c := range []struct{ present, tried, want string }{
		{"128", "16..", "128 16 32 64 256 512"}, {"127", "16..", "127 31 63 254 508"},
		{"8", "1..", "8 1 2 4 16 32"}, {"0.9", "0.85,0.9,0.95", "0.9 0.85 0.95"},
		{"auto", "16..", "auto"},
	} {
		n := number{key: "k", present: c.present, tried: c.tried, role: "r"}
		d := n.dimension("name")
		var got []string
		for i, choice := range d.Choices {
			got = append(got, choice.Label)
			if i > 0 && choice.Set[0] != "k="+choice.Label {
				t.Errorf("%+v sets %q", c, choice.Set)
			}
		}
		if strings.Join(got, " ") != c.want || d.Name != "name" || d.Role != "r" {
			t.Errorf("%+v: %+v", c, d)
		}
	}
	shares := func(text string) (n int) {
		for _, d := range numbers(&simulated(t, text).Scenario) {
			if d.key == "memory.utilization" && d.present == "0.9" {
				n++
			}
		}
		return n
	}
	if given := small + "memory: {tokens: 100000}\n"; shares(small+
		"memory: {utilization: 0.9}\n") != 1 || shares(given) != 0 {
		t.Error("the share of memory is tuned where, and only where, no size of the cache is given")
	}
}

// Layouts are all ways to write the number of accelerators as replicas × tensor × data, with
// experts on one or all ranks: only a mixture has data ranks, which spread its experts.
func TestLayoutsAreComplete(t *testing.T) {
	for text, mixture := range map[string]bool{
		"model: llama-3.1-8b\nhardware: h100-sxm\nparallelism: 4\nreplicas: 3\n":          false,
		"model: deepseek-v3\nhardware: h200-sxm\nparallelism: {tensor: 8}\nreplicas: 2\n": true,
	} {
		s := simulated(t, text)
		p := s.Scenario.Parallelism
		own := layout{s.Scenario.Replicas, p.Tensor, max(1, p.Data), max(1, p.Expert)}
		total := own.replicas * own.tensor * own.data
		want := []string{own.String()}
		for r := 1; r <= total; r++ {
			for tensor := 1; tensor <= total; tensor++ {
				for data := 1; data <= total; data++ {
					for expert := 1; expert <= total; expert++ {
						l := layout{r, tensor, data, expert}
						if r*tensor*data == total && (mixture || data*expert == 1) && l != own &&
							(expert == tensor*data || expert == 1 && data == 1) {
							want = append(want, l.String())
						}
					}
				}
			}
		}
		var got []string
		for _, c := range layouts(s).Choices {
			got = append(got, c.Label)
			if n := len(c.Set); n != 0 && n != 2 && !mixture || mixture && n != 0 && n != 4 {
				t.Errorf("%s sets %q", c.Label, c.Set)
			}
			f, err := loader(text)(c.Set...)
			testkit.OK(t, err)
			if now := &f.Scenario; max(1, now.Replicas)*now.Parallelism.Accelerators() != total {
				t.Errorf("%s takes other than %d accelerators: %q", c.Label, total, c.Set)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("layouts %q, want %q", got, want)
		}
	}
	for want, l := range map[string]layout{"TP 1": {1, 1, 1, 1}, "2 × TP 4": {2, 4, 1, 1},
		"TP 2 DP 3 EP 6": {1, 2, 3, 6}, "3 × TP 1 DP 2": {3, 1, 2, 1}} {
		if l.String() != want {
			t.Errorf("%+v is %q, want %q", l, l, want)
		}
	}
	if got := fmt.Sprint(divisors(12), divisors(1), divisors(7)); got !=
		"[1 2 3 4 6 12] [1] [1 7]" {
		t.Errorf("divisors %s", got)
	}
}

// The use of an SLO by hand: of limits to be kept at once the quantile of the largest share of
// each request, of a percentile its own; gaps are not of requests, and one turned away is far off.
func TestUseByHand(t *testing.T) {
	var list []*planner.Request
	for i := 1; i <= 10; i++ {
		x := sim.Seconds(float64(i) / 10)
		list = append(list, &planner.Request{TTFT: x, TPOT: 2 * x, E2E: 3 * x})
	}
	second := sim.Seconds(1)
	limit := func(l metrics.Latency, p float64, most sim.Time) metrics.SLO {
		slo := metrics.SLO{}
		slo.Percentiles = append(slo.Percentiles, metrics.PercentileLimit{Latency: l,
			Percentile: p, Most: most})
		return slo
	}
	for _, c := range []struct {
		slo  metrics.SLO
		want float64
	}{
		{metrics.SLO{Share: 0.9, TTFT: second}, 0.9}, {metrics.SLO{Share: 0.91, TTFT: second}, 1},
		{metrics.SLO{Share: 0.5, TTFT: second, TPOT: second}, 1},
		{metrics.SLO{Share: 0.5, E2E: second, TPOT: second}, 1.5},
		{metrics.SLO{TTFT: second}, 0}, {limit(metrics.TTFT, 70, second), 0.7},
		{limit(metrics.TPOT, 70, second), 1.4}, {limit(metrics.E2E, 10, 3*second), 0.1},
		{limit(metrics.ITL, 50, second), 0}, {metrics.SLO{Share: 0.01, TTFT: second}, 0.1},
	} {
		if got := useOf(c.slo, list); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g, want %g", c.slo, got, c.want)
		}
	}
	list[0].Rejected = true
	if got := useOf(limit(metrics.TTFT, 100, second), list); got != turnedAway {
		t.Errorf("with one turned away: %g", got)
	}
	half := &planner.Observation{Simulation: simulated(t, small), Result: &scenarios.Result{},
		Requests: []planner.Request{{TTFT: sim.Seconds(0.25)}}}
	if got := use(half); got != 50 {
		t.Errorf("half of the limit of 500 ms is %g%% of it", got)
	}
	if ratio(5, 0) != 0 || ratio(3, 4) != 0.75 {
		t.Error("a latency without a limit uses nothing of it")
	}
	o := &planner.Observation{Result: &scenarios.Result{}}
	o.Result.MeanE2EL, o.Result.OutputThroughput = 7, 9
	for name, want := range map[string]float64{"latency": 7, "throughput": -9} {
		g, err := goal(name, &scenarios.Scenario{})
		if err != nil || g.loss(o) != want {
			t.Errorf("%s: a loss of %g, %v", name, g.loss(o), err)
		}
	}
	s := &scenarios.Scenario{}
	for process, want := range map[string]string{"poisson": "slo", "at-once": "throughput"} {
		s.Workload.Arrivals.Process = process
		if g, err := goal("", s); err != nil || g.Name != want {
			t.Errorf("%s: the goal is %s, %v", process, g.Name, err)
		}
	}
}
