package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"
)

// menus are five questions with 500 options and more. Simulations are short: it is the search that
// is tested.
func menus() map[string]string {
	const wide = `
  tensor: [1, 2, 4, 8]
  weights: [bf16, fp8, int4]
  kv-cache: [bf16, fp8]
  batching: [{max-sequences: 32}, {max-sequences: 128}, {max-sequences: 256, token-budget: 2048}]
`
	const all = "[h100-sxm, a100-80gb-sxm, h200-sxm, l40s, a40, l4, b200-sxm, mi300x]"
	const nvidia = "[h100-sxm, a100-80gb-sxm, h200-sxm, l40s, rtx-pro-6000, a100-80gb-pcie, b200-sxm]"
	const effort = "\neffort: {requests: 200, most-requests: 400}\n"
	text := func(head, hardware, tail string) string {
		return head + "\nmenu:\n  hardware: " + hardware + wide + tail + effort
	}
	return map[string]string{
		"chat 8B": text("model: llama-3.1-8b\nworkload: {rate: 150/s, prompt: 200, output: 40}\nslo: {ttft: 300ms, tpot: 30ms}", all, ""),
		"prefill-heavy 8B, N+1": text("model: llama-3.1-8b\nworkload: {rate: 50/s, prompt: {distribution: lognormal, mean: 1500, cv: 0.5, max: 8000}, output: 10}\nslo: {ttft: 600ms, percentile: 95}",
			nvidia, "fleet: {spare: 1}"),
		"decode-heavy 70B": text("model: llama-2-70b\nworkload: {rate: 40/s, prompt: 60, output: 80}\nslo: {ttft: 500ms, tpot: 60ms}", nvidia, ""),
		"counts and prices": text("model: llama-2-70b\nworkload: {rate: 40/s, prompt: 300, output: 40}\nslo: {ttft: 800ms, tpot: 100ms}",
			"[{accelerator: h100-sxm, count: 8, price: $1.5/h}, {accelerator: a100-80gb-sxm, count: 64, price: $0.9/h}, {accelerator: h200-sxm, price: $4/h}, l40s, a40, {accelerator: mi300x, count: 1}, {accelerator: b200-sxm, price: $9/h}]", ""),
		"tight SLO, mixture of experts": text("model: mixtral-8x7b\nworkload: {rate: 80/s, prompt: 200, output: 40}\nslo: {ttft: 300ms, tpot: 15ms}", nvidia, ""),
	}
}

func testQueue(t *testing.T) *queue.Queue {
	t.Helper()
	q, err := queue.Open(context.Background(), queue.Config{}, queue.Handlers{Kind: Simulate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func prepared(t *testing.T, text string) (*search, *trials) {
	t.Helper()
	f, err := Parse("menu.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.newSearch(testQueue(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, s.trials
}

// exhaustive finds the answer without bounds and without regard to what others cost: for each
// option the least number of replicas, by bisection from one to as many as make the load light.
func exhaustive(t *testing.T, s *search) (best, replicas int) {
	t.Helper()
	best = -1
	for i, o := range s.options {
		if o.unfit != "" {
			continue
		}
		low, high := 0, s.most(o)
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
		here, there := high+s.spare, replicas+s.spare
		if cmp.Or(cmp.Compare(float64(here)*o.price, float64(there)*b.price), cmp.Compare(here*o.gpus, there*b.gpus)) < 0 {
			best, replicas = i, high
		}
	}
	return best, replicas
}

func sustained(t *testing.T, s *search, o *option, n int) bool {
	t.Helper()
	v, err := s.trials.sustains(context.Background(), o, s.rate/float64(n))
	if err != nil {
		t.Fatal(err)
	}
	return v.sustained
}

// The planner's answer is that of exhaustive search, with a tenth of its simulations.
func TestTheAnswerIsThatOfExhaustiveSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates every option of five menus")
	}
	for name, text := range menus() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned, trials := prepared(t, text)
			if err := planned.run(context.Background()); err != nil {
				t.Fatal(err)
			}
			every, all := prepared(t, text)
			best, replicas := exhaustive(t, every)
			if len(every.options) < 500 {
				t.Errorf("%d options, want 500", len(every.options))
			}
			if planned.best != best || best >= 0 && planned.fates[best].replicas != replicas {
				t.Errorf("planned %s, exhaustive search finds %s", answer(planned, planned.best), answerOf(every, best, replicas))
			}
			t.Logf("%d options, %d simulations, exhaustive %d; %s", len(every.options), trials.count(), all.count(), answer(planned, planned.best))
			if 10*trials.count() > all.count() {
				t.Errorf("%d simulations, exhaustive search needs %d: more than a tenth", trials.count(), all.count())
			}
		})
	}
}

func answer(s *search, i int) string {
	if i < 0 {
		return "nothing"
	}
	return answerOf(s, i, s.fates[i].replicas)
}

func answerOf(s *search, i, replicas int) string {
	if i < 0 {
		return "nothing"
	}
	return fmt.Sprintf("%d replicas of %s, $%.2f/h", replicas, s.options[i].label, float64(replicas+s.spare)*s.options[i].price)
}

// What one replica sustains is less than the bound, and the bound is not idle talk: within a factor
// of ten.
func TestBoundsHold(t *testing.T) {
	for _, text := range []string{
		"model: llama-3.1-8b\nworkload: {rate: 60/s, prompt: 300, output: 60}\nslo: {ttft: 20s, tpot: 1s, percentile: 90}\nmenu: {hardware: [h100-sxm, l4], tensor: [1, 2]}",
		"model: llama-2-70b\nworkload: {rate: 6/s, prompt: 1500, output: 20}\nslo: {ttft: 60s, tpot: 5s, percentile: 90}\nmenu: {hardware: [a100-80gb-sxm], tensor: [2, 4, 8]}",
	} {
		s, _ := prepared(t, text+"\neffort: {requests: 1000, most-requests: 2000}")
		s.fates = make([]fate, len(s.options))
		for i, o := range s.options {
			rate, _, err := s.highest(context.Background(), i)
			if err != nil {
				t.Fatal(err)
			}
			if rate > o.ceiling || rate < o.ceiling/10 || math.IsInf(o.ceiling, 0) {
				t.Errorf("%s: sustains %g/s, the bound is %g/s", o.label, rate, o.ceiling)
			}
		}
	}
}

// With other inputs the predictions rest on what they rested on before.
func TestOtherInputsKeepTheEvidence(t *testing.T) {
	s, _ := prepared(t, "model: llama-2-70b\nworkload: {rate: 6/s, prompt: 500, output: 20}\nmenu: {hardware: [a100-80gb-sxm], tensor: [4]}")
	s.best, s.fates = 0, []fate{{kind: chosen, replicas: 1}}
	for _, p := range s.perturbations() {
		other, err := s.perturbed(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := other.options[0], s.options[0]; got.grade != want.grade || got.physics != want.physics {
			t.Errorf("%s: %s with %+v, want %s with %+v", p.input, got.grade, got.physics, want.grade, want.physics)
		}
	}
}

func TestBadPlans(t *testing.T) {
	const good = "model: llama-3.1-8b\nworkload: {rate: 2/s}\nmenu: {hardware: [h100-sxm]}"
	q := testQueue(t)
	for text, want := range map[string]string{
		"":                    "the file is empty",
		"model: llama-3.1-8b": "menu: must be given",
		strings.Replace(good, "[h100-sxm]", "[]", 1):                                                    "the list is empty",
		strings.Replace(good, "[h100-sxm]", "[{accelerator: h100-sxm, price: $0/h}]", 1):                "must be more than 0",
		strings.Replace(good, "[h100-sxm]", "[h1000]", 1):                                               `did you mean h100`,
		strings.Replace(good, "{rate: 2/s}", "{prompt: 20}", 1):                                         "a plan needs a rate",
		strings.Replace(good, "2/s", "{pattern: bursts, high: 2/s, for: 1s, pause: 1s}", 1):             "Give the highest rate",
		strings.Replace(good, "rate: 2/s", "rate: 2/s, requests: 5", 1):                                 "follows from effort",
		strings.Replace(good, "rate: 2/s", "arrivals: {process: closed-loop, users: 3}", 1):             "requests that arrive at a rate",
		good + "\nslo: {ttft: 2s, e2e: 1s}":                                                             "contradicts a first token",
		good + "\nslo: {itl: 60ms}":                                                                     "slo.itl: found 60ms for a request",
		good + "\nslo: {ttft: {p50: 2s, p99: 1s}}":                                                      "slo.ttft.p50: found 2s, more than",
		good + "\neffort: {requests: 5000, most-requests: 1000}":                                        "less than the 5000",
		"models: [{model: a, workload: {rate: 1/s}}]\nmodel: b\nmenu: {hardware: [l4]}":                 "has no meaning beside models",
		"models: [{model: a, workload: {rate: 1/s}}, {model: a, workload: {}}]\nmenu: {hardware: [l4]}": "names of models must differ",
		"models: [{model: a, workload: {prompt: 2}}]\nmenu: {hardware: [l4]}":                           "a plan needs a rate",
		"menu: {hardware: [l4]}":                                                                        "must be given: a model, or several",
		good + "\nflet: {spare: 1}":                                                                     "did you mean fleet",
		strings.Replace(good, "menu: {", "menu: {tensor: [0], ", 1):                                     "must be at least 1",
		strings.Replace(good, "menu: {", "menu: {engines: [vlm], ", 1):                                  "no engine",
	} {
		f, err := Parse("bad.yaml", []byte(text))
		if err == nil {
			_, err = f.newSearch(q, Options{})
		}
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}
