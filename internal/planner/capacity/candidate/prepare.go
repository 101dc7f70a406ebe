package candidate

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// block is how many options are prepared and bounded before what is needed for their bounds alone
// is dropped.
const block = 4096

// loads are the loads that servers face, by their context. Its methods may be called by several
// goroutines.
type loads struct {
	mu    sync.Mutex
	known map[int]*asked.Load
	// words say why servers do not fit: few, for many servers.
	words map[string]string
}

// of returns the load of servers of a context, which the simulation of one of them gives.
func (l *loads) of(f *asked.File, context int, s *scenarios.Simulation) (*asked.Load, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[context] == nil {
		made, err := f.NewLoad(s)
		if err != nil {
			return nil, err
		}
		l.known[context] = made
	}
	return l.known[context], nil
}

// same returns words, each once.
func (l *loads) same(words string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.words[words]; ok {
		return known
	}
	l.words[words] = words
	return words
}

// preparer prepares servers, one after another.
type preparer struct {
	file   *asked.File
	loads  *loads
	clocks *scenarios.Clocks
	// policies are those that scenarios may name.
	policies *policies.Registry
	// clock is the last server's clock, pace its pace, and evidence the evidence for the last key:
	// neighbours on the menu often have the same.
	clock    *steptime.Clock
	pace     Pace
	key      deployment.Key
	evidence *evidence.Evidence
}

// Prepare finds out what can be built of the options, and bounds what it does, on all cores.
func Prepare(ctx context.Context, f *asked.File, options []*Option) error {
	shared := &loads{known: map[int]*asked.Load{}, words: map[string]string{}}
	workers := make([]*preparer, runtime.GOMAXPROCS(0))
	for i := range workers {
		workers[i] = &preparer{file: f, loads: shared, clocks: scenarios.NewClocks(),
			policies: policies.Default()}
	}
	ready := map[*Server]bool{}
	var last *Parts
	var all []Busy
	for first := 0; first < len(options); first += block {
		some := options[first:min(first+block, len(options))]
		var fresh []*Server
		for _, o := range some {
			for _, s := range o.Servers() {
				if !ready[s] {
					ready[s], fresh = true, append(fresh, s)
				}
			}
		}
		if err := prepareAll(ctx, workers, fresh); err != nil {
			return err
		}
		for _, o := range some {
			if o.Parts != last { // options of the same parts follow each other
				last, all = o.Parts, o.Parts.Bound(&f.Plan)
			}
			o.Bound(all)
		}
		if len(f.Plan.Menu.Disaggregated) == 0 { // no later option has the same servers
			clear(ready)
			drop(fresh)
		}
	}
	for s := range ready {
		s.Alone, s.Drafts = nil, nil
	}
	for _, o := range options {
		if o.Standing != nil {
			o.Surcharge = float64(o.Base) * (o.Standing.Price - o.Prefill.Price)
		}
	}
	return nil
}

// checkRouting finds routing policies of the menu that do not exist. Simulations do not show all of
// them: one replica needs no router.
func checkRouting(f *asked.File, options []*Option) error {
	for _, policy := range f.Plan.Menu.Routing {
		s := options[0].Prefill.Asked()
		s.Routing = policy
		file, err := f.File(s, f.Plan.Peak(), 1)
		if err == nil {
			err = file.CheckNames(policies.Default())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prepareAll has servers prepared, each worker the servers of a part of the menu.
func prepareAll(ctx context.Context, workers []*preparer, list []*Server) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, w := range workers {
		part := list[i*len(list)/len(workers) : (i+1)*len(list)/len(workers)]
		group.Go(func() error {
			for _, s := range part {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := w.prepare(s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// drop drops what servers need for the bounds of options alone.
func drop(list []*Server) {
	for _, s := range list {
		s.Alone, s.Drafts = nil, nil
	}
}

// prepare finds out whether a replica can be built, and what its steps take. A server that is
// prepare anew, for another workload, keeps its evidence and what its steps take.
func (p *preparer) prepare(s *Server) error {
	f := p.file
	file, err := f.File(s.Asked(), f.Plan.Peak(), asked.DrawnOf(&f.Plan))
	if err != nil {
		return err
	}
	if s.Evidence == nil {
		err := file.CheckNames(p.policies)
		if err != nil && !p.apart(err) && (s.Changes == nil || !asked.Concerns(err, "batching")) {
			return fmt.Errorf("%s: %w", s.Label(), err)
		}
	}
	file.Clocks = p.clocks
	simulation, err := file.Build(p.policies)
	if scenarios.IsInputError(err) && !asked.Concerns(err, "workload") {
		_, reason := planner.Reason(err)
		s.Unfit = p.loads.same(reason)
		return nil
	}
	if err != nil {
		return err
	}
	defer simulation.Source.Close()
	s.Price = simulation.Scenario.Hardware.Price.Amount * float64(s.GPUs)
	if s.Price <= 0 {
		return f.Refuse("menu.hardware", "%s has no price in the catalogue; give one, such as "+
			"{accelerator: %[1]s, price: $2/h}", s.Offer.Accelerator)
	}
	memory := &simulation.Scenario.Memory
	if memory.PoolHourly() > 0 {
		return f.Refuse("menu.memory", "the price of a pool does not grow with the servers that a "+
			"plan counts; leave it out, and add it to the answer")
	}
	s.Host = memory.HostHourly()
	s.GiB, s.Disk = memory.Price.Amount, memory.DiskPrice.Amount
	s.Price += s.Host
	steps := simulation.Steps()
	if s.Evidence == nil {
		s.Evidence = p.evidenceFor(simulation, steps.Clock)
	}
	p.describe(s, steps)
	if s.Drafts = NewDrafting(simulation, s.Pace.Batch); s.Drafts != nil {
		s.Pace.Mean = s.Drafts.Mean()
	}
	if s.Load, err = p.loads.of(f, s.Context, simulation); err != nil {
		return err
	}
	setProbeTimes(s, steps)
	return nil
}

// evidenceFor returns the evidence for a server with a clock: that for the last one if nothing on
// which it depends is other.
func (p *preparer) evidenceFor(s *scenarios.Simulation, clock *steptime.Clock) *evidence.Evidence {
	key, _ := s.Key()
	if p.evidence == nil || p.clock != clock || p.key != key {
		e := s.Evidence()
		p.key, p.evidence = key, &e
	}
	return p.evidence
}

// apart reports whether an error says that parts of the menu do not go together, which leaves the
// others: a shape with drafts, or an engine with parameters that the policies of others have.
func (p *preparer) apart(err error) bool {
	return asked.Concerns(err, "parallelism") ||
		len(p.file.Plan.Menu.Engines) > 1 && asked.Concerns(err, "batching")
}

// describe sets what a server's steps say of it.
func (p *preparer) describe(s *Server, steps *scenarios.Steps) {
	pace := s.Pace
	if pace.Hull == nil { // else steps take what they took under another workload
		if p.clock != steps.Clock {
			p.clock, p.pace = steps.Clock, NewPace(steps)
		}
		pace = p.pace
	}
	s.Pace = pace.Under(steps)
	a, n := &steps.Accelerator, float64(s.GPUs)
	s.Peak, s.Idle = float64(n*a.PeakPower), float64(n*a.IdlePower)
	s.Run = float64(n*p.pace.Watts) - s.Idle
	s.Context, s.Room = steps.Scenario.Engine.MaxModelLen, steps.Memory.Tokens
	_, s.Budget = steps.Scenario.Batching.Number(policies.Tokens)
}

// setProbeTimes sets what the probes of the load would take with the server to themselves.
func setProbeTimes(s *Server, steps *scenarios.Steps) {
	s.Alone, s.Slowest = make([]Latency, len(s.Load.Probes)), Latency{}
	for i := range s.Load.Probes {
		p := &s.Load.Probes[i]
		l := Latency{TTFT: s.PrefillAlone(steps, p), TPOT: s.DecodeAlone(steps, p)}
		pace := l.TPOT
		if s.Drafts != nil {
			l.Plain = PlainStep(steps, p)
			l.Drafted = s.Drafts.Least(p, l.Plain)
			pace = min(l.Plain, sim.Time(float64(l.Drafted)/s.Pace.Mean))
		}
		s.Alone[i] = l
		s.Slowest.TTFT, s.Slowest.TPOT = max(s.Slowest.TTFT, l.TTFT), max(s.Slowest.TPOT, pace)
	}
}
