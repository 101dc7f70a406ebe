package capacity

import (
	"cmp"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// server is one kind of replica. Options consist of servers, and many options share the same
// server. There may be a million servers, so a server holds only what the search needs of all of
// them. The rest is made again when it is needed: see asked and steps.
type server struct {
	file    *asked.File
	list    []dimension
	choices []int // of each dimension
	offer   *menu.Offer
	shape   string // accelerator and parallelism
	gpus    int
	// changes are the settings that differ from the engine's defaults, where the search tries some
	// beside the menu's.
	changes []change

	// twin reports whether other choices make the same server, which stands for both.
	twin bool
	// unfit says why no replica can be built. If it is empty, a replica can be built, and the other
	// fields are set.
	unfit string
	price float64 // of its accelerators, host memory and disk, in $/h
	// host is what of it is for host memory and disk, and gib and disk are the prices of a GiB.
	host, gib, disk float64
	// peak and idle are what its accelerators draw at most and at least, and run what steps draw at
	// least beside idle, in watts.
	peak, idle, run float64
	context         int // the longest prompt and answer together, in tokens
	room            int // of the KV memory, in tokens
	budget          int // tokens of a step; 0 where the policy has none
	evidence        *evidence.Evidence
	pace            pace
	load            *asked.Load
	// alone is what each probe of the load would take at least with the server to itself, until
	// options are bounded, and slowest the longest of these times, with drafts as they are on
	// average.
	alone   []latency
	slowest latency
	// drafts describes the speculative decoding of the server, until options are bounded; nil if
	// there is none.
	drafts *drafting
}

// latency is the time to first token, and the time per token after it. Where a server drafts, plain
// and drafted are the times of steps without drafts and with them.
type latency struct{ ttft, tpot, plain, drafted sim.Time }

// newDraft makes the choices of the dimensions.
func newDraft(f *asked.File, list []dimension, choices []int) *draft {
	p := &f.Plan
	engine := p.Engine
	engine.MaxModelLen = cmp.Or(p.MaxModelLen, engine.MaxModelLen)
	d := &draft{scenario: scenarios.Scenario{
		Name: p.Name, Model: p.Model, Engine: engine,
		Workload: p.Workload, SLO: p.SLO, Seed: p.Seed,
	}}
	for i := range list {
		list[i].set(d, choices[i])
	}
	return d
}

// newServer makes the choices of the dimensions.
func newServer(f *asked.File, list []dimension, choices []int) (*server, *draft) {
	d := newDraft(f, list, choices)
	return &server{file: f, list: list, choices: choices, offer: d.offer, shape: d.shape(),
		twin: d.twin, gpus: d.scenario.Parallelism.Accelerators()}, d
}

// asked returns the scenario of one replica that does both.
func (s *server) asked() scenarios.Scenario { return newDraft(s.file, s.list, s.choices).scenario }

// label names the server among those of the menu.
func (s *server) label() string {
	words := []string{s.shape}
	for i, d := range s.list {
		if d.size > 1 && d.word != nil {
			words = append(words, d.word(s.choices[i]))
		}
	}
	return strings.Join(words, ", ")
}

// hourly is the price of the server, in $/h.
func (s *server) hourly() float64 { return s.price }

// peakPower and idlePower are what the server's accelerators draw at most and at least, in watts.
func (s *server) peakPower() float64 { return s.peak }
func (s *server) idlePower() float64 { return s.idle }

// emission is what is emitted for the server's accelerators at their peak power, in g/kWh · W.
func (s *server) emission() float64 { return s.peak * float64(s.offer.Carbon) }
