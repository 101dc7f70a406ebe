package candidate

import (
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// A larger value helps against late first tokens, and a smaller one against slow answers; 0 is no
// bound, and so the largest. What is no number helps against nothing.
func TestValuesThatHelp(t *testing.T) {
	for _, c := range []struct {
		now, value   string
		first, token bool
	}{
		{"512", "1024", true, false}, {"512", "256", false, true}, {"0", "256", false, true},
		{"512", "0", true, false}, {"512", "512", true, false}, {"x", "1", false, false},
		{"1", "x", false, false}, {"0", "0", true, false},
	} {
		if got := Helps(metrics.TTFT, c.now, c.value); got != c.first {
			t.Errorf("%s for %s helps against TTFT: %v", c.value, c.now, got)
		}
		for _, latency := range []metrics.Latency{metrics.TPOT, metrics.ITL} {
			if got := Helps(latency, c.now, c.value); got != c.token {
				t.Errorf("%s for %s helps against %s: %v", c.value, c.now, latency, got)
			}
		}
		if got := Helps(metrics.E2E, c.now, c.value); got != (c.now != "x" && c.value != "x") {
			t.Errorf("%s for %s helps against E2E: %v", c.value, c.now, got)
		}
	}
}

// A change takes the place of an earlier one of the same setting, and of a limit of chunks that a
// new budget keeps anyway; the server itself stays as it is.
func TestChangesOfServers(t *testing.T) {
	_, list := optionsOf(t, "menu.weights=[bf16, fp8]")
	s := list[1].Prefill
	change := func(key, value, role string) Change {
		return Change{Key: key, Value: value, Policy: "chunked-prefill", Role: role,
			Setting: answer.Setting{Name: key, Value: value}}
	}
	cache := change(KVCache, "fp8", "")
	chunk := change("batching.chunk-limit", "512", policies.PromptOfOne)
	wide := change("batching.token-budget", "4096", policies.Tokens)
	narrow := change("batching.token-budget", "256", policies.Tokens)
	for _, c := range []struct {
		changes []Change
		label   string
		params  map[string]string
	}{
		{[]Change{cache}, "1 × h100-sxm, fp8, KV fp8", nil},
		{[]Change{chunk, wide}, "1 × h100-sxm, fp8, chunk-limit 512, token-budget 4096",
			map[string]string{"chunk-limit": "512", "token-budget": "4096"}},
		{[]Change{chunk, narrow}, "1 × h100-sxm, fp8, token-budget 256",
			map[string]string{"token-budget": "256"}},
		{[]Change{wide, cache, narrow}, "1 × h100-sxm, fp8, KV fp8, token-budget 256",
			map[string]string{"token-budget": "256"}},
		{[]Change{narrow, chunk}, "1 × h100-sxm, fp8, token-budget 256, chunk-limit 512",
			map[string]string{"chunk-limit": "512", "token-budget": "256"}},
	} {
		other := s
		for _, one := range c.changes {
			other = other.With(one)
		}
		scenario := other.Asked()
		last := c.changes[len(c.changes)-1]
		if got := other.Label(); got != c.label || s.Label() != "1 × h100-sxm, fp8" ||
			s.Changes != nil || other.Offer != s.Offer || other.GPUs != 1 {
			t.Errorf("%q of %q, want %q", got, s.Label(), c.label)
		}
		if len(scenario.Batching.Params) != len(c.params) {
			t.Errorf("%s: %v, want %v", c.label, scenario.Batching.Params, c.params)
		}
		for key, want := range c.params {
			if scenario.Batching.Params[key] != want ||
				scenario.Batching.Policy != "chunked-prefill" {
				t.Errorf("%s: %+v", c.label, scenario.Batching)
			}
		}
		if slices.Contains(c.changes, cache) != (scenario.Engine.KVCache == "fp8") ||
			scenario.Engine.Weights != "fp8" {
			t.Errorf("%s: %+v", c.label, scenario.Engine)
		}
		alone := &Option{Parts: &Parts{Prefill: other}}
		twice := &Option{Parts: &Parts{Prefill: other, Decode: other}}
		pair := &Option{Parts: &Parts{Prefill: s, Decode: other}}
		if alone.LastChanged() != " of"+last.Key || pair.LastChanged() != " of of"+last.Key {
			t.Errorf("%q and %q", alone.LastChanged(), pair.LastChanged())
		}
		first := &Option{Parts: &Parts{Prefill: other, Decode: s}}
		for pool, o := range map[string]*Option{"": alone, "decode": pair, "prefill": first} {
			settings := o.Settings()
			if len(settings) != len(other.Changes) || settings[len(settings)-1] != (answer.Setting{
				Name: last.Key, Value: last.Value, Pool: pool}) {
				t.Errorf("%s in %q: %+v", c.label, pool, settings)
			}
		}
		if got := twice.Settings(); len(got) != len(other.Changes) || got[0].Pool != "" {
			t.Errorf("both pools: %+v", got)
		}
	}
}

// The best measured shape is the cheapest that was measured, or else the cheapest with a better
// grade than the first; none where the first was measured.
func TestTheBestMeasuredShape(t *testing.T) {
	shape := func(g evidence.Grade, replicas int) answer.Shape {
		return answer.Shape{Grade: g, Replicas: replicas}
	}
	const measured, relative, kernels, formula = evidence.Measured, evidence.Relative,
		evidence.Kernels, evidence.Formula
	for _, c := range []struct {
		shapes []answer.Shape
		want   int // -1 for none
	}{
		{nil, -1},
		{[]answer.Shape{shape(measured, 1), shape(measured, 1)}, -1},
		{[]answer.Shape{shape(evidence.Here, 1), shape(measured, 1)}, -1},
		{[]answer.Shape{shape(kernels, 1), shape(relative, 1), shape(measured, 1),
			shape(measured, 2)}, 2},
		{[]answer.Shape{shape(kernels, 1), shape(measured, 0), shape(evidence.Here, 1)}, 2},
		{[]answer.Shape{shape(formula, 1), shape(formula, 1), shape(kernels, 1),
			shape(relative, 1)}, 2},
		{[]answer.Shape{shape(relative, 1), shape(relative, 1), shape(formula, 1)}, -1},
	} {
		got := BestMeasured(c.shapes)
		if c.want < 0 && got != nil || c.want >= 0 && got != &c.shapes[c.want] {
			t.Errorf("%+v: %+v", c.shapes, got)
		}
	}
}
