package detail

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

const todayFile = `
model: llama-3.1-8b
replicas: 12
hardware: {accelerator: l40s, price: $3/h}
parallelism: {tensor: 2}
workload: {rate: 1/s, prompt: 7, output: 7, requests: 9}
`

// beside reads a deployment and puts a plan beside it.
func beside(f *asked.File, overrides ...string) error {
	today, err := scenarios.Parse("today.yaml", []byte(todayFile), overrides...)
	if err != nil {
		return err
	}
	return PutBeside(f, today)
}

// A deployment is put beside the cheapest fleet of one model, of a fixed number of alike replicas,
// at a price that can be told in the plan's currency; all else is refused, with the field.
func TestWhatStandsBesideAPlan(t *testing.T) {
	for want, c := range map[string]struct {
		plan      string
		overrides []string
		change    func(p *asked.Plan)
	}{
		"": {plan: steadyPlan},
		"several models": {plan: steadyPlan, change: func(p *asked.Plan) {
			p.Models = make([]asked.Service, 1)
		}},
		"the goal of the plan is throughput": {plan: steadyPlan, change: func(p *asked.Plan) {
			p.Goal.Find = asked.FindThroughput
		}},
		"menu.scaling": {plan: wavePlan},
		"fleet: found settings": {plan: steadyPlan, overrides: []string{
			"fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]"}},
		"hardware.price": {plan: steadyPlan, overrides: []string{"hardware.price=3 CHF/h"}},
	} {
		f, _, _ := stubbed(t, c.plan)
		if c.change != nil {
			c.change(&f.Trials.File.Plan)
		}
		err := beside(f.Trials.File, c.overrides...)
		if want == "" {
			testkit.OK(t, err)
		} else if err == nil || !strings.Contains(err.Error(), want) ||
			f.Trials.File.Today != nil {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// Today's fleet costs its accelerators, and what the answer saves is the difference. Both are
// simulated with the same seeds and the requests of a fleet of the answer's size.
func TestTodayIsComparedWithTheAnswer(t *testing.T) {
	f, options, law := stubbed(t, steadyPlan)
	testkit.OK(t, beside(f.Trials.File))
	f.Hourly, f.Spare = 60, 1
	law.law = func(s *scenarios.Scenario) judge.Trial { return share(0.7 + 0.02*float64(size(s))) }
	j := &f.Judge
	got, err := Compare(t.Context(), j, options, f)
	testkit.OK(t, err)
	if got.Replicas != 12 || got.Accelerators != 24 || *got.Hourly != 72 || *got.Saved != 12 ||
		!near(got.Kept, 0.94) || !got.Met || !near(*got.AnswerKept, 0.92) || !*got.AnswerMet ||
		!strings.HasPrefix(got.Label, "2 × ") {
		t.Errorf("%+v", got)
	}
	if len(got.Changes) != 1 || !strings.HasPrefix(got.Changes[0], "parallelism.tensor") ||
		len(got.Steps) != 3 || !strings.HasPrefix(got.Steps[0], "Start 11 replicas") {
		t.Errorf("%q, %q", got.Changes, got.Steps)
	}
	seeds := map[int]map[uint64]bool{}
	for i := range law.asked {
		s := &law.asked[i]
		if s.Workload.Requests != 2200 || float64(s.Workload.Rate.Value) != 95 {
			t.Errorf("%d requests of %d replicas", s.Workload.Requests, size(s))
		}
		if seeds[size(s)] == nil {
			seeds[size(s)] = map[uint64]bool{}
		}
		seeds[size(s)][s.Seed] = true
	}
	if len(seeds) != 2 || !maps.Equal(seeds[11], seeds[12]) || len(seeds[11]) != 4 {
		t.Errorf("seeds %v", seeds)
	}
	got, err = Compare(t.Context(), j, options, nil)
	testkit.OK(t, err)
	if got.Saved != nil || got.AnswerKept != nil || got.Steps != nil || *got.Hourly != 72 {
		t.Errorf("without an answer: %+v", got)
	}
	testkit.OK(t, beside(f.Trials.File, "parallelism.tensor=1", "routing.policy=random",
		"engine.kv-cache=fp8", "replicas=11"))
	got, err = Compare(t.Context(), j, options, f)
	testkit.OK(t, err)
	if len(got.Changes) != 2 || len(got.Steps) != 4 || !strings.HasPrefix(got.Steps[0],
		"Start 1 replica with engine.kv-cache") || !strings.HasPrefix(got.Steps[3],
		"At the router, set routing") || strings.Contains(got.Steps[0], "routing") {
		t.Errorf("%q, %q", got.Changes, got.Steps)
	}
	// One replica of today's stops, at today's price; at the plan's, the rest costs something else.
	testkit.OK(t, beside(f.Trials.File, "parallelism.tensor=1"))
	hourly := f.Hourly
	f.Hourly = f.Option.Cost(f.Size())
	got, err = Compare(t.Context(), j, options, f)
	testkit.OK(t, err)
	if !near(*got.Saved, 3) || !near(*got.SavedAsPlanned, 12*3-f.Hourly) {
		t.Errorf("saves %v, %v at the plan's prices", *got.Saved, *got.SavedAsPlanned)
	}
	price := f.Option.Prefill.Price
	testkit.OK(t, beside(f.Trials.File, "parallelism.tensor=1",
		fmt.Sprintf("hardware.price=$%v/h", price)))
	got, err = Compare(t.Context(), j, options, f)
	testkit.OK(t, err)
	if !near(*got.Saved, price) || got.SavedAsPlanned != nil {
		t.Errorf("saves %v of %v at one price, %v", *got.Saved, price, got.SavedAsPlanned)
	}
	f.Hourly = hourly
	f.Option = options[slices.IndexFunc(options, func(o *candidate.Option) bool {
		return o.Based() == 3
	})]
	law.law = func(*scenarios.Scenario) judge.Trial { return share(1) }
	got, err = Compare(t.Context(), j, options, f)
	testkit.OK(t, err)
	if last := got.Steps[len(got.Steps)-1]; !strings.HasPrefix(last,
		"Rent 8 replicas on spot terms, and 3 on-demand") {
		t.Errorf("%q", last)
	}
	testkit.OK(t, beside(f.Trials.File, "model=qwen3-8b"))
	if _, err = Compare(t.Context(), j, options, f); err == nil ||
		!strings.Contains(err.Error(), "today's deployment: model: found") {
		t.Errorf("another model: %v", err)
	}
	for _, o := range options {
		o.Prefill.Unfit = "too small" // so that no model is known
	}
	if _, _, err = Deployment(j, options); err != nil {
		t.Error(err)
	}
	testkit.OK(t, beside(f.Trials.File, "batching.policy=continuos"))
	if _, err = Compare(t.Context(), j, options, f); err == nil ||
		!strings.HasPrefix(err.Error(), "today's deployment: ") {
		t.Errorf("an unknown policy: %v", err)
	}
}

// Settings that are tried change one thing each: smaller batches and chunks against the pace,
// larger ones against the first token, and either against other limits; of servers that prefill and
// decode apart, of each in turn, but the cache's format of both.
func TestChangesAreOfOneSetting(t *testing.T) {
	f, _, _ := stubbed(t, steadyPlan)
	o, j := f.Option, &f.Judge
	count := map[metrics.Latency]int{}
	keys := map[metrics.Latency]map[string]bool{}
	for _, latency := range []metrics.Latency{metrics.TTFT, metrics.TPOT, ""} {
		list, err := ChangedFor(j, o, latency)
		testkit.OK(t, err)
		keys[latency] = map[string]bool{}
		for _, other := range list {
			if len(other.Prefill.Changes) != 1 || other.Decode != nil || other.Price != o.Price {
				t.Fatalf("%+v", other.Prefill.Changes)
			}
			c := other.Prefill.Changes[0]
			keys[latency][c.Key+"="+c.Value] = true
			if c.Value == c.Default || c.Setting.Value != c.Value || c.Name == "" ||
				c.Key != candidate.KVCache && !candidate.Helps(latency, c.Default, c.Value) ||
				c.Key == candidate.KVCache && c.Value != "fp8" {
				t.Errorf("%+v against %q", c, latency)
			}
		}
		count[latency] = len(list)
		if !keys[latency]["engine.kv-cache=fp8"] || len(keys[latency]) != len(list) {
			t.Errorf("against %q: %v", latency, keys[latency])
		}
	}
	// The format of the cache is in each of the three.
	if count[""] != count[metrics.TTFT]+count[metrics.TPOT]-1 || count[metrics.TTFT] < 2 ||
		count[metrics.TPOT] < 2 {
		t.Errorf("%v", count)
	}
	same, apart := *o, *o
	same.Parts = &candidate.Parts{Prefill: o.Prefill, Decode: o.Prefill}
	decode := *o.Prefill
	apart.Parts = &candidate.Parts{Prefill: o.Prefill, Decode: &decode}
	for _, pair := range []*candidate.Option{&same, &apart} {
		list, err := ChangedFor(j, pair, metrics.TPOT)
		testkit.OK(t, err)
		prefills, decodes, both := 0, 0, 0
		for _, other := range list {
			p, d := len(other.Prefill.Changes), len(other.Decode.Changes)
			switch {
			case p == 1 && d == 1:
				both++
				if pair == &same != (other.Prefill == other.Decode) {
					t.Errorf("two servers of one, or one of two: %+v", other.Settings())
				}
			case p == 1:
				prefills++
			case d == 1:
				decodes++
			}
		}
		want := [3]int{0, 0, count[metrics.TPOT]}
		if pair == &apart {
			n := count[metrics.TPOT] - 1
			want = [3]int{n, n, 1}
		}
		if got := [3]int{prefills, decodes, both}; got != want {
			t.Errorf("changes of prefill, decode and both: %v, want %v", got, want)
		}
	}
	// What was changed before can be changed further, and not back to what it was.
	list, err := ChangedFor(j, o, "")
	testkit.OK(t, err)
	again, err := ChangedFor(j, list[0], "")
	testkit.OK(t, err)
	first := list[0].Prefill.Changes[0]
	for _, other := range again {
		for _, c := range other.Prefill.Changes {
			if c.Key == first.Key && c.Default != first.Default {
				t.Errorf("%+v, which was %q at first", c, first.Default)
			}
		}
	}
	missed := share(0.5)
	for _, latency := range []metrics.Latency{metrics.TTFT, metrics.TPOT} {
		missed.Binds = "p99 " + strings.ToUpper(string(latency))
		for _, by := range []string{"binds", "clause"} {
			if by == "clause" {
				missed.Clauses[0].Latency, missed.Binds = latency, "nothing"
			}
			list, err := Changed(j, missed, o)
			if testkit.OK(t, err); len(list) != count[latency] {
				t.Errorf("%d changes by the %s against %s", len(list), by, latency)
			}
		}
		missed.Clauses[0].Latency = ""
	}
}

// Settings that the plan gives are not tried.
func TestGivenSettingsStay(t *testing.T) {
	for _, c := range []struct {
		override string
		keys     []string
	}{
		{"engine.kv-cache=fp8", []string{"batching."}},
		{"menu.batching=[{policy: vllm-v1, token-budget: 4096}]",
			[]string{"engine.kv-cache"}},
	} {
		f, _, _ := stubbed(t, steadyPlan, c.override)
		list, err := ChangedFor(&f.Judge, f.Option, "")
		testkit.OK(t, err)
		for _, o := range list {
			if !strings.HasPrefix(o.Prefill.Changes[0].Key, c.keys[0]) {
				t.Errorf("%s: %+v", c.override, o.Prefill.Changes)
			}
		}
		if len(list) == 0 {
			t.Errorf("%s: nothing is tried", c.override)
		}
	}
}

// Limits of TTFT are as much stricter as TTFT is later, of classes too, and no others; the scenario
// that they come from keeps its own.
func TestLaterFirstTokensAreStricterLimits(t *testing.T) {
	slo := scenarios.SLO{TTFT: scenarios.Limits{Request: 1000, P99: 4000},
		TPOT: scenarios.Limits{Request: 100}, E2E: scenarios.Limits{P90: 9000}}
	s := scenarios.Scenario{SLO: slo}
	s.Workload.Classes = []scenarios.Class{{SLO: slo}, {SLO: slo}}
	was := s
	stats.Later(&s, 4, 0)
	slo.TTFT = scenarios.Limits{Request: 250, P99: 1000}
	if s.SLO != slo || s.Workload.Classes[0].SLO != slo || s.Workload.Classes[1].SLO != slo ||
		was.Workload.Classes[0].SLO.TTFT.Request != 1000 {
		t.Errorf("%+v", s)
	}
}

// Each input changes by a tenth, up or down, and nothing else does; slower steps are the same as
// more requests with stricter limits. Prices change of one accelerator.
func TestInputsChangeByATenth(t *testing.T) {
	names := map[string][5]float64{ // rate, prompts, answers, limits, and Harder
		"rate +10 %": {1.1, 1, 1, 1, 1}, "rate −10 %": {0.9, 1, 1, 1, -1},
		"prompts 10 % longer": {1, 1.1, 1, 1, 1}, "prompts 10 % shorter": {1, 0.9, 1, 1, -1},
		"answers 10 % longer": {1, 1, 1.1, 1, 1}, "answers 10 % shorter": {1, 1, 0.9, 1, -1},
		"steps 10 % slower": {1.1, 1, 1, 1 / 1.1, 1}, "steps 10 % faster": {0.9, 1, 1, 1 / 0.9,
			-1},
	}
	for _, recorded := range []bool{false, true} {
		seen := 0
		f, _, _ := stubbed(t, steadyPlan, "menu.hardware=[l40s, h100-sxm, a100-sxm-80gb]")
		plan := f.Trials.File.Plan
		if recorded {
			plan.Workload.Trace = &scenarios.Trace{File: "t.csv"}
		}
		for _, in := range Inputs(&plan, "h100-sxm") {
			if in.Plan == nil {
				continue
			}
			seen++
			fresh, _, _ := stubbed(t, steadyPlan)
			p := &fresh.Trials.File.Plan
			was := *p
			in.Plan(p)
			want, known := names[in.Name]
			got := [5]float64{p.Peak() / was.Peak(),
				p.Workload.Prompt.Mean / was.Workload.Prompt.Mean,
				p.Workload.Output.Mean / was.Workload.Output.Mean,
				float64(p.SLO.TTFT.Request) / float64(was.SLO.TTFT.Request), float64(in.Harder)}
			for k := range got {
				if !known || math.Abs(got[k]-want[k]) > 1e-3 {
					t.Errorf("%s: %v, want %v", in.Name, got, want)
				}
			}
		}
		if want := map[bool]int{false: 8, true: 4}[recorded]; seen != want {
			t.Errorf("%d inputs of a plan, recorded %v", seen, recorded)
		}
	}
	f, options, _ := stubbed(t, steadyPlan, "menu.hardware=[l40s, h100-sxm, a100-sxm-80gb]")
	var found []string
	for _, in := range Inputs(&f.Trials.File.Plan, "h100-sxm") {
		if in.Price == nil {
			continue
		}
		found = append(found, in.Name)
		if in.Harder != 0 || in.Plan != nil {
			t.Errorf("%+v", in)
		}
		for _, o := range options {
			o.Price = 10
			in.Price(o)
			want := 10.0
			if name := o.Prefill.Offer.Accelerator; strings.HasPrefix(in.Name, name+" ") {
				want = map[bool]float64{true: 11, false: 9}[name == "h100-sxm"]
			}
			if !near(o.Price, want) {
				t.Errorf("%s: %s costs %g, want %g", in.Name, o.Shape(), o.Price, want)
			}
		}
	}
	if !slices.Equal(found, []string{"h100-sxm 10 % dearer", "l40s 10 % cheaper",
		"a100-sxm-80gb 10 % cheaper"}) {
		t.Errorf("%q", found)
	}
}
