package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/launch"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner/journal"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/shard"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Options say how to answer a plan.
type Options struct {
	// Queue says how many simulations there are at the same time, and where. The answer does not
	// depend on it.
	Queue queue.Config
	// Shard is the part of the work to do, into the journal: then there is no answer. All parts
	// look for the cheapest fleet, and share the rest.
	Shard shard.Shard
	// Recorded takes all from the journal: what is not there is a shard.Missing.
	Recorded bool
	// Journal keeps simulations, so that a plan that is stopped goes on where it was; nil keeps
	// nothing.
	Journal *journal.Journal
	// Ran is told that a simulation is done; nil where nobody watches. It is called by several
	// goroutines.
	Ran func()
}

// newSearch prepares the options of the menu.
func (f *File) newSearch(q *queue.Queue, o Options) (*search, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	t := &trials{file: f, clocks: scenarios.NewClocks(), queue: q, journal: o.Journal, ran: o.Ran, shard: o.Shard, recorded: o.Recorded, ledger: &ledger{known: map[string]*entry{}}}
	return f.prepared(options, t)
}

func (f *File) prepared(options []*option, t *trials) (*search, error) {
	for _, o := range options {
		if err := f.prepare(o, t.clocks); err != nil {
			return nil, err
		}
	}
	return &search{rate: f.Plan.peak(), spare: f.Plan.Fleet.Spare, options: options, best: -1, seeds: mostSeeds, trials: t}, nil
}

// solve answers the plan of one model.
func (f *File) solve(ctx context.Context, q *queue.Queue, o Options) (*Answer, error) {
	s, err := f.newSearch(q, o)
	if err != nil {
		return nil, err
	}
	if err := s.answer(ctx); err != nil {
		return nil, err
	}
	p := &f.Plan
	a := &Answer{Name: p.Name, Model: p.Model, SLO: p.SLO, Rate: s.rate, Spare: s.spare, Confidence: p.Effort.Confidence,
		Options: len(s.options), Simulations: s.trials.count()}
	a.Load = s.load()
	a.tell(s)
	if a.Shapes, err = s.shapes(ctx); err != nil {
		return nil, err
	}
	a.BestMeasured = bestMeasured(a.Shapes)
	if s.best < 0 {
		a.Nearest = s.nearest()
	} else if err := f.detail(ctx, s, a); err != nil {
		return nil, err
	}
	a.Further = s.trials.count() - a.Simulations
	a.Failed = s.trials.failed()
	return a, nil
}

// load describes the workload in words.
func (s *search) load() string {
	for _, o := range s.options {
		if o.load != "" {
			return o.load
		}
	}
	return ""
}

// detail adds what there is to say about the chosen fleet.
func (f *File) detail(ctx context.Context, s *search, a *Answer) error {
	var err error
	if a.Chosen, err = s.deploy(ctx); err != nil {
		return err
	}
	if s.trials.shard.Whole() {
		a.Mixed = s.mixed(a.Shapes)
	}
	if f.Plan.Fleet.Autoscaling {
		a.Autoscaling = s.autoscaled(&f.Plan.Workload.Rate, a.Shapes)
	}
	if growth := f.Plan.Fleet.Growth; growth != 1 {
		later := &search{rate: growth * s.rate, spare: s.spare, options: s.options, seeds: fewSeeds, trials: s.trials}
		if err := later.answer(ctx); err != nil {
			return err
		}
		a.Growth = &Growth{Factor: growth}
		if later.best >= 0 {
			*a.Growth = Growth{growth, later.chosen().label, later.size(), later.cost()}
		}
	}
	a.Sensitivity, err = s.sensitivity(ctx)
	return err
}

// tell counts the options that were not simulated, and says of each what became of it.
func (a *Answer) tell(s *search) {
	for i, fate := range s.fates {
		o := s.options[i]
		a.Fates = append(a.Fates, Fate{o.label, fate.kind, fate.words, fate.replicas, o.ceiling})
		if fate.kind == simulated || fate.kind == chosen || fate.kind == broken {
			continue
		}
		at := slices.IndexFunc(a.Pruned, func(p Pruned) bool { return p.Why == fate.kind })
		if at < 0 {
			at = len(a.Pruned)
			a.Pruned = append(a.Pruned, Pruned{Why: fate.kind, Example: o.label + ": " + fate.words})
		}
		a.Pruned[at].Options++
	}
}

// nearest returns the option under which the most requests meet the SLO, of several with none the
// one that misses it by least; nil where nothing fits at all.
func (s *search) nearest() *Nearest {
	best := -1
	for i := range s.fates {
		if s.fates[i].kind == unfit {
			continue
		}
		if best < 0 || cmp.Or(-cmp.Compare(s.fates[i].closest, s.fates[best].closest), cmp.Compare(s.options[i].excess, s.options[best].excess)) < 0 {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &Nearest{s.options[best].label, s.fates[best].closest, s.fates[best].words}
}

// shapes shows each accelerator and parallelism at its best settings, as far as they are known.
func (s *search) shapes(ctx context.Context) ([]Shape, error) {
	var names []string
	leaders := map[string]int{}
	for i, o := range s.options {
		if _, seen := leaders[o.shape]; !seen {
			names = append(names, o.shape)
			leaders[o.shape] = i
		} else if s.closer(i, leaders[o.shape]) {
			leaders[o.shape] = i
		}
	}
	list := make([]Shape, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for n, name := range names {
		if !s.trials.shard.Mine(n) {
			continue
		}
		group.Go(func() (err error) {
			list[n], err = s.shape(ctx, leaders[name])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Shape) int {
		return cmp.Or(-cmp.Compare(sign(a.Replicas), sign(b.Replicas)), cmp.Compare(a.Hourly, b.Hourly), -cmp.Compare(a.Rate, b.Rate))
	})
	return list, nil
}

func sign(n int) int { return min(n, 1) }

// closer reports whether option i is nearer to being chosen than option j, which comes before it.
func (s *search) closer(i, j int) bool {
	rank := func(k int) (int, float64) {
		o, fate := s.options[k], &s.fates[k]
		switch {
		case fate.replicas > 0:
			return 0, float64(fate.replicas+s.spare) * o.price
		case fate.kind == simulated:
			return 1, -fate.closest
		case fate.kind == costsMore || fate.kind == tooFew:
			return 2, float64(s.fewest(o)+s.spare) * o.price
		case fate.kind == outOfReach || fate.kind == broken:
			return 3, -fate.closest
		}
		return 4, 0
	}
	rankI, costI := rank(i)
	rankJ, costJ := rank(j)
	return cmp.Or(cmp.Compare(rankI, rankJ), cmp.Compare(costI, costJ)) < 0
}

// shape finds the highest rate of an option, and the fleet that it would take.
func (s *search) shape(ctx context.Context, i int) (Shape, error) {
	o, fate := s.options[i], &s.fates[i]
	sh := Shape{Shape: o.shape, Accelerator: o.offer.Accelerator, GPUs: o.gpus, Label: o.label, Grade: o.grade}
	if fate.kind == unfit || fate.kind == outOfReach || fate.kind == broken {
		sh.Limit = fate.words
		return sh, nil
	}
	sh.KVTokens = o.steps.Memory.Tokens
	rate, above, err := s.highest(ctx, i)
	if words, failed := failure(err); failed {
		sh.Limit = words
		return sh, nil
	}
	if err != nil {
		return sh, err
	}
	sh.Rate, sh.Limit = rate, "at more, "+above.trial.Limit
	replicas := fate.replicas
	if replicas == 0 && rate > 0 {
		replicas = int(math.Ceil(s.rate / rate))
	}
	switch size := replicas + s.spare; {
	case replicas == 0:
		sh.Limit = "even at a light load " + above.trial.Limit
	case o.offer.Count > 0 && size*o.gpus > o.offer.Count:
		sh.Limit = fmt.Sprintf("%d accelerators would be needed, there are %d; %s", size*o.gpus, o.offer.Count, sh.Limit)
	default:
		sh.Replicas, sh.Accelerators, sh.Hourly = size, size*o.gpus, float64(size)*o.price
		sh.HourlyLeast = float64(s.optimistic(i, replicas)+s.spare) * o.price
		sh.PerMillion = sh.Hourly / s.millions(o)
	}
	return sh, nil
}

// likely is the probability of what is called the least cost: steps are that fast in one case of
// ten.
const likely = 0.1

// optimistic reckons how many replicas of an option would do in place of n if steps were as fast as
// they are in one case of ten, taking rates to be inverse to step times.
func (s *search) optimistic(i, n int) int {
	o := s.options[i]
	return max(1, int(math.Ceil(float64(n)*o.physics.quantile(likely)/s.pessimism(i)-1e-9)))
}

// deploy simulates the chosen fleet whole, with and without its spares.
func (s *search) deploy(ctx context.Context) (*Deployment, error) {
	reduced, _, err := s.whole(ctx, s.chosen(), s.fates[s.best].replicas, 1, 0)
	if err != nil {
		return nil, err
	}
	full, file, err := s.whole(ctx, s.chosen(), s.size(), 1, 0)
	if err != nil {
		return nil, err
	}
	d, err := s.deployment(file, full, reduced)
	if err != nil {
		return nil, err
	}
	d.Chances, err = s.chances(ctx)
	return d, err
}

// mostTogether bounds the requests of the simulation of a whole fleet.
const mostTogether = 20_000

// whole simulates so many replicas of an option at the whole rate where steps take slowdown times
// what is predicted, with the plan's seed and others, and returns the scenario too.
func (s *search) whole(ctx context.Context, o *option, replicas int, slowdown float64, seed uint64) (trial, *scenarios.File, error) {
	scenario := o.scenario
	scenario.Engine.Slowdown = slowdown
	scenario.Seed += seed
	if scenario.Fleet.Pools = o.split.pools(replicas); scenario.Fleet.Pools == nil {
		scenario.Replicas = replicas
	}
	first, _ := s.trials.file.Plan.lengths(s.rate)
	requests := max(first, min(s.trials.file.Plan.Effort.Requests*int64(replicas), mostTogether))
	file, err := s.trials.file.file(scenario, s.rate, requests)
	if err != nil {
		return trial{}, nil, err
	}
	t, err := s.trials.trial(ctx, scenario, s.rate, requests)
	return t, file, err
}

func (s *search) deployment(file *scenarios.File, full, reduced trial) (*Deployment, error) {
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	defer simulation.Source.Close()
	text, err := simulation.Explain()
	if err != nil {
		return nil, err
	}
	o := s.chosen()
	d := &Deployment{
		offer: o.offer, Label: o.label, Replicas: s.size(), Accelerators: s.accelerators(), Hourly: s.cost(),
		Kept: full.All, KeptWithoutSpares: reduced.All, EnergyPerMillion: full.EnergyPerMillion, Binds: full.Binds,
		Scenario: string(text), Grade: o.grade,
	}
	if err := d.start(simulation); err != nil {
		return nil, err
	}
	d.PerMillion, d.GPUHours = d.Hourly/s.millions(o), float64(d.Accelerators)/s.millions(o)
	return d, nil
}

// start sets what starts the fleet.
func (d *Deployment) start(s *scenarios.Simulation) error {
	bundle, err := launch.NewBundle(&s.Scenario, s.Model, "")
	if err != nil {
		d.Unstartable = err.Error()
		return nil
	}
	d.Bundle = bundle
	for i := range bundle.Servers {
		line, err := bundle.Servers[i].Line()
		if err != nil {
			return err
		}
		d.Launch = append(d.Launch, line)
	}
	return nil
}

// millions is how many million output tokens the fleet is asked for in an hour.
func (s *search) millions(o *option) float64 {
	return s.trials.file.Plan.mean() * o.output * 3600 / 1e6
}
