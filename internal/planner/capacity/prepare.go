package capacity

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

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
	// words are those of servers that do not fit: few, for many servers.
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
	// clock is that of the last server, pace its pace, and evidence that for the last key:
	// neighbours on the menu often have the same.
	clock    *steptime.Clock
	pace     pace
	key      deployment.Key
	evidence *evidence.Evidence
}

// prepare finds out what can be built of the options, and bounds what it does, on all cores.
func prepare(ctx context.Context, f *asked.File, options []*option, t *trials) (*search, error) {
	shared := &loads{known: map[int]*asked.Load{}, words: map[string]string{}}
	workers := make([]*preparer, runtime.GOMAXPROCS(0))
	for i := range workers {
		workers[i] = &preparer{file: f, loads: shared, clocks: scenarios.NewClocks()}
	}
	if err := checkRouting(f, options); err != nil {
		return nil, err
	}
	ready := map[*server]bool{}
	var last *parts
	var all []busy
	for first := 0; first < len(options); first += block {
		some := options[first:min(first+block, len(options))]
		var fresh []*server
		for _, o := range some {
			for _, s := range o.servers() {
				if !ready[s] {
					ready[s], fresh = true, append(fresh, s)
				}
			}
		}
		if err := prepareAll(ctx, workers, fresh); err != nil {
			return nil, err
		}
		for _, o := range some {
			if o.parts != last { // options of the same parts follow each other
				last, all = o.parts, o.parts.bound(&f.Plan)
			}
			o.bound(all)
		}
		if len(f.Plan.Menu.Disaggregated) == 0 { // no later option has the same servers
			clear(ready)
			drop(fresh)
		}
	}
	for s := range ready {
		s.alone, s.drafts = nil, nil
	}
	for _, o := range options {
		if o.standing != nil {
			o.surcharge = float64(o.base) * (o.standing.price - o.prefill.price)
		}
	}
	return &search{rate: f.Plan.Peak(), spare: f.Plan.Fleet.Spare, options: options, best: -1,
		seeds: mostSeeds, trials: t}, nil
}

// checkRouting finds routing policies of the menu that do not exist. Simulations do not show all of
// them: one replica needs none.
func checkRouting(f *asked.File, options []*option) error {
	for _, policy := range f.Plan.Menu.Routing {
		s := options[0].prefill.asked()
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

// prepareAll has servers prepared, each worker those of a part of the menu.
func prepareAll(ctx context.Context, workers []*preparer, list []*server) error {
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
func drop(list []*server) {
	for _, s := range list {
		s.alone, s.drafts = nil, nil
	}
}

// prepare finds out whether a replica can be built, and what its steps take. A server that is
// prepare anew, for another workload, keeps its evidence and what its steps take.
func (p *preparer) prepare(s *server) error {
	f := p.file
	file, err := f.File(s.asked(), f.Plan.Peak(), asked.DrawnOf(&f.Plan))
	if err != nil {
		return err
	}
	if s.evidence == nil {
		err := file.CheckNames(policies.Default())
		if err != nil && !p.apart(err) && (s.changes == nil || !asked.Concerns(err, "batching")) {
			return fmt.Errorf("%s: %w", s.label(), err)
		}
	}
	file.Clocks = p.clocks
	simulation, err := file.Build(policies.Default())
	if scenarios.IsInputError(err) && !asked.Concerns(err, "workload") {
		s.unfit = p.loads.same(asked.Reason(err))
		return nil
	}
	if err != nil {
		return err
	}
	defer simulation.Source.Close()
	s.price = simulation.Scenario.Hardware.Price.Amount * float64(s.gpus)
	if s.price <= 0 {
		return scenarios.BadInput(
			fmt.Errorf("%s: menu.hardware: %s has no price in the catalogue; give one, such as "+
				"{accelerator: %s, price: $2/h}",
				f.Name, s.offer.Accelerator, s.offer.Accelerator))
	}
	memory := &simulation.Scenario.Memory
	if memory.PoolHourly() > 0 {
		return scenarios.BadInput(fmt.Errorf("%s: menu.memory: the price of a pool does not grow "+
			"with the servers that a plan counts; leave it out, and add it to the answer", f.Name))
	}
	s.host = memory.HostHourly()
	s.gib, s.disk = memory.Price.Amount, memory.DiskPrice.Amount
	s.price += s.host
	steps := simulation.Steps()
	if s.evidence == nil {
		s.evidence = p.evidenceFor(simulation, steps.Clock)
	}
	p.describe(s, steps)
	if s.drafts = newDrafting(simulation, s.pace.batch); s.drafts != nil {
		s.pace.mean = s.drafts.mean()
	}
	if s.load, err = p.loads.of(f, s.context, simulation); err != nil {
		return err
	}
	s.setProbeTimes(steps)
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
func (p *preparer) describe(s *server, steps *scenarios.Steps) {
	pace := s.pace
	if pace.hull == nil { // else steps take what they took under another workload
		if p.clock != steps.Clock {
			p.clock, p.pace = steps.Clock, newPace(steps)
		}
		pace = p.pace
	}
	s.pace = pace.under(steps)
	a, n := &steps.Accelerator, float64(s.gpus)
	s.peak, s.idle = float64(n*a.PeakPower), float64(n*a.IdlePower)
	s.run = float64(n*p.pace.watts) - s.idle
	s.context, s.room = steps.Scenario.Engine.MaxModelLen, steps.Memory.Tokens
	s.budget = count(steps.Scenario.Batching.Params["token-budget"])
}

// setProbeTimes sets what the probes of the load would take with the server to themselves.
func (s *server) setProbeTimes(steps *scenarios.Steps) {
	s.alone, s.slowest = make([]latency, len(s.load.Probes)), latency{}
	for i := range s.load.Probes {
		p := &s.load.Probes[i]
		l := latency{ttft: s.prefillAlone(steps, p), tpot: s.decodeAlone(steps, p)}
		pace := l.tpot
		if s.drafts != nil {
			l.plain = plainStep(steps, p)
			l.drafted = s.drafts.least(p, l.plain)
			pace = min(l.plain, sim.Time(float64(l.drafted)/s.pace.mean))
		}
		s.alone[i] = l
		s.slowest.ttft, s.slowest.tpot = max(s.slowest.ttft, l.ttft), max(s.slowest.tpot, pace)
	}
}
