package capacity

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// drawnCombination draws a plan of a load, a horizon, a job, goals, terms and groups that may not
// go together.
func drawnCombination(rng *rand.Rand) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	job := rng.IntN(2) == 0
	also := func(one int) bool { // also of a job, which goes with few keys
		return rng.IntN(one) == 0 && (!job || rng.IntN(8) == 0)
	}
	add("model: llama-3.1-8b")
	load := pick(", rate: 6/s", ", users: 20, think: 5s",
		", users: 3", ", rate: {pattern: wave, average: 4/s, swing: 0.8}", ", rate: {pattern: "+
			"bursts, high: 9/s, low: 1/s, for: 20s, pause: 40s}, requests: 300")
	if job && rng.IntN(8) > 0 {
		load = ""
	}
	add("workload: {prompt: 400, output: 60%s}", load)
	if !also(8) && !job {
		add("slo: {ttft: 2s, tpot: 80ms}")
	}
	if also(2) {
		add("horizon: {months: %s, growth: %s%s}", pick("2", "6"), pick("0", "0.1", "0.9"),
			pick("", ", change: $50", ", start: 10m", ", commitments: [{months: 3, saves: 0.3}]"))
	}
	if job {
		add("job: {requests: 2000, within: %s%s}", pick("30m", "6h"), pick("", ", from: 20",
			", start: 5m", ", from: 8, start: 1m"))
	}
	if also(4) {
		add("goal: %s", pick("front", "cheapest", "{find: throughput, budget: $5/h}"))
	}
	if also(3) {
		add("fleet: {spare: %s, growth: %s}", pick("0", "1"), pick("1", "1.5"))
	}
	var offers []string
	for range 1 + rng.IntN(3) {
		offers = append(offers, fmt.Sprintf("{accelerator: %s, count: %s%s}", pick("l4", "l40s",
			"a100-80gb-sxm"), pick("4", "9"), pick(", price: $1/h", ", price: $2/h, by-hour: "+
			"22..6 at 0.5", ", price: $1/h, term: reserved", ", price: $0.5/h, term: spot, "+
			"interruptions: 0.1/h, return: 10m", ", term: owned, purchase: $9000, years: 3, "+
			"draw: 500W, electricity: $0.1/kWh")))
	}
	add("menu: {tensor: [1], tune: none, hardware: [%s]%s}", strings.Join(offers, ", "), pick("",
		"", ", disaggregated: [{prefill: 1, decode: 1}]", ", scaling: [{policy: outstanding, "+
			"target: 4, min: 1}]"))
	add("effort: {level: first, requests: 100, most-requests: 400}")
	return b.String()
}

// Whatever is put together in a plan is answered and told, or refused with its line and key.
func TestCombinationsAreAnsweredOrRefused(t *testing.T) {
	testkit.Dear(t)
	rng := testkit.Rand(t)
	named := regexp.MustCompile(`^plan\.yaml:\d+: [a-z]`)
	answered := map[string]int{}
	for range testkit.Cases(100) {
		text := drawnCombination(rng)
		f, err := asked.Parse("plan.yaml", []byte(text))
		var all *answer.Answers
		if err == nil {
			all, err = Solve(t.Context(), f, Options{})
		}
		switch {
		case err == nil:
			var out bytes.Buffer
			testkit.OK(t, all.Write(&out, answer.Whole))
			for _, key := range []string{"users", "horizon:", "job:"} {
				if strings.Contains(text, key) && all.Models[0].Chosen != nil {
					answered[key]++
				}
			}
			if a := all.Models[0]; f.Plan.Horizon != nil && a.Chosen != nil && a.Horizon == nil {
				t.Errorf("%s\nhas no months", text)
			}
		case !scenarios.IsInputError(err) || !named.MatchString(err.Error()):
			t.Errorf("%s\n%v", text, err)
		}
	}
	for _, key := range []string{"users", "horizon:", "job:"} {
		if testkit.Cases(100) == 100 && answered[key] == 0 {
			t.Errorf("no plan with %s is answered", key)
		}
	}
	t.Log(answered)
}
