package deployment

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// on returns a replica of a model under an engine on H100s, with the policies that are named.
func on(t *testing.T, model, engine, batching, memory string) Config {
	t.Helper()
	known, err := models.Load()
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	h100, err := machines.Accelerator("h100-sxm")
	testkit.OK(t, err)
	c := Config{Accelerator: &h100}
	c.Model, err = known.Lookup(model)
	testkit.OK(t, err)
	c.Engine, err = steptime.FindEngine(engine)
	testkit.OK(t, err)
	r := policies.Default()
	c.Policies.Batching, err = Choose(&r.Batching, batching, nil)
	testkit.OK(t, err)
	c.Policies.Memory, err = Choose(&r.Memory, memory, nil)
	testkit.OK(t, err)
	c.ScaleUp = &hardware.Link{Name: "up", Bandwidth: 4e11, Latency: 4e-6}
	c.Network = &hardware.Link{Name: "net", Bandwidth: 5e10, Latency: 8e-6}
	c.HostLink = &hardware.Link{Name: "host", Bandwidth: 6e10, Latency: 5e-6}
	return c
}

// llama is on with a model whose layers keep the KV of every token.
func llama(t *testing.T) Config { return on(t, "llama-3.1-8b", "vllm-v1", "vllm-v1", "paged") }

// planned returns the memory of a replica.
func planned(t *testing.T, c *Config) steptime.MemoryPlan {
	t.Helper()
	plan, err := c.PlanMemory()
	testkit.OK(t, err)
	return plan
}

// alike compares numbers but for rounding.
func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// The cache has what the engine's share of the memory leaves beside weights, activations and the
// engine itself, in whole blocks; a share of 0 is nine tenths. A size that is given counts where it
// is smaller.
func TestMemoryIsDivided(t *testing.T) {
	c := llama(t)
	nine := planned(t, &c)
	for _, share := range []float64{0, 0.5, 0.9, 0.95} {
		c.Memory.Utilization = share
		p := planned(t, &c)
		if share == 0 {
			share = 0.9
		}
		free := c.Accelerator.Memory*share - p.Weights - p.Activations - p.Context
		if !alike(p.KV, free) || p.Blocks != int(free/(16*p.KVBytesPerToken)) ||
			p.Tokens != 16*p.Blocks || p.BlockTokens != 16 {
			t.Errorf("a share of %g: %+v, want %g", share, p, free)
		}
		if u, err := c.Utilization(); err != nil || u != share {
			t.Errorf("takes %g (%v), want %g", u, err, share)
		}
	}
	c.Memory.Utilization = 0
	for given, want := range map[int]int{0: nine.Tokens, 16: 16, 1600: 1600,
		nine.Tokens - 16: nine.Tokens - 16, nine.Tokens: nine.Tokens,
		nine.Tokens + 16: nine.Tokens} {
		c.Memory.Tokens = given
		if p := planned(t, &c); p.Tokens != want || p.Blocks != want/16 {
			t.Errorf("%d tokens of %d: %d in %d blocks", given, nine.Tokens, p.Tokens, p.Blocks)
		}
	}
	c = llama(t)
	r := policies.Default()
	var err error
	c.Policies.Memory, err = Choose(&r.Memory, "paged", map[string]string{"block-size": "64"})
	testkit.OK(t, err)
	if p := planned(t, &c); p.BlockTokens != 64 {
		t.Errorf("blocks of %d tokens, want 64", p.BlockTokens)
	}
	if c.Holds(1 << 30) {
		t.Error("a replica holds a sequence of 2^30 tokens")
	}
	p := planned(t, &c)
	if !c.Holds(p.Longest()) || c.Holds(p.Longest()+1) || !c.Holds(0) {
		t.Errorf("holds other sequences than of %d tokens", p.Longest())
	}
	c.Memory.Utilization = 0.01
	if c.Holds(0) || c.Holds(1) {
		t.Error("a replica that does not fit holds a sequence")
	}
	c.Model, c.Parallel.Tensor = llama(t).Model, 3
	if c.Holds(1) {
		t.Error("heads that three do not divide are held")
	}
}

// Shares of other kinds leave the cache theirs; one that leaves too little is refused with the
// name of its setting, unless it is the engine's own.
func TestSharesOfOtherKinds(t *testing.T) {
	c := llama(t)
	c.Memory.Utilization = 1
	whole := planned(t, &c)
	beside := whole.Activations / (whole.Total - whole.Context)
	for _, share := range []float64{0.25, 0.5, 1} {
		c.Memory = Memory{KVShare: share}
		if p := planned(t, &c); !alike(p.KV, share*whole.KV) {
			t.Errorf("a KV share of %g: %g of %g", share, p.KV, whole.KV)
		}
	}
	for _, own := range []bool{false, true} {
		for _, share := range []float64{0.5, 1 - beside, 1 - beside/2, 1} {
			c.Memory = Memory{StaticShare: share, OwnShare: own}
			u, err := c.Utilization()
			if share < 1-beside/1.5 {
				static := u*whole.Total - whole.Activations - whole.Context
				if err != nil || !alike(static, share*(whole.Total-whole.Context)) {
					t.Errorf("a static share of %g: %g (%v)", share, u, err)
				}
				continue
			}
			if own && (err != nil || u != 1) {
				t.Errorf("the engine's share of %g: %g (%v)", share, u, err)
			}
			if !own && (err == nil || !strings.HasPrefix(err.Error(), "a static-share of ")) {
				t.Errorf("a static share of %g is taken: %v", share, err)
			}
		}
	}
	c.Memory = Memory{StaticShare: 0.5, KVShare: 0.5, Utilization: 0.9}
	if p := planned(t, &c); !alike(p.KV, whole.KV/2) {
		t.Errorf("of both, the KV share does not count: %g of %g", p.KV, whole.KV)
	}
	c.Memory = Memory{StaticShare: 0.5}
	c.Parallel.Tensor = 3
	if _, err := c.Utilization(); err == nil || strings.Contains(err.Error(), "static-share") {
		t.Errorf("heads that three do not divide: %v", err)
	}
}

// Activations grow with the largest step, which takes the place of the scheduler's limit, and with
// the width of each encoding that is kept; replicas that do not encode keep none.
func TestActivationsFollowTheLargestStep(t *testing.T) {
	c := llama(t)
	base := planned(t, &c)
	c.Memory.LargestStep = c.TokenBudget()
	if p := planned(t, &c); c.TokenBudget() < 1 || p != base {
		t.Errorf("a step of %d tokens: %+v, want %+v", c.TokenBudget(), p, base)
	}
	last := base.Activations
	for _, n := range []int{8, 16, 32} { // below that, sampling takes more
		c.Memory.LargestStep = n * c.TokenBudget()
		if p := planned(t, &c); p.Activations <= last || p.KV >= base.KV {
			t.Errorf("%d times the step: %g bytes after %g", n, p.Activations, last)
		} else {
			last = p.Activations
		}
	}
	c = llama(t)
	c.EncoderCache = 1000
	want := base.Activations + 2*1000*float64(c.Model.Hidden)
	if p := planned(t, &c); !alike(p.Activations, want) {
		t.Errorf("1000 encodings: %g, want %g", p.Activations, want)
	}
	if c.EncodersApart = true; planned(t, &c) != base {
		t.Error("a replica keeps encodings that it does not make")
	}
	c = llama(t)
	c.Memory.DraftWeights, c.Memory.DraftKV = 1e9, base.KVBytesPerToken
	if p := planned(t, &c); !alike(p.KV, base.KV-1e9) ||
		!alike(p.KVBytesPerToken, 2*base.KVBytesPerToken) {
		t.Errorf("with a drafter %+v, without %+v", p, base)
	}
}

// SGLang runs 512 sequences for each longest context that a rank's cache holds. The longest
// context is the one that is served, or else the model's.
func TestRunningLimits(t *testing.T) {
	c := llama(t)
	plan := steptime.MemoryPlan{Tokens: 1 << 20, ContextTokens: 1 << 16}
	if got := c.RunningLimit(&plan); got != 4096 {
		t.Errorf("16 contexts: %d sequences, want 4096", got)
	}
	plan.Tokens = 5 << 16
	if got := c.RunningLimit(&plan); got != 5*512 {
		t.Errorf("5 contexts: %d sequences", got)
	}
	plan.Ranks, plan.Tokens = 4, 4*(5<<16)
	if got := c.RunningLimit(&plan); got != 4*5*512 {
		t.Errorf("5 contexts on each of 4 ranks: %d sequences", got)
	}
	plan.Ranks = 1
	c.MaxContext = 1 << 18
	if got, want := c.RunningLimit(&plan), 5*512; got != want {
		t.Errorf("5 contexts of four times the length: %d sequences, want %d", got, want)
	}
}

// An engine has the policies and shares of its release, with what it computes by its own rule; the
// memory policy follows the model's layers where the engine knows them.
func TestDefaultsOfEngines(t *testing.T) {
	for engine, hybrid := range map[string]bool{"vllm-v1": true, "sglang": true, "vllm-v0": false} {
		for model, bounded := range map[string]bool{"gpt-oss-20b": true, "llama-3.1-8b": false,
			"qwen3.5-27b": true} {
			c := on(t, model, engine, "vllm-v1", "paged")
			windowed, pools := model == "gpt-oss-20b", engine == "sglang"
			if got := c.Defaults().Memory.Name; (got == "hybrid") !=
				(hybrid && bounded && !(windowed && pools)) {
				t.Errorf("%s of %s has %s", engine, model, got)
			}
			if pools {
				windowed = false
			}
			if c.KeepsWindowsWhole() != (hybrid && windowed) {
				t.Errorf("%s of %s keeps windows: %t", engine, model, c.KeepsWindowsWhole())
			}
			for _, memory := range []string{"hybrid", "sliding-window"} {
				c.Policies.Memory.Policy = &policies.Policy[sim.Memory]{Name: memory}
				if c.KeepsWindowsWhole() {
					t.Errorf("%s keeps windows whole", memory)
				}
			}
		}
	}
	c := on(t, "deepseek-v3", "sglang", "sglang", "radix")
	for _, p := range []steptime.Parallelism{{Tensor: 8}, {Tensor: 4, Pipeline: 2},
		{Tensor: 1, Data: 8}} {
		c.Parallel = p
		d, full := c.Defaults(), p.Complete()
		at := engines.Place{Accelerator: c.Accelerator, Tensor: full.Tensor * full.Data}
		release, err := c.release()
		testkit.OK(t, err)
		graph, chunk := release.Count("engine.graph", at), release.Count("batching.chunk", at)
		want := engines.SGLangStaticShare(c.Accelerator.Memory, chunk, graph,
			full.Tensor*full.Data, full.Pipeline, full.Data)
		if d.Graph != graph || graph < 1 || d.StaticShare != want || !d.Batching.RunningLimit ||
			d.KVShare != 0 || d.Utilization != 0 {
			t.Errorf("%+v: %+v, want a share of %g and graphs of %d", p, d, want, graph)
		}
	}
	for engine, want := range map[string]Defaults{"vllm-v1": {Utilization: 0.9},
		"trtllm": {KVShare: 0.9}} {
		c := on(t, "llama-3.1-8b", engine, "vllm-v1", "paged")
		if d := c.Defaults(); d.Utilization != want.Utilization || d.KVShare != want.KVShare ||
			d.StaticShare != 0 || d.Batching.RunningLimit {
			t.Errorf("%s: %+v", engine, d)
		}
	}
	c.Engine.Name = "nobody's"
	if d := c.Defaults(); d.Batching.Name != "" || c.version() != (engines.Version{}) {
		t.Errorf("%+v of an engine that nobody knows", d)
	}
	var err error
	c.Release, err = engines.Find("vllm-v0", "")
	testkit.OK(t, err)
	if d := c.Defaults(); d.Batching.Name != "vllm-v0" || c.version() != c.Release.Version {
		t.Errorf("%+v of a release that is given", d)
	}
}

// Parameters of the engine's own policy stand in where a policy of that name is given no others.
func TestOwnPoliciesAreCompleted(t *testing.T) {
	own := OwnPolicy{Name: "own", Params: map[string]string{"a": "1", "b": "2"}}
	for _, c := range []struct{ name, a, becomes, wantA, wantB string }{
		{"", "", "own", "1", "2"}, {"own", "7", "own", "7", "2"}, {"other", "7", "other", "7", ""},
		{"other", "", "other", "", ""}} {
		given := map[string]string{}
		if c.a != "" {
			given["a"] = c.a
		}
		name, was := c.name, maps.Clone(given)
		got := own.Complete(&name, given)
		if name != c.becomes || got["a"] != c.wantA || got["b"] != c.wantB ||
			!maps.Equal(given, was) || own.Params["a"] != "1" {
			t.Errorf("%+v: %s with %v", c, name, got)
		}
	}
}

// A key names what a server is, with a format of 16 bits where the cache has none and its link
// where several accelerators have one; what changes the predictions takes the key's evidence away,
// and a factor on them does not.
func TestKeys(t *testing.T) {
	c := llama(t)
	c.Weights, c.Speculation, c.Parallel = hardware.FP8, "eagle", steptime.Parallelism{Tensor: 2,
		Pipeline: 3}
	want := Key{Engine: "vllm-v1", Accelerator: "h100-sxm", Model: "llama-3.1-8b",
		Weights: hardware.FP8, KV: hardware.BF16, Tensor: 2, Pipeline: 3, Expert: 1, Data: 1,
		Link: "up", Batching: "vllm-v1", Memory: "paged", Speculation: "eagle"}
	if k, own := c.Key(); k != want || !own {
		t.Errorf("%+v, %t, want %+v", k, own, want)
	}
	c.ScaleUp, c.KV = nil, hardware.FP8
	want.Link, want.KV = "", hardware.FP8
	if k, _ := c.Key(); k != want {
		t.Errorf("without a link %+v", k)
	}
	c = llama(t)
	if k, _ := c.Key(); k.Link != "" || k.Tensor != 1 {
		t.Errorf("one accelerator has the link %q", k.Link)
	}
	for memory, counts := range map[string]string{"prefix-cache": "paged", "radix": "paged",
		"hybrid": "hybrid", "contiguous": "contiguous"} {
		c := on(t, "llama-3.1-8b", "vllm-v1", "vllm-v1", memory)
		if k, _ := c.Key(); k.Memory != counts {
			t.Errorf("%s counts as %s", memory, k.Memory)
		}
	}
	for i, p := range []Physics{{Adjusted: true}, {Operators: &steptime.Tables{}},
		{Given: &steptime.Given{}}} {
		c.Physics = p
		if _, own := c.Key(); own {
			t.Errorf("change %d still has evidence", i)
		}
	}
	for _, p := range []Physics{{}, {Slowdown: 0.5}, {Slowdown: 1}, {Slowdown: 2}, {Host: 2}} {
		c.Physics = p
		if _, own := c.Key(); !own {
			t.Errorf("%+v has none", p)
		}
	}
}

// server returns a server that fits.
func server(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := New(c)
	testkit.OK(t, err)
	return s
}

// A place has the cache that is planned, the bytes of its tokens over all accelerators, and the
// links of all of them to the host, which holds what those bytes say.
func TestPlaces(t *testing.T) {
	for _, p := range []steptime.Parallelism{{}, {Tensor: 2}, {Pipeline: 2}, {Tensor: 2,
		Pipeline: 4}} {
		for _, swap := range []float64{0, 1, 1e9, 64e9} {
			c := llama(t)
			c.Parallel, c.Memory.Swap, c.MaxContext = p, swap, 4096
			s := server(t, c)
			place, full := s.Place(7), p.Complete()
			token := float64(c.Model.KVBytesPerToken(hardware.BF16))
			held := int64(swap / token)
			if place.Seed != 7 || place.KVTokens != int64(s.Plan.Tokens) ||
				place.MaxContext != 4096 || place.TokenBytes != token || place.SequenceBytes != 0 ||
				place.HostTokens != held || place.Ranks != 1 ||
				!alike(place.HostRate, 6e10*float64(full.Tensor*full.Pipeline)) {
				t.Errorf("%+v with %g bytes of swap: %+v", p, swap, place)
			}
			r, err := s.Replica(7)
			testkit.OK(t, err)
			each := sim.Seconds(token / place.HostRate)
			if held == 0 && r.Host != (sim.HostMemory{}) || held > 0 &&
				(r.Host.Tokens != held || r.Host.Time != sim.Footprint[sim.Time]{Token: each}) {
				t.Errorf("%+v with %g bytes of swap: %+v, want %v a token", p, swap, r.Host, each)
			}
			if r.Stages != full.Pipeline || r.MaxContext != 4096 || r.Clock != s.Clock ||
				r.Lookahead != c.Engine.Lookahead {
				t.Errorf("%+v", r)
			}
		}
	}
	c := llama(t)
	c.HostLink = nil
	if place := server(t, c).Place(0); place.HostRate != 0 {
		t.Errorf("%g B/s without a link", place.HostRate)
	}
	c = on(t, "qwen3.5-27b", "vllm-v1", "vllm-v1", "hybrid")
	for _, tp := range []int{1, 2} {
		c.Parallel.Tensor = tp
		k := c.Model.SequenceState(tp, hardware.BF16)
		if place := server(t, c).Place(0); place.SequenceBytes != k.Fixed*float64(tp) ||
			place.TokenBytes != k.Growing*float64(tp) || place.SequenceBytes < 1e6 {
			t.Errorf("%d ranks: %+v", tp, place)
		}
	}
}

// A smallest swap space of one token lets one token be swapped out, and windows are swapped for as
// long as they are kept.
func TestSwapOfOneToken(t *testing.T) {
	c := llama(t)
	c.Memory.Swap = float64(c.Model.KVBytesPerToken(hardware.BF16))
	r, err := server(t, c).Replica(0)
	testkit.OK(t, err)
	if r.Host.Tokens != 1 || r.Host.Time.Token == 0 {
		t.Errorf("%+v, want room for one token", r.Host)
	}
	for memory, kept := range map[string]bool{"paged": true, "hybrid": false} {
		c := on(t, "gpt-oss-20b", "vllm-v1", "vllm-v1", memory)
		c.Memory.Swap, c.Parallel.Tensor = 1e9, 2
		k := c.Model.SequenceState(2, hardware.BF16)
		rate := 2 * c.HostLink.Bandwidth
		on := func(bytes float64) sim.Time { return sim.Seconds(2 * bytes / rate) }
		want := sim.Footprint[sim.Time]{Token: on(k.Growing), WindowToken: on(k.Windowed),
			Window: k.Window}
		if kept {
			want = sim.Footprint[sim.Time]{Token: on(k.Growing + k.Windowed)}
		}
		r, err := server(t, c).Replica(0)
		testkit.OK(t, err)
		if r.Host.Time != want {
			t.Errorf("%s: %+v, want %+v", memory, r.Host.Time, want)
		}
		given := c.HandedOver()
		whole := c.Model.SequenceState(1, hardware.BF16)
		if given != (sim.Footprint[int64]{Token: int64(whole.Growing),
			WindowToken: int64(whole.Windowed), Window: whole.Window}) {
			t.Errorf("%+v is handed over, want %+v", given, whole)
		}
	}
}

// The time of a prompt is a step's in each stage, is the same again, and grows with what is
// computed and with what it attends to.
func TestPromptTimes(t *testing.T) {
	c := llama(t)
	for _, stages := range []int{1, 2, 4} {
		c.Parallel.Pipeline = stages
		s := server(t, c)
		place := s.Place(0)
		first := place.PromptTime(0, 512)
		one := s.Clock.Aside().Duration(&sim.Step{Prefill: []sim.Chunk{{New: 512, Last: true}}})
		if first != one*sim.Time(stages) || place.PromptTime(0, 512) != first {
			t.Errorf("%d stages: %v, want %v", stages, first, one*sim.Time(stages))
		}
		if more := place.PromptTime(0, 1024); more <= first {
			t.Errorf("twice the prompt takes %v after %v", more, first)
		}
		if more := place.PromptTime(1<<16, 512); more <= first {
			t.Errorf("after 2^16 tokens it takes %v, after none %v", more, first)
		}
	}
}

// A place for any policy has more of everything than a policy asks for: as much memory of the host
// as of the cache, in bytes, where there is any swap space.
func TestAnywhere(t *testing.T) {
	c := llama(t)
	for _, swap := range []float64{0, 1, 1e9} {
		c.Memory.Swap = swap
		a := c.Anywhere()
		host := int64(0)
		if swap > 0 {
			host = a.KVTokens
		}
		if a.KVTokens != 1<<40 || a.MaxContext != 1<<20 || a.TokenBytes != 1 ||
			a.HostTokens != host || a.HostRate != c.HostLink.Bandwidth || a.Ranks != 1 ||
			a.Layers != c.layers() {
			t.Errorf("%g bytes of swap: %+v", swap, a)
		}
	}
	c.HostLink = nil
	if a := c.Anywhere(); a.HostRate != 0 {
		t.Errorf("%g B/s without a link", a.HostRate)
	}
	c = on(t, "gpt-oss-20b", "vllm-v1", "vllm-v1", "hybrid")
	k := c.Model.SequenceState(1, hardware.BF16)
	if l := c.layers(); l.Full != int(k.Growing) || l.Windowed != int(k.Windowed) ||
		l.Window != 128 || l.Fixed != 0 {
		t.Errorf("%+v of %+v", l, k)
	}
	c.Model = &models.Architecture{Name: "mlp", Hidden: 8, Vocab: 8,
		Groups: models.Uniform(1, nil, &models.Dense{Intermediate: 8})}
	if l := c.layers(); l.Full != 1 || l.Windowed != 0 {
		t.Errorf("%+v of a model without attention", l)
	}
}

// refuses is settings whose policy cannot be made.
type refuses[T any] struct{}

var errRefused = errors.New("refused")

func (refuses[T]) New(policies.Deployment) (t T, err error) { return t, errRefused }

// A policy that cannot be made is told with its family.
func TestPoliciesThatCannotBeMade(t *testing.T) {
	s := server(t, llama(t))
	var found *PolicyError
	broken := *s
	broken.Policies.Batching.Settings = refuses[sim.Scheduler]{}
	_, err := broken.Replica(0)
	if !errors.As(err, &found) || found.Family != "batching" || !errors.Is(err, errRefused) ||
		err.Error() != "batching: refused" {
		t.Errorf("%v", err)
	}
	broken = *s
	broken.Policies.Memory.Settings = refuses[sim.Memory]{}
	if _, err = broken.Replica(0); !errors.As(err, &found) || found.Family != "memory" {
		t.Errorf("%v", err)
	}
	broken = *s
	broken.Adapters = steptime.Adapters{Count: 2, Rank: 8, Room: 8}
	if _, err = broken.Replica(0); !errors.As(err, &found) || found.Family != "memory" {
		t.Errorf("adapters without slots: %v", err)
	}
	broken = *s
	broken.EncoderCache = 100
	if _, err = broken.Replica(0); err == nil || errors.As(err, &found) {
		t.Errorf("encodings of a model without an encoder: %v", err)
	}
	var none Choice[sim.Scheduler]
	if n, tokens := none.Limits(); none.Name() != "" || n != 0 || tokens != 0 {
		t.Errorf("no policy is %q with %d, %d", none.Name(), n, tokens)
	}
}

// Adapters come over each accelerator's own link, in as many parts as there are accelerators, and
// the replica's memory keeps them.
func TestAdaptersAreLoaded(t *testing.T) {
	c := llama(t)
	c.Adapters = steptime.Adapters{Count: 4, Slots: 2, Rank: 16, Room: 16}
	for _, p := range []steptime.Parallelism{{}, {Pipeline: 2}, {Tensor: 2}} {
		c.Parallel = p
		s, full := server(t, c), p.Complete()
		bytes := c.Adapters.Bytes(c.Model, full.Tensor, 16) / float64(full.Pipeline)
		if got, want := s.loadAdapter(), sim.Seconds(bytes/6e10+5e-6); got != want || want < 5000 {
			t.Errorf("%+v: %v, want %v", p, got, want)
		}
		plain := server(t, llama(t))
		r, err := s.Replica(0)
		testkit.OK(t, err)
		without, err := plain.Replica(0)
		testkit.OK(t, err)
		if _, is := r.Memory.(sim.SlotMemory); r.Memory == nil || is && r.Memory == without.Memory {
			t.Errorf("%T keeps adapters", r.Memory)
		}
	}
	c.HostLink, c.Parallel = nil, steptime.Parallelism{}
	if got := server(t, c).loadAdapter(); got != 0 {
		t.Errorf("%v without a link", got)
	}
}

// Encoders apart encode each image for its time, but not again what their cache has, and send two
// bytes for each element of a token over the network.
func TestEncodersApart(t *testing.T) {
	c := on(t, "qwen3-vl-8b", "vllm-v1", "vllm-v1", "paged")
	c.Physics.Images = steptime.Images{Count: 3, Width: 448, Height: 448}
	c.EncodersApart, c.Parallel.Tensor = true, 2
	tokens, _, err := steptime.ImageTokens(c.Model, c.Physics.Images)
	testkit.OK(t, err)
	single := c
	single.EncodersApart, single.Parallel = false, steptime.Parallelism{}
	clock, err := single.NewClock()
	testkit.OK(t, err)
	apart, err := c.NewClock()
	testkit.OK(t, err)
	if clock.ImageTime() <= 0 || apart.ImageTime() != 0 {
		t.Errorf("an image takes %v, on a replica that does not encode %v", clock.ImageTime(),
			apart.ImageTime())
	}
	request := &sim.Request{ID: 1, Prompt: 3*tokens + 10, Output: 1}
	want := sim.Seconds(2*float64(3*tokens*c.Model.Hidden)/5e10 + 8e-6)
	for _, cache := range []int{0, 10 * tokens} {
		c.EncoderCache = cache
		e, err := c.Encoders(5)
		testkit.OK(t, err)
		if e.Number != 5 {
			t.Errorf("%d encoders, want 5", e.Number)
		}
		for i := range 2 {
			known := 3 * sim.Time(min(i, cache)) // images that it has encoded before
			encode, send := e.Work(request)
			if encode != (3-known)*clock.ImageTime() || send != want {
				t.Errorf("%d of %d: %v and %v, want %v for each image, and %v", i, cache, encode,
					send, clock.ImageTime(), want)
			}
		}
	}
	s := server(t, c)
	r, err := s.Replica(0)
	testkit.OK(t, err)
	if r.Encodings != nil {
		t.Error("a replica that does not encode keeps encodings")
	}
	s.EncodersApart = false
	if r, err = s.Replica(0); err != nil || r.Encodings == nil {
		t.Errorf("a replica that encodes keeps none (%v)", err)
	}
	s.EncoderCache = 0
	if r, err = s.Replica(0); err != nil || r.Encodings != nil {
		t.Errorf("a replica without a cache keeps encodings (%v)", err)
	}
	c.Network = nil
	if _, err := c.Encoders(5); err == nil || !strings.Contains(err.Error(), "hardware.network") {
		t.Errorf("without a network: %v", err)
	}
	text := llama(t)
	if _, err := text.Encoders(1); err == nil {
		t.Error("a model without an encoder encodes")
	}
}

// Links count where they are used: the one of a node from two accelerators on, the network beyond a
// node. A factor on all times is one on each.
func TestClocksUseTheirLinks(t *testing.T) {
	step := &sim.Step{Prefill: []sim.Chunk{{New: 2048, Last: true}}}
	duration := func(c Config) sim.Time {
		clock, err := c.NewClock()
		testkit.OK(t, err)
		return clock.Duration(step)
	}
	slow := func(l *hardware.Link) *hardware.Link {
		other := *l
		other.Bandwidth /= 10
		return &other
	}
	for _, tp := range []int{1, 2, 8} {
		c := on(t, "deepseek-v3", "vllm-v1", "vllm-v1", "paged")
		c.Parallel.Tensor = tp
		base, up, net := c, c, c
		up.ScaleUp, net.Network = slow(c.ScaleUp), slow(c.Network)
		if slower := duration(up) > duration(base); slower != (tp > 1) {
			t.Errorf("tensor %d: a slow link within the node counts: %t", tp, slower)
		}
		if duration(net) != duration(base) {
			t.Errorf("tensor %d: the network counts within a node", tp)
		}
		if up.ScaleUp = nil; tp == 1 && duration(up) != duration(base) {
			t.Error("a link that is not used counts")
		}
	}
	c := on(t, "deepseek-v3", "vllm-v1", "vllm-v1", "paged")
	c.Parallel = steptime.Parallelism{Tensor: 8, Pipeline: 2}
	net := c
	net.Network = slow(c.Network)
	if duration(net) <= duration(c) {
		t.Error("the network does not count between nodes")
	}
	c.Physics.Slowdown = 2
	plain := c
	plain.Physics.Slowdown = 0
	if got, want := float64(duration(c)), 2*float64(duration(plain)); math.Abs(got-want) > 4 {
		t.Errorf("twice the time is %g, want %g", got, want)
	}
}

// A server that does not fit is refused with its model and its accelerators.
func TestServersThatDoNotFit(t *testing.T) {
	c := on(t, "deepseek-v3", "vllm-v1", "vllm-v1", "paged")
	c.Parallel = steptime.Parallelism{Tensor: 2, Pipeline: 2}
	if _, err := New(c); err == nil ||
		!strings.HasPrefix(err.Error(), "deepseek-v3 on 4 × h100-sxm: ") {
		t.Errorf("%v", err)
	}
}

// A list of parameters has the text that was written, and numbers as they are now.
func TestListedParameters(t *testing.T) {
	r := policies.Default()
	c, err := Choose(&r.Memory, "offload", map[string]string{"cpu": "32GiB", "block-size": "64"})
	testkit.OK(t, err)
	c.SetLimit(128, policies.Block)
	want := map[string]string{"cpu": "32GiB", "block-size": "128", "disk": "0B"}
	for _, p := range c.List() {
		if text, asked := want[p.Name]; asked && p.Default != text {
			t.Errorf("%s is %s, want %s", p.Name, p.Default, text)
		}
	}
	if _, err := Choose(&r.Memory, "offlod", nil); err == nil {
		t.Error("a policy that does not exist is chosen")
	}
	var problem *policies.ParamError
	if _, err := Choose(&r.Memory, "paged", map[string]string{"block-size": "x"}); !errors.As(err,
		&problem) || problem.Name != "block-size" {
		t.Errorf("blocks of x tokens: %v", err)
	}
	batch, err := Choose(&r.Batching, "vllm-v1", map[string]string{"max-sequences": "9",
		"token-budget": "77"})
	testkit.OK(t, err)
	if n, tokens := batch.Limits(); n != 9 || tokens != 77 {
		t.Errorf("%d sequences and %d tokens", n, tokens)
	}
	own := OwnPolicy{Name: "vllm-v1", Params: map[string]string{"max-sequences": "100"}}
	for budget, want := range map[int]int{0: 100, 99: 99, 100: 100, 101: 100, 1: 1} {
		batch.SetLimit(100, policies.Sequences)
		batch.SetLimit(budget, policies.Tokens)
		own.WithinBudget(&batch, nil)
		if n, _ := batch.Limits(); n != want {
			t.Errorf("a budget of %d tokens: %d sequences, want %d", budget, n, want)
		}
	}
}

// SGLang keeps a pool apart for layers with windows, which has room for a share of the cache's
// tokens: the bytes of both are the cache, and a share of 1 keeps all tokens of all layers.
func TestWindowsHaveAPoolApart(t *testing.T) {
	c := on(t, "gpt-oss-20b", "sglang", "sglang", "radix")
	c.Memory = Memory{Utilization: 0.9}
	whole := planned(t, &c)
	k := c.Model.SequenceState(1, c.kv())
	for _, share := range []float64{0.03, 0.5, 0.8, 1} {
		c.Memory.WindowShare = share
		p := planned(t, &c)
		token := k.Growing + share*k.Windowed
		if !alike(p.KVBytesPerToken, token) || !alike(p.State.Growing, token) ||
			p.KV != whole.KV || math.Abs(float64(p.Tokens)*token-p.KV) > 16*token {
			t.Errorf("a share of %g: %d tokens of %g bytes, state %+v", share, p.Tokens,
				p.KVBytesPerToken, p.State)
		}
		if share == 1 && p != whole {
			t.Errorf("all tokens in both pools: %+v, want %+v", p, whole)
		}
	}
}
