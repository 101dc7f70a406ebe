package candidate

import (
	"cmp"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Server is one kind of replica. Options consist of servers, and many options share the same
// server. There may be a million servers, so a server holds only what the search needs of all of
// them. The rest is made again when it is needed: see asked and steps.
type Server struct {
	File    *asked.File
	list    []dimension
	choices []int // of each dimension
	Offer   *asked.Offer
	Shape   string // accelerator and parallelism
	GPUs    int
	// Changes are the settings that differ from the engine's defaults, where the search tries some
	// beside the menu's.
	Changes []Change

	// Twin reports whether other choices make the same server, which then represents both.
	Twin bool
	// Unfit says why no replica can be built. If it is empty, a replica can be built, and the other
	// fields are set.
	Unfit string
	Price float64 // of its accelerators, host memory and disk, in $/h
	// Host is what of it is for host memory and disk, and gib and disk are the prices of a GiB.
	Host, GiB, Disk float64
	// Peak and idle are what its accelerators draw at most and at least, and run what steps draw at
	// least beside idle, in watts.
	Peak, Idle, Run float64
	Context         int // the longest prompt and answer together, in tokens
	Room            int // of the KV memory, in tokens
	Budget          int // tokens of a step; 0 where the policy has no limit
	Evidence        *evidence.Evidence
	Pace            Pace
	Load            *asked.Load
	// Alone is what each probe of the load would take at least with the server to itself, until
	// options are bounded, and slowest the longest of these times, with drafts as they are on
	// average.
	Alone   []Latency
	Slowest Latency
	// Drafts describes the speculative decoding of the server, until options are bounded; nil
	// without one.
	Drafts *drafting
}

// Latency is the time to first token, and the time per token after it. Where a server drafts, plain
// and drafted are the times of steps without drafts and with them.
type Latency struct{ TTFT, TPOT, Plain, Drafted sim.Time }

// newDraft makes the choices of the dimensions.
func newDraft(f *asked.File, list []dimension, choices []int) *draft {
	p := &f.Plan
	engine := p.Engine
	engine.MaxModelLen = cmp.Or(p.MaxModelLen, engine.MaxModelLen)
	d := &draft{Scenario: scenarios.Scenario{
		Name: p.Name, Model: p.Model, Engine: engine,
		Workload: p.Workload, SLO: p.SLO, Seed: p.Seed,
	}}
	for i := range list {
		list[i].set(d, choices[i])
	}
	return d
}

// newServer makes the choices of the dimensions.
func newServer(f *asked.File, list []dimension, choices []int) (*Server, *draft) {
	d := newDraft(f, list, choices)
	return &Server{File: f, list: list, choices: choices, Offer: d.offer, Shape: d.shape(),
		Twin: d.twin, GPUs: d.Scenario.Parallelism.Accelerators()}, d
}

// Asked returns the scenario of one replica that does both.
func (s *Server) Asked() scenarios.Scenario { return newDraft(s.File, s.list, s.choices).Scenario }

// Label names the server within the menu.
func (s *Server) Label() string {
	words := []string{s.Shape}
	for i, d := range s.list {
		if d.size > 1 && d.word != nil {
			words = append(words, d.word(s.choices[i]))
		}
	}
	return strings.Join(words, ", ")
}

// hourly is the price of the server, in $/h.
func (s *Server) hourly() float64 { return s.Price }

// peakPower is what the server's accelerators draw at most, in watts.
func (s *Server) peakPower() float64 { return s.Peak }

// IdlePower is what the server's accelerators draw at least, in watts.
func (s *Server) IdlePower() float64 { return s.Idle }

// Emission is what is emitted for the server's accelerators at their peak power, in g/kWh · W.
func (s *Server) Emission() float64 { return s.Peak * float64(s.Offer.Carbon) }
