package scenarios

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// tiered returns the result of a short load with the given section, as JSON.
func tiered(t *testing.T, memory string) (string, error) {
	t.Helper()
	file, err := Parse("t.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 2\n"+
		"workload: {requests: 60, prompt: 3000, output: 20, rate: 8/s, sessions: {turns: 6, "+
		"think: 1s}}\n"+memory+"\n"))
	if err != nil {
		return "", err
	}
	s, err := file.Build(policies.Default())
	if err != nil {
		return "", err
	}
	r, err := s.Run(t.Context())
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(r.Summary)
	return string(data), err
}

// A list of tiers gives what the parameters of the policy give, and hbm alone what no list gives.
func TestTiersAreParameters(t *testing.T) {
	for list, params := range map[string]string{
		"memory: {policy: prefix-cache, tokens: 20000, tiers: [hbm]}": "" +
			"memory: {policy: prefix-cache, tokens: 20000}",
		"memory: {tokens: 20000, tiers: [hbm, {store: host, size: 4GiB}]}": "" +
			"memory: {policy: offload, tokens: 20000, cpu: 4GiB}",
		"memory: {policy: mooncake, tokens: 20000, tiers: [{store: hbm}, " +
			"{store: host, size: 1GiB}, " +
			"{store: nvme, size: 2GiB, rate: 7GB/s}]}": "memory: {policy: mooncake, " +
			"tokens: 20000, cpu: 1GiB, disk: 2GiB, disk-rate: 7GB/s, pool: 0B}",
		"memory: {tokens: 20000, ttl: 1m, tiers: [hbm, {store: host, size: 1GiB}, " +
			"{store: pool, size: 8GiB, shared: rack, link: 10GB/s, rate: 20GB/s}]}": "" +
			"memory: {policy: offload, tokens: 20000, ttl: 1m, cpu: 1GiB, pool: 8GiB, " +
			"pool-link: 10GB/s, pool-rate: 20GB/s}",
	} {
		got, err := tiered(t, list)
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if want, err := tiered(t, params); err != nil || got != want {
			t.Errorf("%s\ngives %s\nwant  %s (%v)", list, got, want, err)
		}
	}
}

// Tiers with prices cost their sizes times the time for which replicas are paid, a pool once, and
// the prices of tokens have their part.
func TestTiersHavePrices(t *testing.T) {
	run := func(prices [3]string) *Result {
		tier := func(store string, size, price string) string {
			if price != "" {
				price = ", price: " + price
			}
			return "{store: " + store + ", size: " + size + price + "}"
		}
		file, err := Parse("t.yaml", []byte("model: llama-3.1-8b\nhardware: {accelerator: "+
			"h100-sxm, price: $2/h}\nreplicas: 2\nworkload: {requests: 20, prompt: 300, output: "+
			"20}\nmemory: {tiers: [hbm, "+tier("host", "64GiB", prices[0])+", "+
			tier("nvme", "1TiB", prices[1])+", "+tier("pool", "128GiB", prices[2])+"]}\n"))
		testkit.OK(t, err)
		s, err := file.Build(policies.Default())
		testkit.OK(t, err)
		r, err := s.Run(t.Context())
		testkit.OK(t, err)
		return r
	}
	free := run([3]string{})
	for _, c := range []struct {
		prices [3]string
		hourly float64 // of both replicas
	}{
		{[3]string{"$1/h", "", ""}, 2 * 64},
		{[3]string{"", "$0.5/h", ""}, 2 * 0.5 * 1024},
		{[3]string{"", "", "$0.25/h"}, 0.25 * 128},
		{[3]string{"listed", "listed", "listed"}, 2*64*0.0034 + 2*1024*0.0001 + 128*0.0034},
	} {
		priced := run(c.prices)
		hours := free.Cost / (2 * 2)
		if got, want := priced.Cost-free.Cost, c.hourly*hours; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v: $%v more, want $%v", c.prices, got, want)
		}
		if got, want := priced.TokenCosts.Output/free.TokenCosts.Output,
			priced.Cost/free.Cost; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v: output tokens cost %v times as much, want %v", c.prices, got, want)
		}
	}
}

// What cannot be is refused at its place.
func TestTiersRefuse(t *testing.T) {
	for tiers, want := range map[string]string{
		"tiers: [{store: host, size: 1GiB}]":      "memory.tiers.0.store: found host, want hbm",
		"tiers: [hbm, {store: tape, size: 1GiB}]": "memory.tiers.1.store",
		"tiers: [hbm, {store: nvme, size: 1GiB}]": "memory.tiers.1.store: found nvme; what leaves",
		"tiers: [hbm, {store: host, size: 1GiB}, " +
			"{store: host, size: 1GiB}]": "memory.tiers.2.store: " +
			"found host after host",
		"tiers: [hbm, {store: host, size: 1GiB}, " +
			"{store: pool, size: 1GiB}, {store: nvme, size: 1GiB}]": "" +
			"memory.tiers.3.store: found nvme after pool",
		"tiers: [{store: hbm, price: $1/h}]": "memory.tiers.0.price: found $1/h, but hbm",
		"tiers: [hbm, {store: host, size: 1GiB, price: dear}]": "" +
			"memory.tiers.1.price: found dear",
		"price: $1/h, tiers: [hbm, {store: host, size: 1GiB, price: listed}]": "" +
			"memory.tiers.1.price: found listed, and a price of $1",
		"tiers: [hbm, host]":                                     "memory.tiers.1: host needs",
		"tiers: [{store: hbm, size: 1GiB}]":                      "memory.tiers.0.size: found 1GiB",
		"tiers: [hbm, {store: host, size: 1kB}]":                 "memory.tiers.1.size: found 1 kB",
		"tiers: [hbm, {store: host, size: much}]":                "memory.tiers.1.size",
		"policy: offload, tiers: [hbm]":                          "memory.tiers: offload keeps",
		"policy: paged, tiers: [hbm, {store: host, size: 1GiB}]": "memory.policy: found paged",
		"cpu: 1GiB, tiers: [hbm, {store: host, size: 1GiB}]":     "memory.cpu: memory.tiers has",
		"tiers: [hbm, {store: host, size: 1GiB}, {store: pool, size: 1GiB, rate: 0B/s}]": "" +
			"memory.tiers.2.rate: found 0B/s",
	} {
		_, err := tiered(t, "memory: {"+tiers+"}")
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tiers, err, want)
		}
	}
}

// Without tiers and with hbm as the only one a scenario has the same result, to the byte, whatever
// else it mixes. With host memory to which nothing has to move, it has the same summary.
func TestNoTiersChangeNothing(t *testing.T) {
	registry := policies.Default()
	rapid.Check(t, func(t *rapid.T) {
		one := func(label string, from ...string) string {
			return rapid.SampledFrom(from).Draw(t, label)
		}
		block := one("block", "1", "16", "100")
		policy := one("policy", "prefix-cache", "prefix-cache", "paged", "radix", "sliding-window")
		tokens := one("tokens", ", tokens: 5000", "")
		text := "model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 2\nworkload: {requests: 60, " +
			"prompt: 600, output: {distribution: uniform, min: 1, max: 60}, rate: " +
			one("rate", "5/s", "40/s") + one("prefix", "", ", prefix: {tokens: 900, groups: 4}") +
			one("sessions", "", ", sessions: {turns: 4, think: 500ms}") +
			one("patience", "", ", patience: 2s") + "}\nrouting: " + one("routing",
			"round-robin", "session-affinity", "prefix-aware", "llm-d", "dynamo") + "\nbatching: " +
			registry.Batching.Policies[rapid.IntRange(0,
				len(registry.Batching.Policies)-1).Draw(t, "batching")].Name + "\n" +
			one("fleet", "", "fleet: {outages: [{replica: 0, at: 3s, for: 4s}], retries: 2}\n",
				"fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}]}\n") +
			one("adapters", "", "adapters: {count: 9, rank: 16, slots: 3}\n") +
			one("speculation", "", "speculation: {method: n-gram, tokens: 3, acceptance: 0.6}\n")
		memories := []string{"policy: " + policy, "policy: " + policy + ", tiers: [hbm]"}
		if policy == "prefix-cache" && tokens == "" {
			memories = append(memories, "tiers: [hbm, {store: host, size: 1GiB}]")
		}
		var first [2]string // the result, and the summary, which does not name the policy
		for i, m := range memories {
			memory := "memory: {" + m + ", block-size: " + block + tokens + "}\n"
			s := attempt(t, func() (*File, error) { return Parse("s.yaml", []byte(text+memory)) })
			if s == nil {
				if i > 0 {
					t.Fatalf("refused with %s", memory)
				}
				t.Skip("refused, which does not count as run")
			}
			r, err := s.Run(t.Context())
			testkit.OK(t, err)
			whole, err := json.Marshal(r)
			testkit.OK(t, err)
			summary, err := json.Marshal(r.Summary)
			testkit.OK(t, err)
			got := [2]string{string(whole), string(summary)}
			if i == 0 {
				first = got
			} else if k := i - 1; got[k] != first[k] {
				t.Fatalf("%s%sdiffers from no tiers:\n%s", text, memory, cmp.Diff(first[k], got[k]))
			}
		}
	})
}

// Tiers go together with every order of requests, routing by what is cached, pools, failures,
// scaling, adapters and drafts: leaping and stepping give the same, and account for all requests;
// or the scenario is refused.
func TestTiersCompose(t *testing.T) {
	registry := policies.Default()
	rapid.Check(t, func(t *rapid.T) {
		one := func(label string, from ...string) string {
			return rapid.SampledFrom(from).Draw(t, label)
		}
		maybe := func(key string, from ...string) (overrides []string) {
			if rapid.Bool().Draw(t, key) {
				overrides = append(overrides, key+"="+one(key+" value", from...))
			}
			return overrides
		}
		lower := one("lower", "", ", {store: nvme, size: 2GiB}")
		pool := one("pool", "", ", {store: pool, size: 1GiB, link: 1GB/s}")
		prefetch, announce := "", []string(nil)
		if lower != "" {
			prefetch = one("prefetch", "", ", prefetch: arrival", ", prefetch: timeout")
		}
		if lower+pool != "" {
			announce = maybe("fleet.announce", "300ms", "9s")
		}
		text := "model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 3\nworkload: {requests: 60, " +
			"prompt: 600, output: {distribution: uniform, min: 1, max: 60}, rate: " +
			one("rate", "5/s", "40/s") + ", prefix: {tokens: 900, groups: 4}, sessions: " +
			"{turns: 4, think: 500ms}}\nmemory: {tokens: " + one("tokens", "4000", "9000") +
			", policy: " + one("policy", "offload", "lmcache", "mooncake", "hicache") +
			one("pin", "", ", pin: prefixes") +
			", block-size: " + one("block", "1", "16", "100") +
			one("order", "", ", eviction: lfu", ", ttl: 2s", ", write: through, survives: host") +
			", fetch: " + one("fetch", "always", "quicker") +
			", overlap: " + one("overlap", "none", "layers") + prefetch +
			one("compression", "", ", compression: 3, decompress-rate: 20GB/s") +
			", tiers: [hbm, {store: host, size: " + one("host", "20MiB", "1GiB") + "}" +
			lower + pool + "]}\n"
		overrides := []string{"batching.policy=" + registry.Batching.Policies[rapid.IntRange(0,
			len(registry.Batching.Policies)-1).Draw(t, "batching")].Name,
			"routing=" + one("routing", "round-robin", "session-affinity", "prefix-aware",
				"gateway-api", "llm-d", "{policy: llm-d, period: 1s, loss: 0.3}", "dynamo")}
		for _, o := range [][]string{
			maybe("fleet.pools", "[{role: prefill, replicas: 1}, {role: decode, replicas: 2}]",
				"[{name: a, replicas: 3, scaling: {policy: queue, per-replica: 1, every: 1s, "+
					"cold-start: 1s}}]"),
			maybe("fleet.outages", "[{replica: 0, at: 3s, for: 4s}]", "[{replica: 1, at: 1s}]"),
			maybe("fleet.retries", "2"),
			announce,
			maybe("adapters", "{count: 9, rank: 16, slots: 3}"),
			maybe("workload.patience", "2s"),
			maybe("speculation", "{method: n-gram, tokens: 3, acceptance: 0.6}"),
			maybe("caches", "{start: warm, requests: 10}"),
		} {
			overrides = append(overrides, o...)
		}
		var results [2]*Result
		for i := range results {
			s := attempt(t, func() (*File, error) {
				return Parse("s.yaml", []byte(text), overrides...)
			})
			if s == nil {
				t.Skip("refused, which does not count as run")
			}
			if i > 0 {
				s.config.MaxLeap = 1
			}
			var err error
			results[i], err = s.Run(t.Context())
			testkit.OK(t, err)
			sum := &results[i].Summary
			if most := 3 * 3e9 * sum.Duration; float64(sum.PrefetchedBytes) > most {
				t.Fatalf("%d bytes came from three disks of 3 GB/s, at most %g in %g s",
					sum.PrefetchedBytes, most, sum.Duration)
			}
		}
		if diff := cmp.Diff(results[0], results[1]); diff != "" {
			t.Fatalf("leaping (-) and stepping (+) differ:\n%s%v\n%s", text, overrides, diff)
		}
	})
}

// attempt builds a scenario; nil means that it was refused as bad input.
func attempt(t *rapid.T, load func() (*File, error)) *Simulation {
	file, err := load()
	if err == nil {
		var s *Simulation
		if s, err = file.Build(policies.Default()); err == nil {
			return s
		}
	}
	if !IsInputError(err) {
		t.Fatalf("not an input error: %v", err)
	}
	return nil
}
