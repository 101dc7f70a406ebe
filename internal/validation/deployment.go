// Package validation says how wrong llmsim is: it reads tables of measurements of real servers and
// GPUs, simulates each row as it was measured, and compares.
//
// Read finds the tables that it knows in a folder, by file name and columns; the files
// table_*.go say how rows of each kind were measured. Data.Compare predicts them under a
// Physics, and a Report sums up the errors by table and by group of engine, GPU, model and tensor
// parallelism.
package validation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// deployment is a server as a row describes it: a scenario, with what the scenario's names mean.
type deployment struct {
	scenarios.Scenario
	model            *models.Architecture
	accelerator      hardware.Accelerator
	scaleUp, network *hardware.Link
	// weights and kv are number formats; both are set.
	weights, kv hardware.DType
	// version is the release that the row names, known to the engine's registry or not.
	version string
	// maxSequences and tokenBudget limit a step, over all data-parallel ranks; 0 means the engine's
	// own limit.
	maxSequences, tokenBudget int
	// machine names the machines of the measurement, if their hosts are known to differ; server is
	// the name of the server, if the table has one.
	machine, server string
	// tokens is "random" where prompts are random tokens, and empty for text.
	tokens string
	// session reports whether batches were given to the engine without a server, so that the
	// factors do not count by which its kernels take longer in a server.
	session bool
	// engineTimes reports whether times were taken inside the engine, so that the cost of a request
	// outside it does not count.
	engineTimes bool
	// apart is the servers where prefill and decode are apart; nil for one server.
	apart *disaggregated
}

// param sets a parameter of the engine's batching.
func (d *deployment) param(name string, value any) {
	params := map[string]string{}
	maps.Copy(params, d.Batching.Params)
	params[name] = fmt.Sprint(value)
	d.Batching.Params = params
}

// limit writes a limit of batches, if the policy has one and the row says it.
func (d *deployment) limit(p *policies.Setting, n int) {
	if p != nil && n > 0 {
		d.param(p.Name, n)
	}
}

// deploy finds what a row names in its columns model, gpu and dtype; where a column is empty or
// absent, the defaults stand.
func (c *catalogs) deploy(r *row, model, gpu, dtype string, tensor int) deployment {
	d := deployment{version: r.version()}
	d.Parallelism.Tensor = tensor
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
	if d.scaleUp, d.network, err = c.links(r.table.kind.Name, &d.accelerator); err != nil {
		r.fail(err)
	}
	if d.scaleUp != nil && d.scaleUp.Name != d.accelerator.ScaleUp {
		d.Hardware.Link = d.scaleUp.Name
	}
	if d.weights == hardware.FP4 && strings.HasPrefix(d.model.Name, "gpt-oss") {
		d.weights = hardware.MXFP4 // its published format, which tables call fp4
	}
	if d.weights == hardware.FP8 &&
		(publishedByBlock(d.model.Name) || strings.HasSuffix(model, "-FP8") &&
			strings.HasPrefix(d.model.Name, "qwen3")) {
		d.weights = hardware.FP8Block
	}
	if k := r.table.kind; k.Tokens != "" && r.value(k.Tokens) == "random" {
		d.tokens = "random"
	}
	d.kv = steptime.Wide(d.model, d.weights)
	if kv := r.value("kv_cache_dtype|kv_dtype|="); kv != "" && kv != "auto" {
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
	return slices.ContainsFunc([]string{"deepseek-v3", "kimi-k2", "minimax-m2"},
		func(family string) bool { return strings.HasPrefix(model, family) })
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
	return accuracy.Group{Engine: d.Engine.Preset, Version: d.version, GPU: d.accelerator.Name,
		Model: d.model.Name, DType: string(d.weights), TP: d.Parallelism.Tensor, Server: d.server}
}

// pool is a deployment and the number of servers that are such.
type pool struct {
	deployment
	workers int
}

// disaggregated is servers that compute prompts and servers that go on from there, behind a number
// of frontends that take them in turn: Dynamo's do so unless told otherwise (its router guide,
// --router-mode).
type disaggregated struct {
	prefill, decode pool
	frontends       int
}

// divided makes the server several that compute prompts and several that go on from there.
func (d *deployment) divided(prefill, decode int) {
	own := *d
	d.apart = &disaggregated{pool{own, prefill}, pool{own, decode}, 1}
}

// manyFrontends is how many recipes of InferenceX put behind nginx unless they say otherwise
// (srt-slurm, num_additional_frontends).
const manyFrontends = 10

// sending holds requests that are sent at times of their own. counts reports whether the latencies
// of requests with this arrival time are compared; other requests only load the server. law is the
// load of a scenario from which the requests were drawn, and nil where they were recorded.
type sending struct {
	requests []sim.Request
	counts   func(arrival sim.Time) bool
	law      *scenarios.Workload
	// drawn makes the requests each time where they are many; nil where requests has them.
	drawn func() []sim.Request
}

// list returns the requests; nil for no sending.
func (s *sending) list() []sim.Request {
	switch {
	case s == nil:
		return nil
	case s.drawn != nil:
		return s.drawn()
	}
	return s.requests
}

// emission is what predicts a row: a server under its own load, or with requests that are sent.
// Where server is nil, no scenario does.
type emission struct {
	server *deployment
	sent   *sending
	// figures says where the row's figures come from, if not from a simulation of the load, and
	// which command shows them.
	figures string
}

// scenario returns the server in full, as a scenario says it.
func (d *deployment) scenario() scenarios.Scenario {
	s := d.Scenario
	s.Model, s.Hardware.Accelerator = d.model.Name, d.accelerator.Name
	s.Hardware.Host = (&accuracy.Physics{}).Host(d.machine)
	if s.Parallelism.Data > 1 && s.Parallelism.Expert != 1 {
		s.Parallelism.Expert = 0 // experts are spread over all ranks
	}
	s.Engine.Weights, s.Engine.KVCache = string(d.weights), string(d.kv)
	s.Engine.Sampling = cmp.Or(s.Engine.Sampling, "greedy")
	release, err := engines.Find(s.Engine.Preset, d.version)
	if err == nil {
		s.Engine.Version = d.version
	} else {
		release, err = engines.Find(s.Engine.Preset, "")
	}
	if s.Engine.PromptGraphs == "on" {
		s.Engine.Graph = max(s.Engine.Graph, d.tokenBudget)
	}
	if s.Memory.KVShare > 0 || s.Memory.StaticShare > 0 {
		s.Memory.Utilization = 0
	}
	s.Memory.Policy = cmp.Or(s.Memory.Policy, "paged")
	s.Workload.Tokens = d.tokens
	own := deployment{Scenario: s}
	if err == nil {
		batching, _ := release.Setting("batching.policy",
			engines.Place{Accelerator: &d.accelerator, Plain: d.model.Plain(),
				Context: cmp.Or(s.Engine.MaxModelLen, d.model.MaxContext)})
		name := cmp.Or(s.Batching.Policy, batching.Value)
		if policy, err := registry().Batching.Lookup(name); err == nil {
			own.limit(policy.Param(policies.Sequences), d.maxSequences)
			own.limit(policy.Param(policies.Tokens, policies.PromptTokens), d.tokenBudget)
		}
	}
	if d.apart != nil {
		d.apart.divide(&own.Scenario)
	}
	return own.Scenario
}

// divide makes the servers the pools of a scenario. KV caches go layer by layer over the network,
// as they are computed; the decode worker answers, from the first token on.
func (a *disaggregated) divide(s *scenarios.Scenario) {
	for _, end := range []struct {
		*pool
		role string
	}{{&a.prefill, "prefill"}, {&a.decode, "decode"}} {
		own := end.scenario()
		s.Fleet.Pools = append(s.Fleet.Pools, scenarios.Pool{Role: end.role,
			Replicas: end.workers, Parallelism: own.Parallelism, Engine: own.Engine,
			Batching: own.Batching, Memory: own.Memory})
	}
	s.Fleet.Transfer.FirstToken = "decode"
	s.Routing.Policy, s.Routing.Params = "round-robin",
		map[string]string{"frontends": fmt.Sprint(a.frontends)}
	s.Fleet.Handover = s.Routing
}

// served is the scenario of a deployment, which is predicted any number of times and under any
// physics.
type served struct {
	*deployment
	text []byte
	file *scenarios.File
}

// registry has the policies of all rows.
var registry = sync.OnceValue(policies.Default)

// made returns the server as a scenario.
func (d *deployment) made() (*served, error) {
	text, err := strict.Encode(d.scenario(), func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	file, err := scenarios.Parse("", text)
	return &served{d, text, file}, err
}

// under returns the scenario under other physics.
func (s *served) under(p *accuracy.Physics) *scenarios.File {
	file := *s.file
	if s.machine != "" {
		file.Scenario.Hardware.Host = p.Host(s.machine)
	}
	if p.Slowdown > 0 {
		file.Scenario.Engine.Slowdown = p.Slowdown
	}
	file.Physics = &scenarios.Physics{Engine: p.Engine, Constants: p.Constants,
		Routing: p.Routing}
	if s.session {
		file.Physics.Engine = func(preset string) (steptime.Engine, error) {
			e, err := p.Preset(preset)
			e.Served = steptime.Served{}
			return e, err
		}
	}
	return &file
}

// server returns a server of the scenario, whether its model fits or not.
func (s *served) server(p *accuracy.Physics) (*servers.Server, error) {
	return s.under(p).Server(registry())
}

// fitting returns a server of the scenario; a model that does not fit is an error.
func (s *served) fitting(p *accuracy.Physics) (*servers.Server, error) {
	server, err := s.server(p)
	if err == nil && server.Plan.Err() != nil {
		err = fmt.Errorf("%s on %d × %s: %w", server.Model.Name, server.Parallel.GPUs(),
			server.Accelerator.Name, server.Plan.Err())
	}
	return server, err
}

// clock returns what predicts the steps of the scenario.
func (s *served) clock(p *accuracy.Physics) (*steptime.Clock, error) {
	server, err := s.server(p)
	if err != nil {
		return nil, err
	}
	return server.Clock, nil
}

// serve simulates the scenario, with requests of another load unless that is nil, and takes a
// sample of its steps.
func (s *served) serve(ctx context.Context, p *accuracy.Physics, load []sim.Request) (*outcome,
	error) {
	made, err := s.under(p).Build(registry())
	if err != nil {
		return nil, err
	}
	defer made.Source.Close()
	seen := newOutcome()
	made.Unsampled()
	config := made.Config()
	config.Observer = seen
	if w := &s.Workload; load != nil {
		config.Source = listed(load)
	} else if w.Arrivals.Process == "poisson" {
		config.Source = within(float64(w.Requests)/float64(w.Rate.Value), config.Source)
	}
	for i := range config.Replicas {
		if s.engineTimes {
			config.Replicas[i].Latency, config.Replicas[i].PromptLatency = 0, 0
		}
	}
	if s.apart == nil { // what is known of accuracy is known of single servers
		seen.key, _ = made.Key()
	}
	process := s.Workload.Arrivals.Process
	seen.open = process != "closed-loop" && process != "at-once"
	// Stages of a pipeline, and servers apart, take their steps at the same time.
	if s.apart == nil && s.Parallelism.Pipeline <= 1 {
		seen.rehearsal = newRehearsal(s.clock)
		seen.rehearsal.request = config.Replicas[0].Latency.Milliseconds()
		seen.rehearsal.token = config.Replicas[0].PromptLatency.Milliseconds()
	}
	if _, err := sim.Run(ctx, config); err != nil {
		return nil, err
	}
	if seen.rejected > 0 {
		return nil, fmt.Errorf("%s on %d × %s: %d of %d requests are longer than the context "+
			"served or larger than the KV cache", made.Model.Name, made.Accelerators(),
			made.Accelerator.Name, seen.rejected, seen.rejected+len(seen.requests))
	}
	return seen, nil
}

// clients returns the load of clients that each send their next request when the last one is
// answered, with lengths uniform in [least·length, length].
func clients(n int, requests int64, prompt, output int, least float64) scenarios.Workload {
	drawn := func(length int) scenarios.Length {
		return scenarios.Length{Distribution: "uniform",
			Min: max(1, int(least*float64(length))), Max: length}
	}
	w := sent(requests, drawn(prompt), drawn(output))
	w.Arrivals = scenarios.Arrivals{Process: "closed-loop", Users: n, Start: "together"}
	return w
}

// sent returns the load of a number of requests.
func sent(n int64, prompt, output scenarios.Length) (w scenarios.Workload) {
	w.Requests, w.Prompt, w.Output = n, prompt, output
	return w
}

// fixed is the length of requests that are alike.
func fixed(tokens int) scenarios.Length { return scenarios.Length{Value: tokens} }

// arriving returns the load of requests at a rate, which come evenly or at random times. Load
// generators that promise a constant rate draw exponential gaps too.
func arriving(n int, rate float64, process string, prompt,
	output scenarios.Length) scenarios.Workload {
	w := sent(int64(max(1, n)), prompt, output)
	w.Rate.Value, w.Arrivals.Process = scenarios.PerSecond(rate), process
	return w
}

// listed returns a source of requests.
func listed(requests []sim.Request) sim.Source {
	list := sim.List(requests)
	return &list
}

// byArrival orders requests.
func byArrival(a, b sim.Request) int { return cmp.Compare(a.Arrival, b.Arrival) }

// spread returns n times in [0, span): independent and uniform, as a Poisson process has them given
// their number. Load generators that promise a constant rate draw exponential gaps and scale them
// to the span, which is the same.
func spread(n int, span float64, rng *rand.Rand) []float64 {
	times := make([]float64, n)
	for i := range times {
		times[i] = rng.Float64() * span
	}
	slices.Sort(times)
	return times
}

// within returns the requests of a source, at random times of a span in seconds: a generator sends
// the number that its rate gives.
func within(span float64, source sim.Source) sim.Source {
	var requests []sim.Request
	for source.NextArrival() != sim.Never {
		var r sim.Request
		source.Next(&r)
		requests = append(requests, r)
	}
	for i, at := range spread(len(requests), span, rand.New(rand.NewPCG(0, 0))) {
		requests[i].Arrival = sim.Seconds(at)
	}
	return listed(requests)
}

// varied returns n requests at random times of a span in seconds, or all at once, with lengths that
// vary around their means as the lengths of real questions and answers do.
func (r *row) varied(n int, span float64, prompt, output int) *sending {
	rng := rand.New(rand.NewPCG(0, 0))
	law := sent(int64(n), natural(prompt), natural(output))
	law.Arrivals.Process = "at-once"
	around := func(l scenarios.Length) *lengths.Distribution {
		d, err := lengths.LogNormal(l.Mean, l.CV, 1, l.Max)
		r.fail(err)
		return d
	}
	prompts, outputs := around(law.Prompt), around(law.Output)
	if r.err != nil {
		return nil
	}
	times := make([]float64, n)
	if span > 0 {
		times = spread(n, span, rng)
		law.Arrivals.Process, law.Rate.Value = "poisson", scenarios.PerSecond(float64(n)/span)
	}
	requests := make([]sim.Request, n)
	for i, at := range times {
		requests[i] = sim.Request{Arrival: sim.Seconds(at), Prompt: prompts.At(rng.Uint64()),
			Output: outputs.At(rng.Uint64())}
	}
	return &sending{requests: requests, counts: arrivedIn(0, sim.Never), law: &law}
}

// natural is the law of lengths with a mean in data sets of questions and answers.
func natural(mean int) scenarios.Length {
	return scenarios.Length{Distribution: "lognormal", Mean: float64(mean), CV: realSpread,
		Max: longestReal * mean}
}

// realSpread is the coefficient of variation of lengths in data sets of questions and answers.
const realSpread = 0.7

// longestReal is the longest of them in units of the mean: 1,024 tokens for MLPerf's Llama-2-70B,
// with a mean of 294.
const longestReal = 4
