package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// connect gives all replicas whose memory has lower tiers a pool of KV caches, over a wire of each
// and one of the pool, in either direction; and those that prefetch a wire to their disk.
func (c *setting) connect(config *sim.Config) {
	if c.pool == 0 {
		return
	}
	pools := map[int]*memory.Pool{}
	config.Wires = []float64{2e5, 1e5}
	for i := range config.Replicas {
		r := &config.Replicas[i]
		cache, ok := r.Memory.(*memory.PrefixCache)
		if !ok {
			continue
		}
		size := cache.BlockTokens()
		if pools[size] == nil {
			pools[size], _ = memory.NewPool(c.pool, size)
		}
		pooled, err := memory.NewPooled(cache, pools[size], float64(1000*size), 1e8)
		if err != nil {
			continue // it has no lower tier
		}
		in := len(config.Wires)
		config.Wires = append(config.Wires, 1e5, 3e5)
		if disk, err := memory.NewDisk(cache, float64(1000*size), 1e8); err == nil {
			r.Disk = sim.Disk{Memory: disk, Reads: []int{len(config.Wires)}}
			if i%2 == 0 { // waits for half of a read at most
				r.Disk.Patience = func(bytes int64) sim.Time {
					return sim.Seconds(float64(bytes) / 2e5)
				}
			}
			config.Wires = append(config.Wires, 1e5)
		}
		r.Pooling = sim.Pooling{Memory: pooled, Reads: []int{0, in}, Writes: []int{1, in + 1}}
	}
}

// Leaping gives what stepping gives where replicas that are short of memory share a pool.
func TestPooledLeapEqualsStep(t *testing.T) {
	read := 0 // replicas that had something from the pool
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		c.pool, c.replicas, c.users = 1000, rapid.IntRange(2, 4).Draw(t, "replicas"), 0
		drawPolicies(t, &c)
		memory, err := policies.Default().Memory.Lookup("offload")
		testkit.OK(t, err)
		c.drawn.memory = memory
		c.drawn.place.Layers.Fixed = 0
		c.drawn.blocks = drawParams(t, memory.Params(), c.values(0))
		for i := range c.requests {
			q := &c.requests[i]
			text := rapid.Uint64Range(1, 3).Draw(t, "text")
			q.Content = []sim.Segment{{ID: text, Tokens: q.Prompt}}
		}
		run := func(maxLeap int64) (sim.Result, *journal) {
			config, j := c.config(t, maxLeap)
			config.Observer = sim.Observers{j, &limit{T: t, leaps: 1_000_000}}
			r, err := sim.Run(t.Context(), config)
			testkit.OK(t, err)
			return r, j
		}
		stepped, steps := run(1)
		leaped, leaps := run(0)
		if d := cmp.Diff(stepped, leaped); d != "" {
			t.Fatalf("result, stepping (-) against leaping (+):\n%s", d)
		}
		if d := cmp.Diff(steps.finished, leaps.finished); d != "" {
			t.Fatalf("requests, stepping (-) against leaping (+):\n%s", d)
		}
		for i := range stepped.Replicas {
			if stepped.Replicas[i].PoolReadBytes > 0 {
				read++
			}
		}
	})
	if read == 0 && !testing.Short() { // which draws few
		t.Error("nothing came from a pool")
	}
}
