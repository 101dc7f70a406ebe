package tuning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// narrow is a scenario whose batch is far too small for its traffic.
const narrow = `
model: llama-3.1-8b
hardware: h100-sxm
batching: {max-sequences: 8, token-budget: 2048}
workload: {rate: 12/s, prompt: 400, output: 150, requests: 600}
slo: {ttft: 500ms, tpot: 30ms}
`

func loader(text string) Load {
	return func(overrides ...string) (*scenarios.File, error) {
		return scenarios.Parse("test.yaml", []byte(text), overrides...)
	}
}

func axes(t *testing.T, list ...string) []planner.Axis {
	t.Helper()
	result := make([]planner.Axis, len(list))
	for i, text := range list {
		var err error
		if result[i], err = planner.ParseAxis(text); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

// quick are options that take little time.
func quick() Options {
	return Options{Replications: 3, Requests: 500, Most: 1000, Confidence: 0.95, Workers: 2}
}

// searching returns a search with its race run and its winner simplified, as Tune does it.
func searching(t *testing.T, text string, o Options) (*tuner, *halving, option) {
	t.Helper()
	f, err := loader(text)()
	testkit.OK(t, err)
	base, err := f.Build(policies.Default())
	testkit.OK(t, err)
	base.Source.Close()
	s := &tuner{Options: o, load: loader(text), seed: base.Scenario.Seed}
	if s.goal, err = goal(o.Goal, &base.Scenario); err != nil {
		t.Fatal(err)
	}
	if s.menu, err = menu(base, o.Axes); err != nil {
		t.Fatal(err)
	}
	r, err := s.halve(context.Background(), base.Scenario.Unsteady() == "")
	testkit.OK(t, err)
	best, err := s.simplify(context.Background(), r)
	testkit.OK(t, err)
	return s, r, best
}

// Whatever the scenario, the goal and a small menu, no option is better than the answer beyond the
// noise of runs as long as those of the last rung, under the same random numbers.
func TestNoOptionIsBetterBeyondNoise(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	some := func(key string, values ...string) planner.Axis {
		draw.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		return axes(t, key+"="+strings.Join(values[:2+draw.IntN(2)], ","))[0]
	}
	menus := 4
	if testing.Short() {
		menus = 1
	}
	for range menus {
		o := Options{Replications: 5, Requests: 400, Most: 1000, Confidence: 0.95, Workers: 2,
			Goal: Goals()[draw.IntN(len(Goals()))].Name}
		o.Axes = []planner.Axis{some("batching.max-sequences", "4", "16", "64", "256"),
			some("batching.token-budget", "512", "1024", "4096", "16384"),
			some("memory.utilization", "0.3", "0.5", "0.95")}
		text := fmt.Sprintf(`
model: llama-3.1-8b
hardware: %s
seed: %d
batching: {max-sequences: 128}
slo: {ttft: 500ms, tpot: 30ms}
workload:
  rate: %d/s
  prompt: {distribution: lognormal, mean: %d, cv: 1, min: 1, max: 4000}
  output: {distribution: lognormal, mean: %d, cv: 1, min: 1, max: 1000}
  requests: 400
`, []string{"h100-sxm", "a100-80gb-sxm"}[draw.IntN(2)], draw.IntN(100), 1+draw.IntN(50),
			50+draw.IntN(800), 20+draw.IntN(150))
		s, r, best := searching(t, text, o)
		all, err := s.measure(context.Background(), append(options(s.menu), best), r.requests,
			r.seeds)
		testkit.OK(t, err)
		answer := all[len(all)-1]
		for _, other := range all {
			if other.reason == "" && s.worse(answer, other) {
				t.Errorf("%s: %q has a loss of %g, %q of %g: apart by %+v\n%s", o.Goal,
					best.settings(s.menu), answer.loss(), other.settings(s.menu), other.loss(),
					difference(answer, other, o.Confidence), text)
			}
		}
	}
}

// On the last rung the answer is no worse than the default, whatever the scenario.
func TestNeverWorseThanTheDefault(t *testing.T) {
	o := Options{Replications: 2, Requests: 120, Most: 1000, Confidence: 0.95, Workers: 2}
	o.Axes = axes(t, "batching.max-sequences=4,64", "batching.token-budget=512,4096")
	draw, loads := rand.New(rand.NewPCG(1, 2)), 25
	if testing.Short() {
		loads = 8
	}
	for range loads {
		o.Goal = Goals()[draw.IntN(len(Goals()))].Name
		text := fmt.Sprintf(`
model: llama-3.1-8b
hardware: %s
seed: %d
workload:
  rate: %d/s
  prompt: {distribution: lognormal, mean: %d, cv: 1, min: 1, max: 4000}
  output: {distribution: lognormal, mean: 100, cv: 1, min: 1, max: 1000}
  requests: 120
`, []string{"h100-sxm", "l40s"}[draw.IntN(2)], draw.IntN(100), 1+draw.IntN(60),
			10+draw.IntN(1500))
		s, r, best := searching(t, text, o)
		trials, err := s.measure(context.Background(), []option{make(option, len(best)), best},
			r.requests, r.seeds)
		testkit.OK(t, err)
		if trials[1].loss() > trials[0].loss() {
			t.Errorf("%q has a loss of %g, the default %g\n%s", best.settings(s.menu),
				trials[1].loss(), trials[0].loss(), text)
		}
	}
}

// What helps is found and credited, what changes nothing is left as it was, and what cannot run is
// counted.
func TestWhatEachSettingBrought(t *testing.T) {
	o := quick()
	o.Axes = axes(t, "batching.max-sequences=4,64,4096", "batching.token-budget=8192",
		"memory.block-size=32", "parallelism.tensor=3")
	a, err := Tune(context.Background(), loader(narrow), o)
	testkit.OK(t, err)
	if len(a.Flags) != 1 || a.Flags[0].Set[0] != "batching.max-sequences=64" {
		t.Fatalf("flags %+v, want a batch of 64 alone", a.Flags)
	}
	f := a.Flags[0]
	if f.Bought.NoDifference || f.Bought.Mean <= 0 || f.Bought.Mean != a.Gain.Mean ||
		f.Without.Mean != a.Default.Value.Mean || a.Tuned.Value.Mean >= a.Default.Value.Mean {
		t.Errorf("bought %+v, in all %+v: %+v in place of %+v", f.Bought, a.Gain, a.Tuned,
			a.Default)
	}
	refused := 0
	for _, u := range a.Unfit {
		refused += u.Options
		if !strings.Contains(u.Reason, "tensor parallelism 3 does not divide") &&
			!strings.Contains(u.Reason, "want at least max-sequences") {
			t.Errorf("unexpected reason %q", u.Reason)
		}
	}
	// with a tensor parallelism of 3, or with a batch of more sequences than a step has tokens
	if want := 16 + 2; refused != want || a.Options != 32 ||
		a.Rungs[0].Options != a.Options-want {
		t.Errorf("%d of %d refused, %+v; rungs %+v", refused, a.Options, a.Unfit, a.Rungs)
	}
}

// Where options are drawn, the best is found by climbing from the best of them.
func TestAFewOptionsAndTheirNeighbours(t *testing.T) {
	o := quick()
	o.Most = 12
	o.Axes = axes(t, "batching.max-sequences=16,24,32,48,64", "batching.token-budget=512,1024,4096",
		"memory.block-size=32")
	a, err := Tune(context.Background(), loader(narrow), o)
	testkit.OK(t, err)
	if a.Options != 48 || a.Tried <= 12 || a.Tried >= 48 {
		t.Errorf("%d of %d options were tried", a.Tried, a.Options)
	}
	if a.Gain.NoDifference || a.Tuned.Value.Mean > 100 || a.Default.Value.Mean < 1000 {
		t.Errorf("%+v in place of %+v", a.Tuned, a.Default)
	}
}

// The answer does not depend on how many simulations run at the same time.
func TestSameAnswerOnAnyNumberOfWorkers(t *testing.T) {
	var want []byte
	for _, workers := range []int{1, 3} {
		o := quick()
		o.Workers, o.Axes = workers, axes(t, "batching.max-sequences=16,64,256",
			"batching.token-budget=512,8192")
		a, err := Tune(context.Background(), loader(narrow), o)
		testkit.OK(t, err)
		got, err := json.Marshal(a)
		testkit.OK(t, err)
		if want == nil {
			want = got
		} else if !bytes.Equal(got, want) {
			t.Errorf("%d workers say\n%s\none says\n%s", workers, got, want)
		}
	}
}

func TestTuneEndsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	o := quick()
	o.Ran = cancel // after the first simulation
	if _, err := Tune(ctx, loader(narrow), o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// The SLO is used to 100 % or less where it is met, and to more where it is missed.
func TestUseOfTheSLO(t *testing.T) {
	for _, slo := range []string{
		"{ttft: 60ms, tpot: 10ms}", "{ttft: 40ms, tpot: 12ms, percentile: 90}",
		"{ttft: {p90: 60ms}}", "{itl: {p99: 12ms}}", "{e2e: 1500ms, percentile: 80}",
		"{itl: {p99: 30ms}, ttft: {p50: 30ms}}",
	} {
		met, missed := 0, 0
		for rate := 1; rate <= 30; rate += 4 {
			f, err := loader(narrow)("slo="+slo, "batching.max-sequences=256",
				fmt.Sprintf("workload.rate=%d/s", rate), "workload.requests=300")
			testkit.OK(t, err)
			o, err := planner.Observe(context.Background(), f)
			testkit.OK(t, err)
			if u := use(o); (u <= 100) != o.Result.SLOMet || math.IsNaN(u) {
				t.Errorf("%s at %d/s: %g%% used, and met is %v", slo, rate, u, o.Result.SLOMet)
			}
			if o.Result.SLOMet {
				met++
			} else {
				missed++
			}
		}
		t.Logf("%s: met at %d rates, missed at %d", slo, met, missed)
	}
}

func TestRefusals(t *testing.T) {
	for change, want := range map[string]string{
		"replications": "2 replications",
		"goal":         `unknown goal "lattency"; did you mean latency`,
		"axis":         `unknown batching policy "vllm-v2"`,
		"key":          `unknown key "max-sequence"`,
		"pools":        "fleet.pools",
		"nothing":      "nothing to choose",
		"unfit":        "own can run, such as parallelism.tensor=3: parallelism: tensor",
	} {
		o, text := quick(), narrow
		switch change {
		case "replications":
			o.Replications = 1
		case "goal":
			o.Goal = "lattency"
		case "axis":
			o.Axes = axes(t, "batching=vllm-v2,sarathi")
		case "unfit":
			o.Axes = axes(t, "parallelism.tensor=3,64")
		case "key":
			o.Axes = axes(t, "slo.max-sequence=1,2")
		case "pools":
			text += "fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}]}"
		case "nothing":
			text = strings.Replace(narrow, "{max-sequences: 8, token-budget: 2048}", "orca", 1) +
				"memory: {policy: contiguous, tokens: 100000}\n" +
				"engine: {preset: eager-2023, max-model-len: 4096}\n"
		}
		_, err := Tune(context.Background(), loader(text), o)
		if err == nil || !strings.Contains(err.Error(), want) || !scenarios.IsInputError(err) {
			t.Errorf("%s: error %v, want an input error with %q", change, err, want)
		}
	}
}

// The page that explains the answer has a word for each of its keys.
func TestEveryKeyIsDocumented(t *testing.T) {
	page := testkit.Read(t, "../../../docs/comparing.md")
	kinds := []reflect.Type{reflect.TypeFor[Answer](), reflect.TypeFor[Outcome](),
		reflect.TypeFor[Flag](), reflect.TypeFor[Rung](), reflect.TypeFor[Unfit]()}
	for _, kind := range kinds {
		for i := range kind.NumField() {
			key, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if key != "" && !strings.Contains(string(page), "`"+key+"`") {
				t.Errorf("docs/comparing.md does not have %q", key)
			}
		}
	}
}
