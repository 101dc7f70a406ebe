package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// struckOff is a question, a menu, and the menu with something struck off.
type struckOff struct{ question, all, few string }

// drawnMenus draws questions and menus.
func drawnMenus(t *rapid.T) struckOff {
	lists := map[string][]string{
		"hardware":      {"l40s", "a100-80gb-sxm", "h100-sxm", "h200-sxm"},
		"tensor":        {"1", "2"},
		"weights":       {"bf16", "fp8"},
		"routing":       {"round-robin", "least-requests"},
		"kv-cache":      {"bf16", "fp8"},
		"batching":      {"{token-budget: 1024}", "{token-budget: 4096}"},
		"disaggregated": {"{prefill: 1, decode: 1}", "{prefill: 1, decode: 2}"},
	}
	for _, k := range []string{"weights", "routing", "kv-cache", "batching", "disaggregated"} {
		if rapid.IntRange(0, 2).Draw(t, k) > 0 {
			delete(lists, k)
		}
	}
	words := func(lists map[string][]string) string {
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(lists)) {
			keys = append(keys, k+": ["+strings.Join(lists[k], ", ")+"]")
		}
		return "menu: {" + strings.Join(keys, ", ") + "}\n"
	}
	m := struckOff{all: words(lists)}
	for _, k := range slices.Sorted(maps.Keys(lists)) {
		list := lists[k]
		if at := rapid.IntRange(0, 2*len(list)-1).Draw(t, "without "+k); at < len(list) {
			lists[k] = slices.Delete(slices.Clone(list), at, at+1)
		}
	}
	m.few = words(lists)
	m.question = fmt.Sprintf("model: %s\nworkload: {rate: %d/s, prompt: %d, output: %d}\n"+
		"slo: {ttft: %dms, tpot: %dms}\neffort: {requests: 100, most-requests: 400}\n",
		rapid.SampledFrom([]string{"llama-3.1-8b", "qwen3-14b", "mistral-7b"}).Draw(t, "model"),
		rapid.IntRange(1, 30).Draw(t, "rate"),
		rapid.SampledFrom([]int{200, 1000, 4000}).Draw(t, "prompt"),
		rapid.SampledFrom([]int{20, 200, 600}).Draw(t, "output"),
		rapid.SampledFrom([]int{300, 1000, 4000}).Draw(t, "ttft"),
		rapid.SampledFrom([]int{20, 40, 100}).Draw(t, "tpot"))
	return m
}

// A menu from which something is struck off never has a cheaper answer, settings that are tried
// beside the menu included: so that a setting which makes a policy of the menu the cheapest is
// found, although the policy is far from it without.
func TestSmallerMenusAreNotCheaper(t *testing.T) {
	takeTurns(t)
	var all []int
	for seed := range 1000 {
		all = append(all, seed)
	}
	generator := rapid.Custom(drawnMenus)
	var cases []struckOff
	for _, seed := range testkit.DrawCases(t, 2**pairs, all) {
		cases = append(cases, generator.Example(seed))
	}
	const memory = "menu: {hardware: [h200-sxm], tensor: [8], routing: [session-affinity], " +
		"memory: [%s{policy: offload, cpu: 512GiB, price: $0.0034/h}]}\n"
	agents, err := asked.Read("host-memory")
	testkit.OK(t, err)
	question, _, _ := strings.Cut(string(agents), "menu:")
	cases = append(cases, struckOff{question, fmt.Sprintf(memory, "{policy: prefix-cache}, "),
		strings.Replace(memory, "%s{policy: offload, cpu: 512GiB, price: $0.0034/h}",
			"{policy: prefix-cache}", 1)})
	q := testQueue(t)
	hourly := func(text string) (float64, string) {
		f, err := asked.Parse("plan.yaml", []byte(text))
		testkit.OK(t, err)
		s, err := find(t.Context(), f, q, Options{})
		testkit.OK(t, err)
		if s.best < 0 {
			return math.Inf(1), "no fleet"
		}
		return s.cost(), fmt.Sprintf("%d of %s", s.size(), s.label(s.best))
	}
	for _, m := range cases {
		all, best := hourly(m.question + m.all)
		if few, other := hourly(m.question + m.few); all > few {
			t.Errorf("$%g/h for %s of\n%s$%g/h for %s of\n%s%s", all, best, m.all, few, other,
				m.few, m.question)
		}
	}
}
