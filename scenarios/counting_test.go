package scenarios

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// counted sums up the prompt tokens of a run that came from a prefix cache.
type counted struct {
	sim.NopObserver
	prompt, cached int64
	wrong          []string
}

// Finished implements sim.Observer.
func (c *counted) Finished(s *sim.Sequence) {
	c.prompt, c.cached = c.prompt+int64(s.Prompt), c.cached+int64(s.Cached)
	shared := 0
	for _, segment := range s.Content {
		shared += segment.Tokens
	}
	if s.Cached < 0 || s.Cached >= s.Prompt || s.Cached > shared {
		c.wrong = append(c.wrong, fmt.Sprintf("request %d has %d cached of %d prompt tokens, and "+
			"another prompt can have %d of them", s.ID, s.Cached, s.Prompt, shared))
	}
}

func runCounted(t *testing.T, text string, overrides ...string) (*Result, *counted) {
	t.Helper()
	f, err := Parse("counted.yaml", []byte(text), overrides...)
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	c := new(counted)
	r, err := s.Run(context.Background(), c)
	testkit.OK(t, err)
	if len(c.wrong) > 0 {
		t.Errorf("%s: %s", overrides, strings.Join(c.wrong[:min(3, len(c.wrong))], "\n"))
	}
	if r.CachedTokens != c.cached || r.TotalInputTokens != c.prompt {
		t.Errorf("%s: %d of %d prompt tokens are cached; the completed requests have %d of %d",
			overrides, r.CachedTokens, r.TotalInputTokens, c.cached, c.prompt)
	}
	return r, c
}

// scarce has a KV memory that is much too small, so that requests lose their place and come back.
const scarce = `
model: llama-3.1-8b
hardware: h100-sxm
memory: {policy: prefix-cache, tokens: 3000}
engine: {max-model-len: 1500}
workload: {requests: 200, arrivals: at-once, prompt: 20, output: 400}
`

// A request that comes back after a preemption, or after its replica failed, finds KV blocks that
// it wrote itself. They save work, and are no hits of the prefix cache: prompts that share nothing
// have no hits, and a prompt that shares a prefix has at most the prefix.
func TestCachedTokensCountOnce(t *testing.T) {
	r, _ := runCounted(t, scarce)
	if r.Preemptions == 0 || r.CachedTokens != 0 || r.TokenCosts.Cached != 0 {
		t.Errorf("%d preemptions, and %d cached tokens of prompts that share nothing, at %g",
			r.Preemptions, r.CachedTokens, r.TokenCosts.Cached)
	}
	r, _ = runCounted(t, scarce, "replicas=2", "fleet.retries=9",
		"fleet.outages=[{replica: 0, at: 3s, for: 1s}, {replica: 1, at: 6s, for: 1s}]")
	if r.Fleet.Retries == 0 || r.CachedTokens != 0 {
		t.Errorf("%d retries, and %d cached tokens of prompts that share nothing", r.Fleet.Retries,
			r.CachedTokens)
	}
	// Of 8 answers to a prompt, the first computes it.
	r, _ = runCounted(t, scarce, "workload.samples=8", "workload.prompt=160", "workload.output=300")
	if r.Preemptions == 0 || 8*r.CachedTokens > 7*r.TotalInputTokens {
		t.Errorf("%d preemptions, and %d of %d prompt tokens cached, more than 7 of 8",
			r.Preemptions, r.CachedTokens, r.TotalInputTokens)
	}
	r, _ = runCounted(t, scarce, "workload.prefix={groups: 2, tokens: 160}")
	if r.Preemptions == 0 || r.CachedTokens == 0 || r.CachedTokens > 198*160 {
		t.Errorf("%d preemptions, and %d cached tokens; 198 requests can have 160 each",
			r.Preemptions, r.CachedTokens)
	}
}

// The tokens that came from a cache and the tokens of prompts are of the same requests, also where
// most users leave before they have an answer. runCounted checks it.
func TestCachedTokensAreOfCompletedRequests(t *testing.T) {
	r, _ := runCounted(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {requests: 300, "+
		"rate: 30/s, prefix: {groups: 2, tokens: 1000}, prompt: 100, output: 200, "+
		"patience: 1700ms}")
	if r.Cut+r.Cancelled < 200 || r.CachedTokens == 0 || r.CachedTokens > r.TotalInputTokens {
		t.Errorf("%d of %d prompt tokens cached; %d users left", r.CachedTokens, r.TotalInputTokens,
			r.Cut+r.Cancelled)
	}
}

// MFU and MBU are shares of what the clock can do, whatever factors make it do; they do not jump
// where a factor passes 1, and are absent where it is not known what computed the steps.
func TestUtilisationIsAShare(t *testing.T) {
	const text = "model: llama-3.1-8b\nhardware: h100-sxm\nengine: {preset: ideal}\n" +
		"workload: {requests: 20, rate: 1/s, prompt: 900, output: 60}"
	before := 0.0
	for _, factor := range []string{"0.1", "0.5", "0.8", "0.999", "1", "1.001", "2"} {
		for _, key := range []string{"memory", "cache", "prompts", "mixed"} {
			r, _ := runCounted(t, text, "engine.factors."+key+"="+factor)
			if r.MBU <= 0 || r.MBU > 1 || r.MFU <= 0 || r.MFU > 1 {
				t.Errorf("factor %s on %s: MFU %g, MBU %g", factor, key, r.MFU, r.MBU)
			}
			if key == "memory" && strings.HasPrefix(factor, "1") {
				if before > 0 && (r.MBU > before*1.001 || r.MBU < before*0.99) {
					t.Errorf("MBU jumps from %g to %g at the factor %s", before, r.MBU, factor)
				}
				before = r.MBU
			}
		}
	}
	r, _ := runCounted(t, text, "steps={prefill: {step: 1ms}, decode: {step: 1ms}}")
	if r.MFU != 0 || r.MBU != 0 || len(r.outside(false)) > 0 {
		t.Errorf("MFU %g and MBU %g of steps that are given", r.MFU, r.MBU)
	}
}

// A step that a failure cuts off is no part of the time of steps, and its drafts are not either.
func TestDraftTimeIsAShareOfSteps(t *testing.T) {
	for _, at := range []string{"18ms", "30ms", "150ms", "148.3ms"} {
		r, _ := runCounted(t, "model: llama-3.2-1b\nhardware: l4\nspeculation: {method: eagle, "+
			"tokens: 4, acceptance: 1, baseline: skip}\nworkload: {requests: 3, "+
			"arrivals: at-once, prompt: 134, output: 30}",
			"fleet.outages=[{replica: 0, at: "+at+"}]",
			"steps={prefill: {step: 10ms}, decode: {step: 10ms}}",
			"speculation.overhead={step: 9ms}")
		if r.DraftTime < 0 || r.DraftTime > 1 || r.Lost == 0 {
			t.Errorf("a failure at %s: drafts take %g of the time of steps, %d requests lost", at,
				r.DraftTime, r.Lost)
		}
	}
}

// What is outside of its range is said, and not hidden.
func TestShareOutsideOfItsRangeIsAWarning(t *testing.T) {
	r, _ := runCounted(t, scarce)
	if list := r.outside(false); len(list) > 0 {
		t.Errorf("found %q", list)
	}
	r.Busy, r.CachedTokens = 1.2, -1
	if words := strings.Join(r.outside(false), "\n"); !strings.Contains(words, "busy is 1.2") ||
		!strings.Contains(words, "cached_tokens is -1") {
		t.Errorf("found %q", words)
	}
	// Tables that are quicker than the data sheet allows are at fault, and not llmsim.
	quick, _ := runCounted(t, "model: codellama-7b\nhardware: {accelerator: rtx-5000-ada, "+
		"operators: ../internal/audit/testdata/kernels}\nworkload: {requests: 8}")
	words := strings.Join(quick.Warnings, "\n")
	if quick.MBU <= 1 || strings.Contains(words, "error of llmsim") ||
		!strings.Contains(words, "mbu is 1.47, above 1: times in the tables of hardware.op") {
		t.Errorf("MBU %g, warnings %q", quick.MBU, words)
	}
}
