package capacity

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	cmpdiff "github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

var long = flag.Bool("long", false,
	"search menus of 500 to 3,000 options exhaustively, rather than parts of them")

// menuCase is a menu to be searched exhaustively: what is asked, and the lists from which options
// are made.
type menuCase struct{ name, head, hardware, lists, tail string }

// most returns the most simulations that the search may take, in per cent of exhaustive ones.
func most() int {
	if *long {
		return 3
	}
	return 50
}

// menus are ten questions with 500 options and more. Simulations are short: it is the search that
// is tested.
func menus() []menuCase {
	const wide = `
  tensor: [1, 2, 4, 8]
  weights: [bf16, fp8, int4]
  kv-cache: [bf16, fp8]
  batching: [{max-sequences: 32}, {max-sequences: 128}, {max-sequences: 256, token-budget: 2048}]
`
	const experts = `
  tensor: [1, 2, 4, 8]
  data: [1, 2, 4, 8]
  expert: [1, 8]
  weights: [bf16, fp8]
  batching: [{max-sequences: 32}, {max-sequences: 128}, {max-sequences: 256, token-budget: 2048}]
`
	const pools = `
  tensor: [1, 2, 4]
  disaggregated:
    - prefill: {replicas: 1..2, hardware: [h100-sxm, l40s], batching: [{token-budget: 2048}, {token-budget: 8192}]}
      decode: {replicas: 1..2, hardware: [h100-sxm, a100-80gb-sxm, h200-sxm], tensor: [1, 2], weights: [bf16, fp8]}
`
	const drafts = wide + `
  speculation:
    - {method: eagle, tokens: 2, acceptance: 0.7}
    - {method: eagle, tokens: 4, acceptance: 0.7}
    - {method: n-gram, tokens: 4, acceptance: 0.3}
`
	const routings = `
  tensor: [1, 2, 4]
  weights: [bf16, fp8]
  memory: [{policy: prefix-cache}, {policy: paged}]
  routing: [round-robin, least-requests, prefix-aware, {policy: prefix-aware, share: 0.2}]
  batching: [{max-sequences: 32}, {max-sequences: 128}, {max-sequences: 256, token-budget: 2048}]
`
	const all = "[h100-sxm, a100-80gb-sxm, h200-sxm, l40s, a40, l4, b200-sxm, mi300x]"
	const nvidia = "[h100-sxm, a100-80gb-sxm, h200-sxm, l40s, rtx-pro-6000, a100-80gb-pcie, " +
		"b200-sxm]"
	return []menuCase{
		{"chat 8B", "model: llama-3.1-8b\nworkload: {rate: 150/s, prompt: 200, output: 40}\nslo: " +
			"{ttft: 300ms, tpot: 30ms}", all, wide, ""},
		{"prefill-heavy 8B, N+1",
			"model: llama-3.1-8b\nworkload: {rate: 50/s, prompt: {distribution: lognormal, mean: " +
				"1500, cv: 0.5, max: 8000}, output: 10}\nslo: {ttft: 600ms, percentile: 95}",
			nvidia, wide, "fleet: {spare: 1}"},
		{"decode-heavy 70B", "model: llama-2-70b\nworkload: {rate: 40/s, prompt: 60, output: " +
			"80}\nslo: {ttft: 500ms, tpot: 60ms}", nvidia, wide, ""},
		{"counts and prices", "model: llama-2-70b\nworkload: {rate: 40/s, prompt: 300, output: " +
			"40}\nslo: {ttft: 800ms, tpot: 100ms}",
			"[{accelerator: h100-sxm, count: 8, price: $1.5/h}, {accelerator: a100-80gb-sxm, " +
				"count: 64, price: $0.9/h}, {accelerator: h200-sxm, price: $4/h}, l40s, a40, " +
				"{accelerator: mi300x, count: 1}, {accelerator: b200-sxm, price: $9/h}]", wide, ""},
		{"tight SLO, mixture of experts",
			"model: mixtral-8x7b\nworkload: {rate: 80/s, prompt: 200, output: 40}\nslo: {ttft: " +
				"300ms, tpot: 15ms}", nvidia, wide, ""},
		{"expert parallelism",
			"model: mixtral-8x7b\nworkload: {rate: 80/s, prompt: 400, output: 60}\nslo: {ttft: " +
				"1s, tpot: 40ms}", nvidia, experts, ""},
		{"pools", "model: qwen2.5-14b\nworkload: {rate: 30/s, prompt: 1500, output: 60}\nslo: " +
			"{ttft: 1s, tpot: 25ms}", "[h100-sxm, a100-80gb-sxm]", pools, ""},
		{"pools, prompts in bursts",
			"model: llama-3.1-8b\nworkload: {rate: {pattern: bursts, high: 40/s, low: 4/s, for: " +
				"4s, pause: 8s}, prompt: 1500, output: 40, duration: 40s}\nslo: {ttft: 1s, " +
				"tpot: 30ms}",
			"[h100-sxm, l40s]", pools, ""},
		{"drafts", "model: llama-3.1-8b\nworkload: {rate: 6/s, prompt: 200, output: 60}\nslo: " +
			"{ttft: 1s, tpot: 5ms}", nvidia, drafts, ""},
		{"routings over shared prefixes",
			"model: llama-3.1-8b\nworkload: {rate: 12/s, prompt: 100, output: 20, prefix: " +
				"{groups: 40, tokens: 3000}}\nslo: {ttft: 120ms, tpot: 30ms}", nvidia, routings,
			""},
	}
}

// text returns the plan: the whole, or with shorter lists.
func (m menuCase) text(whole bool) string {
	lists, hardware := m.lists, m.hardware
	if !whole {
		lists = strings.NewReplacer("tensor: [1, 2, 4, 8]", "tensor: [1, 4]",
			"weights: [bf16, fp8, int4]", "weights: [fp8]", "data: [1, 2, 4, 8]", "data: [1, 2]",
			"kv-cache: [bf16, fp8]", "kv-cache: [bf16]", "1..2", "1", "{max-sequences: 32}, ", "",
			"[bf16, fp8]\n  memory", "[fp8]\n  memory", "round-robin, ", "",
			"tensor: [1, 2, 4]", "tensor: [1, 2]", "h100-sxm, a100-80gb-sxm, h200-sxm",
			"h100-sxm, a100-80gb-sxm").Replace(lists)
		hardware = strings.NewReplacer(", l40s, a40, l4, b200-sxm, mi300x", "",
			", rtx-pro-6000, a100-80gb-pcie, b200-sxm", "").Replace(hardware)
	}
	return m.head + "\nmenu:\n  hardware: " + hardware + lists + m.tail +
		"\neffort: {requests: 200, most-requests: 400}\n"
}

func testQueue(t *testing.T) *queue.Queue {
	t.Helper()
	q, err := queue.Open(context.Background(), queue.Config{},
		queue.Handlers{judge.Kind: judge.Simulate})
	testkit.OK(t, err)
	t.Cleanup(q.Close)
	return q
}

func prepared(t *testing.T, text string) (*search, *judge.Trials) {
	t.Helper()
	f, err := asked.Parse("menu.yaml", []byte(text))
	testkit.OK(t, err)
	s, err := newSearch(t.Context(), f, testQueue(t), Options{})
	testkit.OK(t, err)
	return s, s.Trials
}

// exhaustive finds the answer without bounds and without regard to what others cost or show: for
// each option the least number of replicas, by bisection from one to as many as make the load
// light. It counts the simulations.
func exhaustive(t *testing.T, s *search) (best, replicas, all int) {
	t.Helper()
	best = -1
	for i, o := range s.options {
		if o.Unfit() != "" {
			continue
		}
		all += s.Trials.Count()
		s.Trials.Ledger = &judge.Ledger{Known: map[string]*judge.Entry{}}
		low, high := 0, s.Most(o)
		if high < 1 || !sustained(t, s, o, high) {
			continue
		}
		for high-low > 1 {
			if middle := (low + high) / 2; sustained(t, s, o, middle) {
				high = middle
			} else {
				low = middle
			}
		}
		if best < 0 {
			best, replicas = i, high
			continue
		}
		b := s.options[best]
		here, there := high+s.Spare, replicas+s.Spare
		if cmp.Or(cmp.Compare(float64(here)*o.Price, float64(there)*b.Price),
			cmp.Compare(candidate.Rank(o.Grade), candidate.Rank(b.Grade)),
			cmp.Compare(here*o.GPUs, there*b.GPUs), s.comparePlain(o, b)) < 0 {
			best, replicas = i, high
		}
	}
	return best, replicas, all + s.Trials.Count()
}

func sustained(t *testing.T, s *search, o *candidate.Option, n int) bool {
	t.Helper()
	v, err := s.Enough(context.Background(), o, n)
	testkit.OK(t, err)
	return v.Sustained
}

// The planner's answer is that of exhaustive search, of whose simulations it takes at most 3 % on
// each of the whole menus. With -long all ten are tried whole, otherwise parts of four drawn ones.
func TestTheAnswerIsThatOfExhaustiveSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates every option of ten menus")
	}
	testkit.Dear(t)
	tried := menus()
	if !*long {
		tried = testkit.DrawCases(t, 4, tried)
	}
	for _, menu := range tried {
		t.Run(menu.name, func(t *testing.T) {
			againstExhaustive(t, menu.text(*long), most())
		})
	}
}

// againstExhaustive answers a plan both ways, the planner with at most that per cent of the
// simulations.
func againstExhaustive(t *testing.T, text string, most int) {
	t.Helper()
	planned, trials := prepared(t, text)
	testkit.OK(t, planned.run(context.Background()))
	every, _ := prepared(t, text)
	best, replicas, all := exhaustive(t, every)
	if planned.best != best || best >= 0 && planned.outcomes[best].replicas != replicas {
		t.Errorf("planned %s, exhaustive search finds %s", bestOf(planned, planned.best),
			answerOf(every, best, replicas))
	}
	needed := trials.Count()
	t.Logf("%d options, %d simulations, exhaustive %d; %s", len(every.options), needed, all,
		bestOf(planned, planned.best))
	if n := len(every.options); *long && (n < 500 || n > 3000) {
		t.Errorf("%d options, want 500 to 3,000", n)
	}
	if 100*needed > most*all {
		t.Errorf("%d simulations, exhaustive search needs %d: more than %d %%", needed, all,
			most)
	}
}

// Looking ahead changes neither the answer nor what is said of options, nor how many simulations
// are said to be needed.
func TestLookingAheadChangesNothing(t *testing.T) {
	var told []string
	for _, workers := range []int{1, 4} {
		f, err := asked.Parse("menu.yaml", []byte(menus()[1].text(false)))
		testkit.OK(t, err)
		s, err := newSearch(t.Context(), f, testQueue(t),
			Options{Queue: queue.Config{Workers: workers}})
		testkit.OK(t, err)
		testkit.OK(t, s.run(context.Background()))
		a := new(answer.Answer)
		addOutcomes(a, s)
		told = append(told, fmt.Sprint(s.Trials.Count(), s.best, a.Outcomes, a.Pruned))
		if begun := len(s.Trials.Known); begun == s.Trials.Count() && workers > 1 {
			t.Errorf("none of %d simulations was begun ahead in vain: nothing is tested", begun)
		}
	}
	if told[0] != told[1] {
		t.Errorf("alone %s\nahead %s", told[0], told[1])
	}
}

func bestOf(s *search, i int) string {
	if i < 0 {
		return "nothing"
	}
	return answerOf(s, i, s.outcomes[i].replicas)
}

func answerOf(s *search, i, replicas int) string {
	if i < 0 {
		return "nothing"
	}
	return fmt.Sprintf("%d replicas of %s, $%.2f/h", replicas, s.label(i),
		float64(replicas+s.Spare)*s.options[i].Price)
}

// What one replica sustains is less than the bound, and the bound is not idle talk: within a factor
// of ten.
func TestBoundsHold(t *testing.T) {
	testkit.Dear(t)
	plans := []string{
		"model: llama-3.1-8b\nworkload: {rate: 60/s, prompt: 300, output: 60}\nslo: {ttft: 20s, " +
			"tpot: 1s, percentile: 90}\nmenu: {hardware: [h100-sxm, l4], tensor: [1, 2]}",
		"model: llama-2-70b\nworkload: {rate: 6/s, prompt: 1500, output: 20}\nslo: {ttft: 60s, " +
			"tpot: 5s, percentile: 90}\nmenu: {hardware: [a100-80gb-sxm], tensor: [2, 4, 8]}",
		"model: mixtral-8x7b\nworkload: {rate: 20/s, prompt: 200, output: 60}\nslo: {ttft: 2s, " +
			"tpot: 30ms, percentile: 90}\nmenu: {hardware: [h100-sxm, h200-sxm], tensor: [2], " +
			"pipeline: [1, 2], weights: [bf16, fp8]}",
		"model: llama-3.1-8b\nworkload: {rate: 20/s, prompt: 200, output: 60}\nslo: {ttft: 2s, " +
			"tpot: 12ms, percentile: 90}\nmenu: {hardware: [h100-sxm], tensor: [1], pipeline: " +
			"[1, 2], batching: [{max-sequences: 8}, {max-sequences: 256}]}",
		"model: llama-3.1-8b\nworkload: {rate: 20/s, prompt: 50, output: 200, prefix: {groups: " +
			"2, tokens: 12000}}\nslo: {ttft: 5s, tpot: 100ms, percentile: 80}\nmenu: {hardware: " +
			"[h100-sxm], tensor: [1, 2], memory: [{policy: prefix-cache}]}",
	}
	effort := "\neffort: {requests: 1000, most-requests: 2000}"
	if testing.Short() {
		plans = testkit.DrawCases(t, 1, plans)
		effort = "\neffort: {requests: 150, most-requests: 300}"
	}
	for _, text := range plans {
		s, _ := prepared(t, text+effort)
		s.outcomes = make([]outcome, len(s.options))
		for i, o := range s.options {
			if testing.Short() && i%2 > 0 {
				continue
			}
			rate, _, err := s.highest(context.Background(), i)
			testkit.OK(t, err)
			if rate > o.Ceiling || rate < o.Ceiling/10 || math.IsInf(o.Ceiling, 0) {
				t.Errorf("%s: sustains %g/s, the bound is %g/s", s.label(o.Index), rate, o.Ceiling)
			}
		}
	}
}

// With other inputs the predictions rest on what they rested on before.
func TestOtherInputsKeepTheEvidence(t *testing.T) {
	s, _ := prepared(t, "model: llama-2-70b\nworkload: {rate: 6/s, prompt: 500, output: "+
		"20}\nmenu: {hardware: [a100-80gb-sxm], tensor: [4]}")
	s.best, s.outcomes = 0, []outcome{{kind: chosen, replicas: 1}}
	for _, p := range detail.Inputs(&s.Trials.File.Plan, s.chosen().Prefill.Offer.Accelerator) {
		other, err := (&cheapestGoal{fleetGoal{s}}).perturbed(t.Context(), p)
		testkit.OK(t, err)
		if got, want := other.options[0], s.options[0]; got.Grade != want.Grade ||
			got.Physics != want.Physics {
			t.Errorf("%s: %s with %+v, want %s with %+v", p.Name, got.Grade, got.Physics,
				want.Grade, want.Physics)
		}
	}
}

func TestBadPlans(t *testing.T) {
	const good = "model: llama-3.1-8b\nworkload: {rate: 2/s}\nmenu: {hardware: [h100-sxm]}"
	q := testQueue(t)
	for text, want := range map[string]string{
		"":                    "the file is empty",
		"model: llama-3.1-8b": "a plan needs a load",
		strings.Replace(good, "[h100-sxm]", "[]",
			1): "the list is empty",
		strings.Replace(good, "[h100-sxm]", "[{accelerator: h100-sxm, price: $0/h}]",
			1): "must be more than 0",
		strings.Replace(good, "[h100-sxm]", "[h1000]",
			1): `did you mean h100`,
		strings.Replace(good, "{rate: 2/s}", "{prompt: 20}",
			1): "a plan needs a load",
		strings.Replace(good, "rate: 2/s", "rate: 2/s, requests: 5",
			1): "follows from effort",
		strings.Replace(good, "rate: 2/s", "rate: 2/s, arrivals: at-once",
			1): "requests that arrive over time",
		strings.Replace(good, "menu: {", "menu: {disaggregated: [{prefill: 2..1, decode: 1}], ",
			1): "a number of replicas from 1",
		good + "\nslo: {ttft: 2s, e2e: 1s}":        "contradicts a first token",
		good + "\nslo: {itl: 60ms}":                "slo.itl: found 60ms for a request",
		good + "\nslo: {ttft: {p50: 2s, p99: 1s}}": "slo.ttft.p50: found 2s, but the limit of 1s",
		good + "\neffort: {requests: 5000, " +
			"most-requests: 1000}": "less than the 5000",
		"models: [{model: a, workload: {rate: 1/s}}]\nmodel: b\nmenu: " +
			"{hardware: [l4]}": "has no meaning together with models",
		"models: [{model: a, workload: {rate: 1/s}}, {model: a, workload: {}}]\nmenu: " +
			"{hardware: [l4]}": "names of models must differ",
		"models: [{model: a, workload: {prompt: 2}}]\nmenu: " +
			"{hardware: [l4]}": "a plan needs a load",
		"menu: {hardware: [l4]}":    "must be given: one model here, or several",
		good + "\nflet: {spare: 1}": "did you mean fleet",
		strings.Replace(good, "menu: {", "menu: {tensor: [0], ",
			1): "must be at least 1",
		strings.Replace(good, "menu: {", "menu: {engines: [vlm], ",
			1): "unknown engine",
		strings.Replace(good, "menu: {", "menu: {routing: [round-robin, leest-requests], ",
			1): "did you mean least-requests",
	} {
		f, err := asked.Parse("bad.yaml", []byte(text))
		if err == nil {
			_, err = newSearch(t.Context(), f, q, Options{})
		}
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}

// Who ends a plan does not wait until all options are prepared.
func TestPreparingEnds(t *testing.T) {
	f, err := asked.Parse("menu.yaml", []byte("model: llama-2-7b\nworkload: {rate: 1/s}\n"+
		"menu: {hardware: [l4]}"))
	testkit.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newSearch(ctx, f, testQueue(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// Where there is one replica, all requests go to it: whatever chooses it, a simulation shows the
// same, and is not made again.
func TestOneReplicaNeedsNoRouting(t *testing.T) {
	f, err := asked.Parse("menu.yaml", []byte(menus()[9].text(false)))
	testkit.OK(t, err)
	s, err := newSearch(t.Context(), f, testQueue(t), Options{})
	testkit.OK(t, err)
	plain := s.options[0].Scenario(&f.Plan.Menu, 1, 1)
	trialOf := func(policy string) any {
		plain.Routing = scenarios.Policy{Policy: policy}
		file, err := f.File(plain, 4, 200)
		testkit.OK(t, err)
		seen, err := judge.Simulate(t.Context(), file, f.Plan.Params())
		if err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		return seen
	}
	want := trialOf("")
	for _, policy := range policies.Default().Routing.Policies {
		if diff := cmpdiff.Diff(want, trialOf(policy.Name)); diff != "" {
			t.Errorf("%s shows other figures:\n%s", policy.Name, diff)
		}
	}
	for _, o := range s.options {
		if _, err := s.Enough(t.Context(), o, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n, most := s.Trials.Count(), len(s.options)/len(f.Plan.Menu.Routing); n > most {
		t.Errorf("%d simulations of one replica, want at most %d", n, most)
	}
}
