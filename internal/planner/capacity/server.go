package capacity

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// server is one kind of replica. Options are made of them: many options have the same.
type server struct {
	offer    *Offer
	scenario scenarios.Scenario // of one replica that does both
	shape    string             // accelerator and parallelism
	terms    string             // what distinguishes the offer from others of the same accelerator
	words    []string           // what else distinguishes it in the menu
	gpus     int

	// unfit says why no replica can be built; empty where one can. Then the rest is set.
	unfit    string
	price    float64 // of its accelerators, in $/h
	steps    *scenarios.Steps
	evidence evidence.Evidence
	pace     pace
	load     *load
	// alone is what each probe of the load would take with the server to itself.
	alone []latency
}

// latency is the time to first token, and the time per token after it.
type latency struct{ ttft, tpot sim.Time }

// choose takes accelerators of a list.
func (s *server) choose(o *Offer, list []Offer) {
	s.offer = o
	s.scenario.Hardware = scenarios.Hardware{Accelerator: o.Accelerator, File: o.File, Link: o.Link,
		Network: o.Network, PerNode: o.PerNode, Price: o.Price}
	s.terms = o.terms(list)
}

// draft takes one of several ways of speculative decoding, the first of which is none.
func (s *server) draft(list []scenarios.Speculation, i int) {
	if i > 0 {
		way := list[i]
		way.Baseline = "skip"
		s.scenario.Speculation = &way
	}
}

// newServer makes the choices of the dimensions.
func (f *File) newServer(list []dimension, choices []int) *server {
	p := &f.Plan
	s := &server{scenario: scenarios.Scenario{
		Name: p.Name, Model: p.Model, Engine: scenarios.Engine{MaxModelLen: p.MaxModelLen},
		Workload: p.Workload, SLO: p.SLO, Seed: p.Seed,
	}}
	for i, d := range list {
		d.set(s, choices[i])
	}
	s.gpus = s.scenario.Parallelism.Accelerators()
	s.name()
	for i, d := range list {
		if d.size > 1 && d.word != nil {
			s.words = append(s.words, d.word(choices[i]))
		}
	}
	return s
}

// name sets the shape: accelerators, and how the replica is spread over them.
func (s *server) name() {
	par := &s.scenario.Parallelism
	var ways []string
	for _, way := range []struct {
		name   string
		degree int
	}{{"tensor", par.Tensor}, {"pipeline", par.Pipeline}, {"data", par.Data},
		{"expert", par.Expert}} {
		if way.degree > 1 {
			ways = append(ways, fmt.Sprintf("%s %d", way.name, way.degree))
		}
	}
	s.shape = fmt.Sprintf("%d × %s", s.gpus, s.offer.Accelerator)
	if par.Pipeline > 1 || par.Data > 1 || par.Expert > 1 {
		s.shape += " (" + strings.Join(ways, ", ") + ")"
	}
	s.shape += s.terms
}

// label names the server among those of the menu.
func (s *server) label() string {
	return strings.Join(append([]string{s.shape}, s.words...), ", ")
}

// prepare finds out whether a replica can be built, and what its steps take. A server that is
// prepared anew, for another workload, keeps what does not depend on that.
func (f *File) prepare(s *server, loads map[int]*load, clocks *scenarios.Clocks) error {
	file, err := f.file(s.scenario, f.Plan.peak(), probes)
	if err != nil {
		return err
	}
	if s.steps == nil {
		if err := file.CheckNames(policies.Default()); err != nil {
			return fmt.Errorf("%s: %w", s.label(), err)
		}
	}
	file.Clocks = clocks
	simulation, err := file.Build(policies.Default())
	if scenarios.IsInputError(err) {
		s.unfit = reason(err)
		return nil
	}
	if err != nil {
		return err
	}
	defer simulation.Source.Close()
	s.price = float64(simulation.Scenario.Hardware.Price) * float64(s.gpus)
	if s.price <= 0 {
		return scenarios.BadInput(
			fmt.Errorf("%s: menu.hardware: %s has no price in the catalogue; give one, such as "+
				"{accelerator: %s, price: $2/h}",
				f.name, s.offer.Accelerator, s.offer.Accelerator))
	}
	if s.steps == nil {
		s.steps, s.evidence = simulation.Steps(), simulation.Evidence()
		s.pace = newPace(s.steps)
	}
	return s.face(f, simulation, loads)
}

// face sets the load, and what its probes would take with the server to themselves. Servers of
// equal contexts face the same load.
func (s *server) face(f *File, simulation *scenarios.Simulation, loads map[int]*load) (err error) {
	context := s.steps.Scenario.Engine.MaxModelLen
	if loads[context] == nil {
		if loads[context], err = f.newLoad(simulation); err != nil {
			return err
		}
	}
	s.load = loads[context]
	s.alone = make([]latency, len(s.load.probes))
	for i := range s.load.probes {
		p := &s.load.probes[i]
		s.alone[i] = latency{s.prefillAlone(p), s.decodeAlone(p)}
	}
	return nil
}

// hourly is the price of the server's accelerators, in $/h.
func (s *server) hourly() float64 { return s.price }

// peakPower and idlePower are what the server's accelerators draw at most and at least, in watts.
func (s *server) peakPower() float64 { return float64(s.gpus) * s.steps.Accelerator.PeakPower }
func (s *server) idlePower() float64 { return float64(s.gpus) * s.steps.Accelerator.IdlePower }

// running is what steps draw at least beside the idle power, in watts.
func (s *server) running() float64 {
	return float64(float64(s.gpus)*s.steps.Accelerator.Power(0, 0)) - s.idlePower()
}

// emission is what is emitted for the server's accelerators at their peak power, in g/kWh · W.
func (s *server) emission() float64 { return s.peakPower() * float64(s.offer.Carbon) }
