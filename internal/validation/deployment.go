// Package validation says how wrong llmsim is: it reads tables of measurements of real servers and
// GPUs, simulates each row as it was measured, and compares.
//
// Read finds the tables that it knows in a folder, by file name and columns; each kind has a file
// here (table_*.go) that says how its rows were measured. Data.Compare predicts them under a
// Physics, and a Report sums up the errors by table and by group of engine, GPU, model and tensor
// parallelism.
package validation

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/routing"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// deployment is a model served by one engine on some GPUs, with the limits that the measurement
// had.
type deployment struct {
	model            *models.Architecture
	accelerator      hardware.Accelerator
	scaleUp, network *hardware.Link
	// expert is 0 for experts that are split like the other layers.
	tensor, expert int
	// pipeline is the number of stages, data the number of data-parallel ranks, each of tensor
	// accelerators; 0 counts as 1.
	pipeline, data int
	// redundant is the number of copies of routed experts.
	redundant int
	// twoBatch reports whether prompts are computed in halves that overlap.
	twoBatch bool
	// weights, kv and activations are number formats; all are set.
	weights, kv, activations hardware.DType
	// engine names the preset, version the release; "" where it is not known.
	engine, version string
	// utilisation is the share of memory that the engine takes; 0 means 0.9.
	utilisation float64
	// kvShare is the share of the memory left beside weights and activations that becomes KV cache,
	// as TensorRT-LLM has it; 0 means that utilisation counts.
	kvShare float64
	// largestStep is the number of tokens that activations have room for; 0 means tokenBudget.
	largestStep int
	// maxSequences and tokenBudget limit a step, maxContext the context; 0 means no limit on it.
	maxSequences, tokenBudget, maxContext int
	// chunked splits prompts that are longer than tokenBudget where the engine does not do so by
	// itself (TensorRT-LLM).
	chunked bool
	// prefixCaching keeps the KV cache of prompts for prompts that begin alike.
	prefixCaching bool
	// machine names the machines of the measurement, if their hosts are known to differ.
	machine string
	// sorts reports whether the next token is one of the most likely (top-k, top-p), for which
	// logits are sorted, whatever the engine's preset does.
	sorts bool
	// receive is the number of decode steps between two looks of SGLang at what arrived; 0 counts
	// as 1.
	receive int
	// waitSteps and waitTokens say how newcomers wait for each other under TensorRT-LLM; 0 means
	// that they do not.
	waitSteps  int
	waitTokens float64
	// rankWait is the number of steps after which prompts of data-parallel ranks wait no longer for
	// each other; 0 means that they do not wait.
	rankWait int
	// graph is the largest number of tokens of a step that is launched as a graph; 0 means the
	// engine's. Where captured is set, all steps with prompts are launched so, where eagerPrompts
	// is set, no such step, and where eager is set, no steps at all.
	graph                         int
	captured, eagerPrompts, eager bool
	// flash reports whether attention keeps its scores on the chip, whatever the engine's does.
	flash bool
	// marlin reports whether experts in 4 bits have Marlin's kernels.
	marlin bool
	// drafts are drafts of multi-token prediction; the zero value means no drafts.
	drafts drafts
	// fusedAllReduce reports whether all-reduces also normalise, if the engine does not do so by
	// itself.
	fusedAllReduce bool
	// engineTimes reports whether times were taken inside the engine, so that the cost of a request
	// outside it does not count.
	engineTimes bool
}

// deploy finds what a row names in its columns model, gpu and dtype; where a column is empty or
// absent, the defaults stand.
func (c *catalogs) deploy(r *row, model, gpu, dtype string, tensor int) deployment {
	d := deployment{tensor: tensor, version: r.version()}
	if r.err != nil {
		return d
	}
	var err error
	if d.model, err = c.model(model); err != nil {
		r.fail(err)
		return d
	}
	if d.accelerator, err = c.accelerator(gpu); err != nil {
		r.fail(err)
		return d
	}
	if d.weights, err = parseDType(dtype); err != nil {
		r.fail(err)
		return d
	}
	if d.scaleUp, d.network, err = c.links(&d.accelerator); err != nil {
		r.fail(err)
	}
	if d.weights == hardware.FP4 && strings.HasPrefix(d.model.Name, "gpt-oss") {
		d.weights = hardware.MXFP4 // its published format, which tables call fp4
	}
	if d.weights == hardware.FP8 &&
		(publishedByBlock(d.model.Name) || strings.HasSuffix(model, "-FP8") &&
			strings.HasPrefix(d.model.Name, "qwen3")) {
		d.weights = hardware.FP8Block
	}
	d.activations = activationsOf(d.weights)
	d.kv = d.activations
	if kv := r.text("kv_cache_dtype"); kv != "" && kv != "auto" {
		if d.kv, err = parseDType(kv); err != nil {
			r.fail(err)
		}
	}
	return d
}

// publishedByBlock reports whether a model's makers publish its weights in FP8 with a scale for
// each block of 128×128: the config.json of DeepSeek-V3, Kimi-K2 and MiniMax-M2 says so, as do the
// files of Qwen's checkpoints that end in -FP8.
func publishedByBlock(model string) bool {
	for _, family := range []string{"deepseek-v3", "kimi-k2", "minimax-m2"} {
		if strings.HasPrefix(model, family) {
			return true
		}
	}
	return false
}

// activationsOf returns the number format in which engines compute with weights of another: 16 bits
// where they are narrower.
func activationsOf(weights hardware.DType) hardware.DType {
	switch weights {
	case hardware.FP32, hardware.TF32, hardware.FP16:
		return weights
	}
	return hardware.BF16
}

// narrowCache makes the cache as narrow as checkpoints in 8 bits and fewer have it: they bring
// scales for an FP8 cache, which engines then use.
func (d *deployment) narrowCache() {
	switch d.weights {
	case hardware.FP8, hardware.FP8Block, hardware.FP4, hardware.MXFP4:
		d.kv = hardware.FP8
	}
}

func (d *deployment) group() accuracy.Group {
	return accuracy.Group{Engine: d.engine, Version: d.version, GPU: d.accelerator.Name,
		Model: d.model.Name, DType: string(d.weights), TP: d.tensor}
}

// config returns the server as scenarios build it, with KV blocks of a number of tokens.
func (d *deployment) config(p *accuracy.Physics, engine steptime.Engine,
	blockTokens int) (servers.Config, error) {
	policies, err := d.policies(blockTokens)
	release, _ := engines.Find(cmp.Or(d.engine, "ideal"), "")
	release.Version, _ = engines.ParseVersion(d.version)
	return servers.Config{
		Release: release, Speculation: d.drafts.method(),
		Model: d.model, Accelerator: &d.accelerator, ScaleUp: d.scaleUp, Network: d.network,
		Parallel: d.parallel(), MaxContext: d.maxContext,
		Weights: d.weights, KV: d.kv, Activations: d.activations, Engine: engine,
		Memory: servers.Memory{Utilization: d.utilisation, KVShare: d.kvShare,
			LargestStep: d.largestStep},
		Policies: policies,
		Physics: servers.Physics{Constants: p.ConstantsOf(&d.accelerator, d.scaleUp, d.network),
			Host: p.Host(d.machine)},
	}, err
}

func (d *deployment) parallel() steptime.Parallelism {
	p := steptime.Parallelism{
		Tensor: d.tensor, Expert: d.expert, Pipeline: d.pipeline, Data: d.data,
		Redundant: d.redundant, TwoBatch: d.twoBatch,
	}
	if p.Data > 1 && p.Expert != 1 {
		p.Expert = 0 // experts are spread over all ranks
	}
	return p
}

// policies returns the engine's own scheduler with the limits of the measurement, and its memory in
// blocks. Without prefix caching, or where no prompts are alike, a paged memory serves for any.
func (d *deployment) policies(blockTokens int) (servers.Policies, error) {
	registry := policies.Default()
	release, err := engines.Find(cmp.Or(d.engine, "ideal"), "")
	if err != nil {
		return servers.Policies{}, err
	}
	setting, _ := release.Setting("batching.policy", engines.Place{Accelerator: &d.accelerator})
	own := setting.Value
	params := map[string]string{}
	if own == "sglang" {
		params["receive-interval"] = strconv.Itoa(max(1, d.receive))
	}
	if d.chunked {
		params["chunked-context"] = "true"
	}
	if d.waitSteps > 0 {
		params["wait-steps"] = strconv.Itoa(d.waitSteps)
		params["wait-tokens"] = strconv.FormatFloat(d.waitTokens, 'g', -1, 64)
	}
	if d.rankWait > 0 {
		params["rank-wait"] = strconv.Itoa(d.rankWait)
	}
	batching, err := servers.Choose(&registry.Batching, own, params)
	if err != nil {
		return servers.Policies{}, err
	}
	batching.SetLimit(d.maxSequences, policies.Sequences)
	batching.SetLimit(d.tokenBudget, policies.Tokens, policies.PromptTokens)
	manager := "paged"
	if d.prefixCaching {
		manager = "prefix-cache"
	}
	memory, err := servers.Choose(&registry.Memory, manager,
		map[string]string{"block-size": strconv.Itoa(blockTokens)})
	return servers.Policies{Batching: batching, Memory: memory}, err
}

// preset returns the server under the engine's preset.
func (d *deployment) preset(p *accuracy.Physics, blockTokens int) (servers.Config, error) {
	engine, err := p.Preset(d.engine)
	if err != nil {
		return servers.Config{}, err
	}
	engine.Sorted = d.sorts
	engine.Graph = cmp.Or(d.graph, engine.Graph)
	engine.EagerPrompts = engine.EagerPrompts || d.eagerPrompts
	engine.Marlin = d.marlin
	engine.NaiveAttention = engine.NaiveAttention && !d.flash
	engine.FusedAllReduce = engine.FusedAllReduce || d.fusedAllReduce
	if d.captured {
		engine.Graph, engine.EagerPrompts = max(engine.Graph, d.tokenBudget), false
	}
	if d.eager {
		engine = engine.Eager()
	}
	if d.drafts.tokens > 0 && d.engine == "sglang" {
		// steps with drafts are scheduled ahead with SGLANG_ENABLE_SPEC_V2 only
		// (docs.sglang.io, Speculative Decoding), which no row has
		engine.Lookahead = 0
	}
	return d.config(p, engine, blockTokens)
}

// clock returns the step clock.
func (d *deployment) clock(p *accuracy.Physics) (*steptime.Clock, error) {
	c, err := d.preset(p, blockTokens)
	if err != nil {
		return nil, err
	}
	return c.NewClock()
}

// key returns what is known of the server's accuracy by. Kernels measured without an engine have no
// version.
func (d *deployment) key() servers.Key {
	c, err := d.config(&accuracy.Physics{}, steptime.Engine{Name: d.engine}, blockTokens)
	if err != nil || d.engine == "" {
		return servers.Key{}
	}
	key, _ := c.Key()
	return key
}

// blockTokens is the number of tokens of a KV block in all measured servers.
const blockTokens = 16

// server returns what replicas are made of. A model that does not fit is an error.
func (d *deployment) server(p *accuracy.Physics, blockTokens int) (*servers.Server, error) {
	c, err := d.preset(p, blockTokens)
	if err != nil {
		return nil, err
	}
	return servers.New(c)
}

// replica returns a server with policies of its own.
func (d *deployment) replica(s *servers.Server) (sim.ReplicaConfig, error) {
	r, err := s.Replica(0)
	if d.engineTimes {
		r.Latency, r.PromptLatency = 0, 0
	}
	if err == nil && d.drafts.tokens > 0 {
		r.Speculator, err = d.speculator(s, r.Clock)
	}
	return r, err
}

// serve simulates the deployment under the given load.
func (d *deployment) serve(ctx context.Context, p *accuracy.Physics, load sim.Source) (*outcome,
	error) {
	server, err := d.server(p, blockTokens)
	if err != nil {
		return nil, err
	}
	replica, err := d.replica(server)
	if err != nil {
		return nil, err
	}
	seen, err := newOutcome()
	if err != nil {
		return nil, err
	}
	seen.rehearsal = newRehearsal(d)
	if !d.engineTimes {
		request, token := server.Clock.RequestLatency()
		seen.rehearsal.request = request.Milliseconds()
		seen.rehearsal.token = token.Milliseconds()
	}
	_, err = sim.Run(ctx, sim.Config{Source: load, Router: &routing.RoundRobin{},
		Replicas: []sim.ReplicaConfig{replica}, Observer: seen})
	if err == nil && seen.rejected > 0 {
		err = fmt.Errorf("%s on %d × %s: %d of %d requests are longer than the context served or "+
			"larger than the KV cache",
			d.model.Name, d.tensor, d.accelerator.Name, seen.rejected, seen.rejected+
				len(seen.requests))
	}
	return seen, err
}

// setDefaults sets the limits that engines have where nobody sets them.
func (d *deployment) setDefaults() {
	d.maxSequences, d.tokenBudget = 256, 8192
	switch d.engine {
	case "vllm-v1", "vllm-v1-sync", "vllm-v0":
		d.setVLLMDefaults()
	case "trtllm", "trtllm-tensorrt":
		d.maxSequences, d.kvShare = 2048, 0.9
	case "sglang":
		d.maxSequences = 2048
	case "lmdeploy":
		// All prompts that wait are computed before anybody decodes.
		d.tokenBudget, d.largestStep = maxCount, 8192
	}
}

// setVLLMDefaults sets the limits of `vllm serve`: larger ones on GPUs with at least 70 GiB, the
// A100 excepted (vllm/engine/arg_utils.py, v0.12).
func (d *deployment) setVLLMDefaults() {
	const large = 70 << 30
	if d.accelerator.Memory >= large && d.accelerator.Generation != "ampere" {
		d.maxSequences, d.tokenBudget = 1024, 8192
	} else {
		d.maxSequences, d.tokenBudget = 256, 2048
	}
}

// limitRanks turns the limits of an engine, which each data-parallel rank has, into limits of all
// ranks.
func (d *deployment) limitRanks() {
	d.maxSequences *= max(1, d.data)
	d.tokenBudget *= max(1, d.data)
}
