package scenarios

import (
	"math"
	"testing"
)

// The prices of tokens add up to the price of the fleet, whatever its pools and tiers. A cached
// token costs less than one that is computed, and more where it comes from host memory.
func TestTokenCosts(t *testing.T) {
	load := "workload: {requests: 200, rate: 4/s, prompt: 2000, output: 40, sessions: " +
		"{turns: 5, think: 2s}}\n"
	server := "model: llama-3.1-8b\nhardware: h100-sxm\n"
	pools := "model: llama-3.1-8b\nfleet: {transfer: infiniband-hdr, pools: [{role: prefill, " +
		"hardware: h100-sxm, replicas: 2}, {role: decode, hardware: h200-sxm, replicas: 1}]}\n"
	costs := map[string]*Result{}
	for name, text := range map[string]string{
		"none":  server + "memory: paged\n" + load,
		"near":  server + "memory: {policy: prefix-cache, tokens: 400000}\n" + load,
		"host":  server + "memory: {policy: offload, tokens: 50000, cpu: 1TiB}\n" + load,
		"apart": pools + load,
	} {
		r := run(t, presetScenario(t, text))
		costs[name] = r
		c, n := r.TokenCosts, CountTokens(&r.Summary)
		if c == nil {
			t.Fatalf("%s: no prices", name)
		}
		sum := (c.Input*float64(n.Input-n.Cached) + c.Cached*float64(n.Cached) +
			c.Output*float64(n.Output)) / 1e6
		if math.Abs(sum/r.Cost-1) > 1e-9 {
			t.Errorf("%s: tokens cost $%v, the fleet $%v", name, sum, r.Cost)
		}
		if n.Cached > 0 && !(0 < c.Cached && c.Cached < c.Input) {
			t.Errorf("%s: a cached token costs %v, another %v", name, c.Cached, c.Input)
		}
	}
	if n := CountTokens(&costs["near"].Summary); n.Cached == 0 {
		t.Error("nothing is cached")
	}
	near, host := costs["near"].TokenCosts, costs["host"].TokenCosts
	if host.Cached <= near.Cached || costs["none"].TokenCosts.Cached != 0 {
		t.Errorf("cached tokens cost %v from host memory, %v from the accelerator, %v without "+
			"a cache", host.Cached, near.Cached, costs["none"].TokenCosts.Cached)
	}
}
