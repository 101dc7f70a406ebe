package policies

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/policies/scaling"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// built returns the policy of a family with parameters written as "name=value name=value".
func built[T any](t *testing.T, f *Family[T], d Deployment, name, params string) any {
	t.Helper()
	written := map[string]string{}
	for _, pair := range strings.Fields(params) {
		key, value, _ := strings.Cut(pair, "=")
		written[key] = strings.ReplaceAll(value, "_", " ")
	}
	p, err := f.Lookup(name)
	testkit.OK(t, err)
	made, err := p.Build(d, written)
	if err != nil {
		t.Errorf("%s %s: %v", name, params, err)
	}
	return made
}

func ok[T any](made T, err error) any {
	if err != nil {
		return err
	}
	return made
}

// Each policy is what its constructor makes of the parameters as written, at their place and in
// their unit.
func TestPoliciesAreMadeOfTheirParameters(t *testing.T) {
	r, d := Default(), place()
	d.Seed, d.Ranks, d.HostTokens = 7, 4, 1000
	states := d
	states.Layers = memory.Layers{Full: 12, Fixed: 36, StateTokens: 528}
	const second = sim.Second
	all := cmp.Options{ // of every field, but what functions do
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().Kind() == reflect.Func },
			cmp.Ignore())}
	const block = 16 * 131072 // bytes
	host := sim.Seconds(block / 25e9)
	limits := batching.Limits{MaxSequences: 256, TokenBudget: 8192, ChunkLimit: 7}
	spaced, err := batching.NewVLLMV1(9, 99, 7)
	testkit.OK(t, err)
	testkit.OK(t, spaced.SpacePrompts(3))
	wait := batching.BatchWait{Steps: 3, Tokens: 0.5,
		Ranks: batching.RankWait{Ranks: 4, Steps: 2}}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"vllm-v1", built(t, &r.Batching, d, "vllm-v1",
			"max-sequences=9 token-budget=99 chunk-limit=7 prefill-interval=3"), spaced},
		{"vllm-v0", built(t, &r.Batching, d, "vllm-v0",
			"max-sequences=9 token-budget=99 watermark=0.25 preemption=swap"),
			ok(batching.NewVLLMV0(9, 99, 0.25, true))},
		{"sarathi", built(t, &r.Batching, d, "sarathi", "max-sequences=9 token-budget=99"),
			ok(batching.NewSarathi(9, 99))},
		{"sarathi, hybrid", built(t, &r.Batching, d, "sarathi", "mode=hybrid-only"),
			ok(batching.NewHybridOnly(128, 512))},
		{"sarathi, chunked", built(t, &r.Batching, d, "sarathi", "mode=chunked-only"),
			ok(batching.NewChunkedOnly(128, 512))},
		{"orca", built(t, &r.Batching, d, "orca", "max-batch=9"), ok(batching.NewOrca(9))},
		{"trtllm", built(t, &r.Batching, d, "trtllm", "max-sequences=9 token-budget=99 "+
			"wait-steps=3 wait-tokens=0.5 rank-wait=2 max-output=5"),
			ok(batching.NewTRTLLMNoEvict(9, 99, false, wait, 5))},
		{"trtllm, most", built(t, &r.Batching, d, "trtllm",
			"capacity=max-utilization chunked-context=true"),
			ok(batching.NewTRTLLMMaxUtilization(256, 8192, true, batching.BatchWait{}))},
		{"sglang", built(t, &r.Batching, d, "sglang", "max-sequences=9 chunk=99 "+
			"order=longest-prefix new-token-ratio=0.5 max-output=5 receive-interval=3"),
			ok(batching.NewSGLang(batching.SGLangByPrefix, 9, 99, 0.5, 5, 3))},
		{"lightllm", built(t, &r.Batching, d, "lightllm", "max-sequences=9 token-budget=99 "+
			"wait-steps=3 max-output=5"), ok(batching.NewLightLLM(9, 99, 3, 5))},
		{"static", built(t, &r.Batching, d, "static", "batch-size=9 prompts=packed alone=true"),
			ok(batching.NewStatic(9, 0, batching.Packed, true))},
		{"dynamic", built(t, &r.Batching, d, "dynamic", "max-delay=2s prompts=shortest"),
			ok(batching.NewStatic(8, 2*second, batching.Shortest, false))},
		{"sjf", built(t, &r.Batching, d, "sjf", "prediction-error=0.5 chunk-limit=7"),
			ok(batching.NewSJF(limits, batching.Prediction{Sigma: 0.5, Seed: 7}))},
		{"srtf", built(t, &r.Batching, d, "srtf", "preemption=swap chunk-limit=7"),
			ok(batching.NewSRTF(limits, batching.Prediction{Seed: 7}, true))},
		{"mlfq", built(t, &r.Batching, d, "mlfq", "max-sequences=9 levels=3 quantum=2s "+
			"prefill-rate=99 starvation=5s preemption=swap"),
			ok(batching.NewMLFQ(batching.MLFQConfig{MaxSequences: 9, Levels: 3,
				Quantum: 2 * second, PrefillRate: 99, Starvation: 5 * second, Swap: true}))},
		{"edf", built(t, &r.Batching, d, "edf", "displace=true chunk-limit=7"),
			ok(batching.NewEDF(limits, true, false))},
		{"vtc", built(t, &r.Batching, d, "vtc", "input-weight=3 output-weight=5 chunk-limit=7"),
			ok(batching.NewVTC(limits, 3, 5))},

		{"paged", built(t, &r.Memory, d, "paged", "block-size=32"), ok(memory.NewPaged(3125, 32))},
		{"paged, states", built(t, &r.Memory, states, "paged", ""),
			ok(memory.NewWindowed(6250, 16, states.Layers.Whole()))},
		{"hybrid", built(t, &r.Memory, d, "hybrid", "states=checkpoints"),
			ok(memory.NewHybrid(6250, 16, d.Layers, true))},
		{"prefix-cache", built(t, &r.Memory, d, "prefix-cache", ""),
			ok(memory.NewPrefixCache(6250, 16))},
		// A block has 528 tokens in 12 layers and the states of 36, each as large as a token's KV:
		// 12/(12·528 + 36) of 100,000 tokens' worth.
		{"prefix-cache, states", built(t, &r.Memory, states, "prefix-cache", ""),
			ok(memory.NewPrefixCache(188, 528))},
		{"radix", built(t, &r.Memory, d, "radix", ""), ok(memory.NewPrefixCache(100_000, 1))},
		{"sliding-window", built(t, &r.Memory, d, "sliding-window", "window=64"),
			ok(memory.NewWindowed(6250, 16, memory.Layers{Windowed: 32, Window: 64}))},
		{"contiguous", built(t, &r.Memory, d, "contiguous", "reserve=oracle allocator=first-fit"),
			ok(memory.NewContiguous(100_000, 4096, 2, false))},
		{"offload of one block", built(t, &r.Memory, d, "offload", "cpu=2MiB"),
			ok(memory.NewTiered(6250, 16, memory.Tiering{}, memory.Tier{Blocks: 1, Fetch: host}))},
		{"offload", built(t, &r.Memory, d, "offload",
			"cpu=1GiB disk=2MiB disk-rate=1GB/s write=through survives=host ttl=9s"),
			ok(memory.NewTiered(6250, 16,
				memory.Tiering{Through: true, Survives: true, TTL: 9 * second},
				memory.Tier{Blocks: 512, Fetch: host},
				memory.Tier{Blocks: 1, Fetch: sim.Seconds(block/1e9 + block/25e9)}))},
		{"lmcache", built(t, &r.Memory, d, "lmcache", "eviction=lfu"),
			ok(memory.NewTiered(6250, 16, memory.Tiering{Through: true, Frequent: true},
				memory.Tier{Blocks: 2384, Fetch: host}))},

		{"random", built(t, &r.Routing, d, "random", ""), routing.NewRandom(7)},
		{"nearest", built(t, &r.Routing, d, "nearest", "spill=9"), ok(routing.NewNearest(9, 7))},
		{"choices", built(t, &r.Routing, d, "choices", "choices=3"), ok(routing.NewChoices(3, 7))},
		{"prefix-aware", built(t, &r.Routing, d, "prefix-aware", "beginnings=9 share=0.2 slack=3"),
			ok(routing.NewPrefixAware(9, 0.2, 3))},
		{"kv-aware", built(t, &r.Routing, d, "kv-aware", "period=2s choices=3"),
			ok(routing.NewKVAware(2*second, 3, 7))},
		{"slo-aware", built(t, &r.Routing, d, "slo-aware", "ttft=2s"),
			ok(routing.NewSLOAware(2 * second))},
		{"splitwise", built(t, &r.Routing, d, "splitwise", "limit=9"),
			ok(routing.NewSplitwise(9))},
		{"queue-limit", built(t, &r.Admission, d, "queue-limit", "per-replica=9"),
			ok(routing.NewQueueLimit(9))},
		{"rate-limit", built(t, &r.Admission, d, "rate-limit", "rate=0.5 burst=3"),
			ok(routing.NewRateLimit(0.5, 3))},
		{"outstanding", built(t, &r.Scaling, d, "outstanding", "target=9 keep=2s"),
			ok(scaling.NewOutstanding(9, 2*second))},
		{"queue", built(t, &r.Scaling, d, "queue", "per-replica=9 keep=2s"),
			ok(scaling.NewQueue(9, 2*second))},
		{"utilization", built(t, &r.Scaling, d, "utilization", "target=0.5 keep=2s"),
			ok(scaling.NewUtilization(0.5, 2*second))},
		{"forecast", built(t, &r.Scaling, d, "forecast",
			"per-replica=9 ahead=3s keep=2s level=0.5 trend=0.25"),
			ok(scaling.NewForecast(9, 3*second, 2*second, 0.5, 0.25))},
		{"adaptive", built(t, &r.Drafting, d, "adaptive", "initial=0.5 memory=9"),
			ok(speculation.NewAdaptive(0.5, 9))},
		{"per-request", built(t, &r.Drafting, d, "per-request", "initial=0.5 weight=9"),
			ok(speculation.NewPerRequest(0.5, 9))},
		{"by-batch", built(t, &r.Drafting, d, "by-batch", "schedule=1:4,_9:2"),
			ok(speculation.NewByBatch("1:4, 9:2"))},
	} {
		if err, bad := c.want.(error); bad {
			t.Errorf("%s: %v", c.what, err)
		} else if diff := cmp.Diff(c.want, c.got, all); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", c.what, diff)
		}
	}
}

// A pool has as many blocks as its memory holds, at the rates as written; other policies than those
// with lower tiers have none.
func TestPoolsAreMadeOfTheirParameters(t *testing.T) {
	for params, want := range map[string]*KVPool{
		"":     nil,
		"2MiB": {Blocks: 1, BlockTokens: 16, BlockBytes: 2 << 20, Rate: 3e9, Link: 2e9},
		"1GiB": {Blocks: 512, BlockTokens: 16, BlockBytes: 2 << 20, Rate: 3e9, Link: 2e9},
	} {
		written := map[string]string{"pool-rate": "3GB/s", "pool-link": "2GB/s"}
		if params != "" {
			written["pool"] = params
		}
		for _, p := range memoryPolicies() {
			settings, err := p.Read(written)
			if !Offloads(p.Name) {
				settings, err = p.Read(nil)
			}
			testkit.OK(t, err)
			got, err := SharedPool(settings, place())
			tiers := strings.Contains("offload vllm-offload lmcache hicache", p.Name)
			if p.Name == "mooncake" && params == "" {
				continue // which has a pool unless told otherwise
			}
			if tiers = tiers || p.Name == "mooncake"; err != nil || tiers != Offloads(p.Name) ||
				tiers && !reflect.DeepEqual(got, want) || !tiers && got != nil {
				t.Errorf("%s, pool %q: %+v, want %+v (%v)", p.Name, params, got, want, err)
			}
		}
	}
}

// Each kind of parameter reads its values in their unit, with bounds, and refuses others at the
// parameter.
func TestParametersAreRead(t *testing.T) {
	type read struct {
		C int      `json:"c" default:"1"`
		N float64  `json:"n" default:"0.5"`
		B Bytes    `json:"b" default:"1B"`
		R ByteRate `json:"r" default:"1B/s"`
		W string   `json:"w" default:"one" enum:"one,two"`
		T string   `json:"text"`
		F bool     `json:"f" default:"false"`
		D Span     `json:"d" default:"1s"`
	}
	list := strict.Settings(reflect.TypeFor[read]())
	usual := read{C: 1, N: 0.5, B: 1, R: 1, W: "one", D: Span(sim.Second)}
	for written, change := range map[string]func(*read){
		"c=0":             func(v *read) { v.C = 0 },
		"c=1099511627775": func(v *read) { v.C = 1<<40 - 1 },
		"n=0":             func(v *read) { v.N = 0 },
		"n=2.5":           func(v *read) { v.N = 2.5 },
		"w=two":           func(v *read) { v.W = "two" },
		"text=any":        func(v *read) { v.T = "any" },
		"f=true":          func(v *read) { v.F = true },
		"d=50ms":          func(v *read) { v.D = Span(50 * sim.Millisecond) },
		"b=2KiB":          func(v *read) { v.B = 2048 },
		"r=3GB/s":         func(v *read) { v.R = 3e9 },
		"c=1099511627776": nil, "c=-1": nil, "c=1.5": nil, "n=-1": nil, "n=NaN": nil, "n=Inf": nil,
		"w=three": nil, "f=yes": nil, "d=5": nil, "d=-1s": nil, "b=3GB/s": nil, "r=3GB": nil,
		"other=1": nil,
	} {
		name, text, _ := strings.Cut(written, "=")
		var got read
		err := strict.FillSettings(&got, list, map[string]string{name: text})
		want := usual
		if change == nil {
			var bad strict.Problem
			if !errors.As(err, &bad) || bad.Path != name {
				t.Errorf("%s: error %v, want one at %s", written, err, name)
			}
			continue
		}
		testkit.OK(t, err)
		if change(&want); got != want {
			t.Errorf("%s: %+v, want %+v", written, got, want)
		}
	}
}
