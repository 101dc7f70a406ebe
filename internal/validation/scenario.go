package validation

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

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
