package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

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
func (f *File) newSearch(ctx context.Context, q *queue.Queue, o Options) (*search, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	t := &trials{file: f, clocks: scenarios.NewClocks(), queue: q, journal: o.Journal, ran: o.Ran,
		shard: o.Shard, recorded: o.Recorded, workers: o.Queue.Workers,
		ledger: &ledger{known: map[string]*entry{}}}
	return f.prepared(ctx, options, t)
}

// finding is a search that has found what the goal asks for, and how.
type finding struct {
	*search
	points  []Point
	reaches []*reach
	jobs    []*jobFleet
	// stock reports whether other models take accelerators from the same stock, and shared whether
	// the fleet is not the best for this model alone for that reason.
	stock, shared bool
}

// solve answers the plan of one model.
func (f *File) solve(ctx context.Context, q *queue.Queue, o Options) (*Answer, error) {
	found, err := f.find(ctx, q, o)
	if err != nil {
		return nil, err
	}
	return f.told(ctx, found)
}

// find looks for what the goal of one model asks for.
func (f *File) find(ctx context.Context, q *queue.Queue, o Options) (*finding, error) {
	s, err := f.newSearch(ctx, q, o)
	if err != nil {
		return nil, err
	}
	if err := s.possible(); err != nil {
		return nil, err
	}
	found := &finding{search: s}
	switch f.Plan.Goal.Find {
	case findJob:
		found.jobs, err = s.doJob(ctx)
	case findThroughput:
		found.reaches, err = s.reachFarthest(ctx)
	case findLatency:
		found.points, err = s.swiftest(ctx)
	default:
		err = s.answer(ctx)
	}
	if err == nil && f.Plan.Goal.Find == findFront && s.best >= 0 {
		found.points, err = s.front(ctx)
	}
	return found, err
}

// told makes an answer of what was found.
func (f *File) told(ctx context.Context, found *finding) (*Answer, error) {
	s, p := found.search, &f.Plan
	var err error
	a := &Answer{Name: p.Name, Model: p.Model, Goal: p.Goal, Prices: p.priced,
		Points: found.points, Reaches: s.told(found.reaches), SLO: p.SLO,
		ClassSLOs: p.classSLOs(), Rate: s.rate, Spare: s.spare, Confidence: p.Effort.Confidence,
		Options: len(s.options), Simulations: s.trials.count()}
	if l := s.load(); l != nil {
		a.Load = l.words
	}
	for _, j := range found.jobs[:min(len(found.jobs), mostShapes)] {
		a.Jobs = append(a.Jobs, s.done(j))
	}
	a.tell(s)
	if p.Goal.Find == findCheapest {
		if a.Shapes, a.FurtherShapes, err = s.shapes(ctx); err != nil {
			return nil, err
		}
	}
	a.BestMeasured = bestMeasured(a.Shapes)
	if s.best >= 0 {
		err = f.detail(ctx, found, a)
	} else {
		a.Nearest = s.nearest()
		err = s.adviseNearest(ctx, a.Nearest)
	}
	if err != nil {
		return nil, err
	}
	if p.Goal.Find == findThroughput && a.Chosen != nil {
		a.Load = a.Chosen.load
	}
	a.Further = s.trials.count() - a.Simulations
	a.Failed = s.trials.failed()
	return a, nil
}

// load returns what the fleet is asked for; nil where nothing fits.
func (s *search) load() *load {
	for _, o := range s.options {
		if o.unfit() == "" {
			return o.load()
		}
	}
	return nil
}

// detail adds what there is to say about the chosen fleet.
func (f *File) detail(ctx context.Context, found *finding, a *Answer) error {
	var err error
	s := found.search
	if f.Plan.Job != nil {
		a.Chosen, err = s.deployJob(ctx)
		return err
	}
	if a.Chosen, err = s.deploy(ctx); err != nil {
		return err
	}
	if err = s.explain(ctx, a); err != nil || f.Plan.Goal.Find != findCheapest || found.shared {
		return err
	}
	if s.trials.shard.Whole() && !found.stock {
		if a.Mixed, err = s.confirmed(ctx, s.mixed(a.Shapes)); err != nil {
			return err
		}
	}
	if f.Plan.Fleet.Autoscaling {
		a.Autoscaling = s.autoscaled(&f.Plan.Workload.Rate, a.Shapes)
		a.Rented = s.rented(&f.Plan.Workload.Rate, a.Shapes)
	}
	if growth := f.Plan.Fleet.Growth; growth != 1 {
		if a.Growth, err = s.growth(ctx, growth); err != nil {
			return err
		}
	}
	a.Sensitivity, err = s.sensitivity(ctx)
	return err
}

// growth finds the best fleet for a load that is factor times as heavy.
func (s *search) growth(ctx context.Context, factor float64) (*Growth, error) {
	later, err := s.perturbed(ctx, perturbation{plan: func(p *Plan) { p.scaleRate(factor) }},
		math.Inf(1))
	if err != nil {
		return nil, err
	}
	later.trials.rough = false
	if err := later.answer(ctx); err != nil {
		return nil, err
	}
	g := &Growth{Factor: factor}
	if later.best >= 0 {
		*g = Growth{factor, later.label(later.best), later.size(), later.cost()}
	}
	return g, nil
}

// label names option i.
func (s *search) label(i int) string { return s.options[i].label(&s.trials.file.Plan.Menu) }

// mostFates is the size of a menu of which an answer says what became of every option; of larger
// ones it says so of the simulated ones.
const mostFates = 10_000

// tell counts the options that were not simulated, and says of each what became of it.
func (a *Answer) tell(s *search) {
	for i, fate := range s.fates {
		tried := fate.kind == simulated || fate.kind == chosen || fate.kind == broken
		if tried || len(s.fates) <= mostFates {
			a.Fates = append(a.Fates, Fate{s.label(i), fate.kind, s.words(i), fate.replicas,
				s.options[i].ceiling})
		}
		if tried {
			continue
		}
		at := slices.IndexFunc(a.Pruned, func(p Pruned) bool { return p.Why == fate.kind })
		if at < 0 {
			at = len(a.Pruned)
			a.Pruned = append(a.Pruned,
				Pruned{Why: fate.kind, Example: s.label(i) + ": " + s.words(i)})
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
		if best < 0 || cmp.Or(-cmp.Compare(s.fates[i].closest, s.fates[best].closest),
			cmp.Compare(s.options[i].excess, s.options[best].excess)) < 0 {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &Nearest{option: best, Label: s.label(best), Kept: s.fates[best].closest,
		Limit: s.words(best)}
}

// mostShapes bounds the shapes that an answer shows.
const mostShapes = 24

// leaders returns the option of each shape that is nearest to being chosen, the nearest of all
// first, and the number of shapes that are left out.
func (s *search) leaders() (list []int, left int) {
	at := map[string]int{}
	for i, o := range s.options {
		name := o.shape()
		k, seen := at[name]
		switch {
		case !seen:
			at[name] = len(list)
			list = append(list, i)
		case s.closer(i, list[k]):
			list[k] = i
		}
	}
	if left = max(0, len(list)-mostShapes); left > 0 {
		slices.SortStableFunc(list, func(i, j int) int {
			switch {
			case s.closer(i, j):
				return -1
			case s.closer(j, i):
				return 1
			}
			return 0
		})
	}
	return list[:len(list)-left], left
}

// shapes shows each accelerator and parallelism at its best settings, as far as they are known.
func (s *search) shapes(ctx context.Context) (list []Shape, left int, err error) {
	leaders, left := s.leaders()
	list = make([]Shape, len(leaders))
	group, ctx := errgroup.WithContext(ctx)
	for n, i := range leaders {
		if !s.trials.shard.Mine(n) {
			continue
		}
		group.Go(func() (err error) {
			list[n], err = s.shape(ctx, i)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(list, func(a, b Shape) int {
		return cmp.Or(-cmp.Compare(sign(a.Replicas), sign(b.Replicas)),
			cmp.Compare(a.Hourly, b.Hourly), -cmp.Compare(a.Rate, b.Rate))
	})
	return list, left, nil
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
			return 2, s.leastCost(k)
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
	sh := Shape{Shape: o.shape(), GPUs: o.gpus, Label: s.label(i), Grade: o.grade, option: i}
	if o.decode == nil || o.decode.offer.Accelerator == o.prefill.offer.Accelerator {
		sh.Accelerator = o.prefill.offer.Accelerator
	}
	if fate.kind == unfit || fate.kind == outOfReach || fate.kind == broken {
		sh.Limit = s.words(i)
		return sh, nil
	}
	sh.KVTokens = o.prefill.room
	replicas, err := s.needed(ctx, i, &sh)
	if words, failed := failure(err); failed {
		sh.Limit = words
		return sh, nil
	}
	if err != nil {
		return sh, err
	}
	switch size := replicas + s.spare; {
	case replicas == 0:
	case !o.available(size):
		offer := o.shortest(size)
		sh.Limit = fmt.Sprintf("%d × %s would be needed, there are %d; %s",
			size*o.accelerators(offer), offer.Accelerator, offer.Count, sh.Limit)
	default:
		sh.Replicas, sh.Accelerators, sh.Hourly = size, size*o.gpus, float64(size)*o.price
		sh.HourlyLeast = float64(s.optimistic(i, replicas)+s.spare) * o.price
		if millions := s.millions(); millions > 0 {
			sh.PerMillion = sh.Hourly / millions
		}
	}
	return sh, nil
}

// needed returns how many replicas of option i serve the load, spares left out; 0 where none do, or
// where only whole fleets tell and the bounds say enough. It notes the highest rate of a replica
// that is judged alone, and what limits the option.
func (s *search) needed(ctx context.Context, i int, sh *Shape) (int, error) {
	o, replicas := s.options[i], s.fates[i].replicas
	_, taken := o.interrupted()
	switch {
	case s.trials.file.Plan.divisible() && !taken:
		rate, above, err := s.highest(ctx, i)
		if err != nil {
			return 0, err
		}
		sh.Rate, sh.Limit = rate, "at more, "+above.trial.Limit
		if replicas == 0 && rate > 0 {
			replicas = int(math.Ceil(s.rate / rate))
		}
	case replicas == 0:
		sh.Limit = s.words(i)
	case replicas == 1:
		sh.Limit = "one is enough"
	default:
		v, err := s.enough(ctx, o, replicas-1)
		if err != nil {
			return 0, err
		}
		sh.Limit = s.lost(o, replicas-1, v)
	}
	return replicas, nil
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
	if d.Interrupted, err = s.interrupt(ctx); err != nil {
		return nil, err
	}
	d.Chances, err = s.chances(ctx)
	return d, err
}

// mostTogether bounds the requests of the simulation of a whole fleet, unless its rate, or
// turnsEach for each user of a closed loop, ask for more.
const (
	mostTogether = 20_000
	turnsEach    = 20
)

// whole simulates replicas of an option at the whole rate where steps take slowdown times
// what is predicted, with the plan's seed and others, and returns the scenario too.
func (s *search) whole(ctx context.Context, o *option, replicas int, slowdown float64,
	seed uint64) (trial, *scenarios.File, error) {
	return s.wholeAt(ctx, o, replicas, s.rate, slowdown, seed)
}

// wholeAt is whole at another rate.
func (s *search) wholeAt(ctx context.Context, o *option, replicas int, rate, slowdown float64,
	seed uint64) (trial, *scenarios.File, error) {
	p := &s.trials.file.Plan
	scenario := o.scenario(&p.Menu, replicas, slowdown)
	scenario.Seed += seed
	requests := p.together(rate, replicas)
	file, err := s.trials.file.file(scenario, rate, requests)
	if err != nil {
		return trial{}, nil, err
	}
	t, err := s.trials.trial(ctx, scenario, rate, requests)
	return t, file, err
}

// together returns the requests of the simulation of a whole fleet.
func (p *Plan) together(rate float64, replicas int) int64 {
	first, _ := p.lengths(rate)
	return max(first, min(p.Effort.Requests*int64(replicas), mostTogether),
		turnsEach*int64(p.Workload.Arrivals.Users))
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
	load := simulation.Source.Summary().Text
	d := &Deployment{
		load: load[:max(0, strings.LastIndex(load, "; "))], option: o, Label: s.label(s.best),
		Replicas: s.size(), Accelerators: s.accelerators(),
		Hourly: s.cost(),
		Kept:   full.All, KeptWithoutSpares: reduced.All, Classes: full.Classes,
		EnergyPerMillion: full.EnergyPerMillion, Binds: full.Binds,
		Scenario: string(text), Grade: o.grade,
	}
	if err := d.start(simulation); err != nil {
		return nil, err
	}
	if carbon := o.sum((*server).emission) / o.watts; carbon > 0 {
		d.Carbon = carbon * d.EnergyPerMillion / 1000
	}
	if millions := full.Flow * 3600 / 1e6; s.millions() > 0 {
		d.PerMillion, d.GPUHours = d.Hourly/s.millions(), float64(d.Accelerators)/s.millions()
	} else if millions > 0 {
		d.PerMillion, d.GPUHours = d.Hourly/millions, float64(d.Accelerators)/millions
	}
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

// millions is how many million output tokens the fleet is asked for in an hour; 0 where that
// depends on the fleet.
func (s *search) millions() float64 {
	flow := s.load().flow
	if peak := s.trials.file.Plan.peak(); s.rate != peak {
		flow *= s.rate / peak // the goal was to raise it
	}
	if p := &s.trials.file.Plan; p.steady() {
		flow *= p.mean() / p.peak()
	}
	return flow * 3600 / 1e6
}
