package sim_test

import (
	"reflect"
	"strconv"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// drawn is a batching and a memory policy of the registry, with random parameters, and the place
// where they work.
type drawn struct {
	batching       *policies.Policy[sim.Scheduler]
	memory         *policies.Policy[sim.Memory]
	params, blocks map[string]string
	place          policies.Deployment
	host           sim.HostMemory
}

// drawPolicies chooses any policies for c, and gives its requests what they may go by.
func drawPolicies(t *rapid.T, c *setting) {
	r := policies.Default()
	d := &drawn{
		batching: &r.Batching.Policies[rapid.IntRange(0, len(r.Batching.Policies)-1).Draw(t,
			"batching")],
		memory: &r.Memory.Policies[rapid.IntRange(0, len(r.Memory.Policies)-1).Draw(t, "memory")],
		place: policies.Deployment{
			Seed: rapid.Uint64().Draw(t, "seed"), KVTokens: max(c.blocks*int64(c.blockSize), 64),
			MaxContext: c.maxContext, HostTokens: rapid.SampledFrom([]int64{0, 50, 500}).Draw(t,
				"host"),
			TokenBytes: 1, HostRate: 1e5, Ranks: rapid.IntRange(1, 3).Draw(t, "ranks"),
		},
	}
	if c.maxContext == 0 {
		d.place.MaxContext = 210
	}
	d.place.Layers = rapid.SampledFrom([]memory.Layers{
		{Full: 32}, {Full: 2, Windowed: 10, Window: 24}, {Windowed: 4, Window: 16},
		{Full: 3, Fixed: 40, StateTokens: 5},
		{Full: 1, Windowed: 3, Window: 30, Fixed: 20, StateTokens: 3},
	}).Draw(t, "layers")
	if d.memory.Name == "contiguous" {
		d.place.Layers.Fixed = 0 // which it refuses
		d.place.KVTokens += 256  // for one context at least
	}
	d.host = sim.HostMemory{Tokens: d.place.HostTokens, Time: sim.Footprint[sim.Time]{
		Token:       rapid.SampledFrom([]sim.Time{0, 1e6, 1e9}).Draw(t, "tokenTime"),
		WindowToken: rapid.SampledFrom([]sim.Time{0, 1e6}).Draw(t, "windowTime"),
		Window:      rapid.IntRange(0, 50).Draw(t, "swapped window"),
		Fixed:       rapid.SampledFrom([]sim.Time{0, 1e9}).Draw(t, "stateTime"),
	}, Parts: rapid.IntRange(0, 4).Draw(t, "parts")}
	d.place.PromptTime = func(_, tokens int) sim.Time { return sim.Time(tokens) * 1e9 }
	values := c.values(d.place.HostTokens)
	d.params = drawParams(t, d.batching.Params(), values)
	d.blocks = drawParams(t, d.memory.Params(), values)
	for i := range c.requests {
		q := &c.requests[i]
		q.Tenant = rapid.IntRange(0, 2).Draw(t, "tenant")
		q.Priority = rapid.IntRange(-1, 1).Draw(t, "priority")
		if slack := rapid.SampledFrom([]sim.Time{0, 1e9, 1e11, 1e13}).Draw(t, "slack"); slack > 0 {
			q.Deadline = q.Arrival + slack
		}
		if !c.prefixCache { // else they have it
			drawContent(t, q)
		}
	}
	c.drawn = d
}

// values returns what the parameters of policies may be, those without a list of their own.
func (c *setting) values(hostTokens int64) map[string][]string {
	n, chunk := strconv.Itoa(c.maxSequences), strconv.Itoa(min(c.chunk, c.budget))
	preemption := []string{"recompute", "swap"}
	if hostTokens == 0 {
		preemption = preemption[:1]
	}
	return map[string][]string{
		"max-sequences": {n}, "max-batch": {n}, "batch-size": {n},
		"token-budget": {strconv.Itoa(c.budget)}, "chunk-limit": {chunk},
		"chunk":      {"1", "7", "50", "200"},
		"preemption": preemption, "watermark": {"0", "0.01", "0.3"},
		"max-output": {"0", "0", "40", "300"}, "new-token-ratio": {"0.1", "0.7", "1"},
		"receive-interval": {"1", "1", "4", "30"}, "prefill-interval": {"1", "1", "3", "20"},
		"wait-steps": {"0", "3", "20"}, "wait-tokens": {"0", "0.5", "0.9"},
		"rank-wait": {"0", "0", "3", "20"},
		"max-delay": {"0s", "5ms", "1s"}, "prediction-error": {"0", "0.5"},
		"levels": {"1", "3", "8"}, "quantum": {"100us", "20ms", "500ms"},
		"prefill-rate": {"500", "100000"}, "starvation": {"0s", "30ms", "1s"},
		"key": {"-priority", "prompt", "-output", "arrival + 0.01 * prompt",
			"deadline > 0 ? deadline : 1e9"},
		"input-weight": {"0", "1"}, "output-weight": {"1", "2"},
		"block-size": {strconv.Itoa(c.blockSize)}, "window": {"20", "60"},
		"cpu": {"20B", "150B", "2kB"}, "disk": {"0B", "50B", "1kB"}, "disk-rate": {"500B/s"},
		"ttl": {"0s", "5ms", "1s"},
	}
}

func drawParams(t *rapid.T, params []strict.Setting, values map[string][]string) map[string]string {
	set := map[string]string{}
	for _, p := range params {
		among := values[p.Name]
		switch {
		case p.Type.Kind() == reflect.Bool:
			among = []string{"false", "true"}
		case among == nil && p.Words != nil:
			among = p.Words
		}
		if among != nil {
			set[p.Name] = rapid.SampledFrom(among).Draw(t, p.Name)
		}
	}
	if set["capacity"] == "max-utilization" {
		set["max-output"] = "0"
	}
	if set["survives"] == "host" {
		set["write"] = "through"
	}
	if p := set["prefetch"]; p == "arrival" || p == "timeout" {
		set["disk"] = "1kB"
	}
	if set["eviction"] == "lfu" {
		set["ttl"] = "0s"
	}
	sequences, _ := strconv.Atoi(set["max-sequences"])
	budget, _ := strconv.Atoi(set["token-budget"])
	if set["capacity"] == "max-utilization" || set["chunked-context"] == "true" ||
		min(sequences, budget) < 3 { // a rank needs one, and waits with whole prompts only
		delete(set, "rank-wait")
	}
	return set
}
