package capacity

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// option is one combination of the menu: a kind of replica, or of a group of prefill and decode
// replicas.
type option struct {
	index    int
	label    string
	shape    string // accelerator and parallelism, by which options are grouped
	offer    *Offer
	split    Split
	scenario scenarios.Scenario // of one replica, or one group

	gpus  int     // accelerators of a replica, or a group
	price float64 // of these, in $/h
	steps *scenarios.Steps
	// load describes the workload in words, output is the mean of the tokens that are asked for with what
	// the plan's rate counts: an answer, or all of a conversation.
	load   string
	output float64
	// physics says how wrong its step times may be, grade why.
	physics physics
	grade   evidence.Grade
	// unfit says why no replica can be built; empty where one can.
	unfit string
	// ceiling is an upper bound of the rate that a replica sustains, in requests/s; floor says what
	// keeps the SLO out of reach at any rate, and alone is the share of requests that could keep it
	// with a replica of their own. Excess is the mean, over requests, of how many times their
	// limits they would take.
	ceiling float64
	floor   string
	alone   float64
	excess  float64
}

// mostOptions bounds a menu.
const mostOptions = 100_000

// options lists every combination of the menu.
func (f *File) options() ([]*option, error) {
	p, m := &f.Plan, &f.Plan.Menu
	engines, weights, kv := orNone(m.Engines), orNone(m.Weights), orNone(m.KVCache)
	batching, memory, pipeline := orNone(m.Batching), orNone(m.Memory), orNone(m.Pipeline)
	splits := append([]Split{{}}, m.Disaggregated...)
	n := len(splits) * len(m.Hardware) * len(m.Tensor) * len(pipeline) * len(engines) * len(weights) * len(kv) * len(batching) * len(memory)
	if n > mostOptions {
		return nil, scenarios.BadInput(fmt.Errorf("the menu has %d combinations, more than %d; shorten its lists", n, mostOptions))
	}
	list := make([]*option, 0, n)
	for h := range m.Hardware {
		for i := range n / len(m.Hardware) {
			o := &option{index: len(list), offer: &m.Hardware[h]}
			pick := func(length int) int {
				k := i % length
				i /= length
				return k
			}
			b, mem := batching[pick(len(batching))], memory[pick(len(memory))]
			e := scenarios.Engine{KVCache: kv[pick(len(kv))], Weights: weights[pick(len(weights))], Preset: engines[pick(len(engines))], MaxModelLen: p.MaxModelLen}
			par := scenarios.Parallelism{Pipeline: pipeline[pick(len(pipeline))], Tensor: m.Tensor[pick(len(m.Tensor))]}
			o.split = splits[pick(len(splits))]
			o.scenario = scenarios.Scenario{
				Fleet: scenarios.Fleet{Pools: o.split.pools(1)},
				Name:  p.Name, Model: p.Model, Parallelism: par, Engine: e, Batching: b, Memory: mem, Workload: p.Workload, SLO: p.SLO, Seed: p.Seed,
				Hardware: scenarios.Hardware{Accelerator: o.offer.Accelerator, File: o.offer.File, Link: o.offer.Link, Network: o.offer.Network, Price: o.offer.Price},
			}
			o.gpus = par.Tensor * max(1, par.Pipeline) * o.split.replicas()
			o.name(m)
			list = append(list, o)
		}
	}
	return list, nil
}

// orNone returns the list, or the one value that leaves the choice to the scenario's defaults.
func orNone[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

// name gives the option a label of what distinguishes it in the menu.
func (o *option) name(m *Menu) {
	s := &o.scenario
	o.shape = fmt.Sprintf("%d × %s", o.gpus/o.split.replicas(), s.Hardware.Accelerator)
	if s.Parallelism.Pipeline > 1 {
		o.shape += fmt.Sprintf(" (tensor %d, pipeline %d)", s.Parallelism.Tensor, s.Parallelism.Pipeline)
	}
	for h := range m.Hardware {
		if other := &m.Hardware[h]; other != o.offer && other.Accelerator == o.offer.Accelerator {
			o.shape += fmt.Sprintf(" at $%g/h", float64(o.offer.Price))
			break
		}
	}
	if o.split != (Split{}) {
		o.shape = fmt.Sprintf("%dP+%dD of %s", o.split.Prefill, o.split.Decode, o.shape)
	}
	words := []string{o.shape}
	add := func(choices int, word string) {
		if choices > 1 {
			words = append(words, word)
		}
	}
	add(len(m.Engines), s.Engine.Preset)
	add(len(m.Weights), s.Engine.Weights)
	add(len(m.KVCache), "KV "+s.Engine.KVCache)
	add(len(m.Batching), settings(s.Batching))
	add(len(m.Memory), settings(s.Memory))
	o.label = strings.Join(words, ", ")
}

// settings writes a policy and its parameters on one line.
func settings(policy any) string {
	plain, err := strict.Plain(policy)
	if err != nil {
		return fmt.Sprint(policy)
	}
	return strings.NewReplacer("map[", "", "]", "").Replace(fmt.Sprint(plain))
}

// file returns the scenario of one replica at a rate, for so many requests.
func (f *File) file(s scenarios.Scenario, rate float64, requests int64) (*scenarios.File, error) {
	text, err := f.text(s, rate, requests)
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(f.name, text)
}

// pessimistic builds an option anew with steps as slow as the asked confidence demands, given what
// is known of their error.
func (f *File) pessimistic(o *option, s *scenarios.Simulation, clocks *scenarios.Clocks) (*scenarios.Simulation, error) {
	s.Source.Close()
	if o.grade, o.physics = uncertainty(s); !trusted(f.Plan.Trust, o.grade) {
		return nil, scenarios.BadInput(fmt.Errorf("its predictions rest on %s, and the plan trusts %s", o.grade, f.Plan.Trust))
	}
	o.scenario.Engine.Slowdown = o.physics.slowdown(f.Plan.Effort.Confidence)
	file, err := f.file(o.scenario, f.Plan.peak(), probes)
	if err != nil {
		return nil, err
	}
	file.Clocks = clocks
	return file.Build(policies.Default())
}

// prepare finds out whether a replica can be built, and bounds what it can do.
func (f *File) prepare(o *option, clocks *scenarios.Clocks) error {
	file, err := f.file(o.scenario, f.Plan.peak(), probes)
	if err != nil {
		return err
	}
	if err := file.CheckNames(policies.Default()); err != nil {
		return fmt.Errorf("%s: %w", o.label, err)
	}
	file.Clocks = clocks
	simulation, err := file.Build(policies.Default())
	if err == nil {
		simulation, err = f.pessimistic(o, simulation, clocks)
	}
	if scenarios.IsInputError(err) {
		o.unfit = reason(err)
		return nil
	}
	if err != nil {
		return err
	}
	defer simulation.Source.Close()
	o.price = float64(simulation.Scenario.Hardware.Price) * float64(o.gpus)
	if o.price <= 0 {
		return scenarios.BadInput(fmt.Errorf("%s: menu.hardware: %s has no price in the catalogue; give one, such as {accelerator: %s, price: $2/h}", f.name, o.offer.Accelerator, o.offer.Accelerator))
	}
	o.steps, o.load = simulation.Steps(), strings.TrimSuffix(simulation.Source.Summary().Text, fmt.Sprintf("; %d requests", probes))
	o.bound(simulation)
	return nil
}
