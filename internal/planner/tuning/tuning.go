// Package tuning finds the settings of an engine that serve a scenario's traffic best on the
// scenario's hardware, and says what each of them brings. Combinations that do badly in short
// simulations are left out, and the others go on to longer ones. This is successive halving
// (Jamieson and Talwalkar, AISTATS 2016, arXiv:1502.07943), with the same random numbers for all.
package tuning

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// Options say what to improve, and how carefully.
type Options struct {
	// Goal is the name of one of Goals; empty means the default for the scenario.
	Goal string
	// Axes are the keys to tune and their values; empty for parallelism and the numbers that the
	// engine has flags for.
	Axes []planner.Axis
	// Replications is the number of seeds of the last rung, and of the runs that say what each
	// setting brought; at least 2.
	Replications int
	// Requests is the number of requests of the longest simulation, at least 1; a scenario may have
	// fewer.
	Requests int64
	// Confidence is the confidence of all intervals of an answer together, in (0, 1).
	Confidence float64
	// Most is the largest number of options of the first round, at least 1. If there are more
	// combinations, the options are drawn from them, and the neighbours of the best are tried at
	// the end.
	Most int
	// Workers is the number of simulations at the same time, at least 1. The answer does not
	// depend on it.
	Workers int
	// Ran, if not nil, is called after each simulation, by several goroutines.
	Ran func()
}

// Load reads the scenario anew, with further overrides: a scenarios.File is built once only.
type Load func(overrides ...string) (*scenarios.File, error)

// tuner is the search while it goes on.
type tuner struct {
	Options
	load Load
	goal Goal
	menu []Dimension
	seed uint64 // of the scenario
	runs int    // simulations so far
}

// Tune finds the best settings. An error in the scenario or the options is an input error.
func Tune(ctx context.Context, load Load, o Options) (*Answer, error) {
	if o.Replications < 2 || o.Requests < 1 || o.Most < 1 ||
		!(o.Confidence > 0 && o.Confidence < 1) {
		return nil, scenarios.BadInput(errors.New("tuning needs at least 2 replications, 1 " +
			"request and 1 option, and a confidence above 0 and below 1, such as 0.95"))
	}
	file, err := load()
	if err != nil {
		return nil, err
	}
	base, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	base.Source.Close()
	t := &tuner{Options: o, load: load, seed: base.Scenario.Seed}
	if t.goal, err = goal(o.Goal, &base.Scenario); err != nil {
		return nil, err
	}
	if t.menu, err = menu(base, o.Axes); err != nil {
		return nil, err
	}
	if err := t.checkNames(); err != nil {
		return nil, err
	}
	r, err := t.halve(ctx, base.Scenario.Unsteady() == "")
	if err != nil {
		return nil, err
	}
	tuned, err := t.simplify(ctx, r)
	if err != nil {
		return nil, err
	}
	return t.answer(ctx, r, tuned)
}

// checkNames refuses a value that was asked for and cannot be in any combination, such as a
// misspelt name, before the first run.
func (t *tuner) checkNames() error {
	if len(t.Axes) == 0 {
		return nil
	}
	all := options(t.menu)
	for d := range t.menu {
		for choice := range t.menu[d].Choices {
			var first error
			for _, o := range all {
				if o[d] != choice {
					continue
				}
				f, err := t.load(o.settings(t.menu)...)
				if err == nil {
					err = f.CheckNames(policies.Default())
				}
				if first == nil {
					first = err
				}
				if err == nil {
					first = nil
					break
				}
			}
			if first != nil {
				return first
			}
		}
	}
	return nil
}

// simplify takes back what the best of the last rung does not need: in turn, each setting without
// which it is not worse beyond noise than any option of that rung. What is left is no worse than
// the default.
func (t *tuner) simplify(ctx context.Context, r *halving) (option, error) {
	best := r.last[0]
	current := best
	for d := range t.menu {
		if current.option[d] == 0 {
			continue
		}
		trials, err := t.measure(ctx, []option{current.option.without(d)}, r.requests, r.seeds)
		if err != nil {
			return nil, err
		}
		simpler := trials[0]
		worse := func(than trial) bool { return t.worse(simpler, than) }
		if simpler.reason == "" && !worse(current) && !slices.ContainsFunc(r.last, worse) {
			current = simpler
		}
	}
	standard := r.last[slices.IndexFunc(r.last, func(t trial) bool { return t.changes() == 0 })]
	if current.loss() > standard.loss() {
		current = best
	}
	return current.option, nil
}

// worse reports whether a is worse than b beyond noise, or where there is no noise, at all.
func (t *tuner) worse(a, b trial) bool {
	d := difference(a, b, t.Confidence)
	if len(a.runs) == 1 {
		return d.Mean > 0
	}
	return d.Mean > 0 && d.Excludes(0)
}

// option is one choice of each dimension, by index.
type option []int

// options returns every combination of the choices, the one that changes nothing first.
func options(menu []Dimension) []option {
	sizes := make([]int, len(menu))
	for d := range menu {
		sizes[d] = len(menu[d].Choices)
	}
	var list []option
	for _, choices := range combin.Cartesian(sizes) {
		list = append(list, choices)
	}
	return list
}

// sample returns a number of options: the default, all that differ from it in one dimension, and
// others that are drawn, the same ones each time.
func sample(all []option, most int) []option {
	if len(all) <= most {
		return all
	}
	var list, others []option
	for _, o := range all {
		if o.changes() <= 1 {
			list = append(list, o)
		} else {
			others = append(others, o)
		}
	}
	draw := rand.New(rand.NewPCG(0, 0))
	draw.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return append(list, others[:max(0, most-len(list))]...)
}

// neighbours returns the options that differ from o in one dimension.
func (o option) neighbours(menu []Dimension) (list []option) {
	for d := range menu {
		for choice := range menu[d].Choices {
			if choice != o[d] {
				one := slices.Clone(o)
				one[d] = choice
				list = append(list, one)
			}
		}
	}
	return list
}

// settings returns what an option overrides.
func (o option) settings(menu []Dimension) (list []string) {
	for d, choice := range o {
		list = append(list, menu[d].Choices[choice].Set...)
	}
	return list
}

// changes returns the number of dimensions in which an option is not the default.
func (o option) changes() (n int) {
	for _, choice := range o {
		if choice > 0 {
			n++
		}
	}
	return n
}

// without returns the option with the default's choice of one dimension.
func (o option) without(dimension int) option {
	one := slices.Clone(o)
	one[dimension] = 0
	return one
}

// Goal is a figure to make as small, or as large, as possible.
type Goal struct {
	// Name is the word for --goal. Title names the figure, and Unit is its unit: "%" or the
	// metric's unit.
	Name, Title, Unit string
	// Higher is set where more is better.
	Higher bool
	of     func(o *planner.Observation) float64
}

// Goals lists the known goals.
func Goals() []Goal {
	return []Goal{
		{Name: "slo", Title: "use of the SLO's tightest limit", Unit: "%", of: use},
		{Name: "latency", Title: "mean time of a whole request", Unit: "ms",
			of: func(o *planner.Observation) float64 { return o.Result.MeanE2EL }},
		{Name: "throughput", Title: "output tokens", Unit: "1/s", Higher: true,
			of: func(o *planner.Observation) float64 { return o.Result.OutputThroughput }},
	}
}

// goal returns the goal of that name. Without a name it is slo, or throughput if all requests
// arrive at the start.
func goal(name string, s *scenarios.Scenario) (Goal, error) {
	if name == "" {
		name = "slo"
		if s.Workload.Arrivals.Process == "at-once" {
			name = "throughput"
		}
	}
	var names []string
	for _, g := range Goals() {
		if g.Name == name {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return Goal{}, scenarios.BadInput(errors.New(nearest.Unknown("goal", name, names)))
}

// loss returns a figure so that less is better.
func (g *Goal) loss(o *planner.Observation) float64 {
	if g.Higher {
		return -g.of(o)
	}
	return g.of(o)
}

// turnedAway is the latency of a request without an answer, as a multiple of its limits.
const turnedAway = 1000

// use returns how much of the limits of its SLO a run uses, in percent: at 100 the SLO is just
// kept. It is the share of the class and the limit that binds.
func use(o *planner.Observation) float64 {
	byClass := map[int][]*planner.Request{}
	for i := range o.Requests {
		r := &o.Requests[i]
		byClass[r.Class] = append(byClass[r.Class], r)
	}
	most := 0.0
	for class, requests := range byClass {
		most = max(most, useOf(o.Simulation.SLO(class), requests))
	}
	for i := range o.Result.Limits {
		if l := &o.Result.Limits[i]; l.Latency == metrics.ITL {
			most = max(most, l.Used())
		}
	}
	return 100 * most
}

// useOf returns the largest share of a limit that requests of one class use: of limits that they
// must keep at once, the quantile of what each uses, and of each limit of a percentile.
func useOf(slo metrics.SLO, requests []*planner.Request) float64 {
	most := 0.0
	if slo.Share > 0 {
		most = quantile(slo.Share, requests, func(r *planner.Request) float64 {
			return max(ratio(r.TTFT, slo.TTFT), ratio(r.TPOT, slo.TPOT), ratio(r.E2E, slo.E2E))
		})
	}
	for _, l := range slo.Percentiles {
		if l.Latency != metrics.ITL { // gaps are not kept by request
			most = max(most, quantile(l.Percentile/100, requests,
				func(r *planner.Request) float64 { return ratio(r.Of(l.Latency), l.Most) }))
		}
	}
	return most
}

// ratio returns a latency as a share of its limit; 0 without one.
func ratio(latency, limit sim.Time) float64 {
	if limit == 0 {
		return 0
	}
	return float64(latency) / float64(limit)
}

// quantile returns the least value that a share of the requests does not exceed.
func quantile(share float64, requests []*planner.Request,
	of func(r *planner.Request) float64) float64 {
	values := make([]float64, len(requests))
	for i, r := range requests {
		if values[i] = turnedAway; !r.Rejected {
			values[i] = of(r)
		}
	}
	slices.Sort(values)
	const rounding = 1e-9 // of 0.99 times a count of requests
	n := int(math.Ceil(float64(share*float64(len(values))) - rounding))
	return values[max(0, n-1)]
}

// trial is the runs of an option, one for each seed.
type trial struct {
	option
	runs []run
	// reason says why the option cannot run; empty where it did.
	reason string
}

// run is what is kept of a simulation.
type run struct {
	loss     float64 // the goal's
	figures  [figureCount]float64
	met      bool // whether the SLO was
	sent     int64
	peak     int // largest batch
	evidence evidence.Evidence
	// setup says in words what served, load who asked.
	setup, load string
}

// loss returns the mean loss.
func (t *trial) loss() float64 {
	sum := 0.0
	for i := range t.runs {
		sum += t.runs[i].loss
	}
	return sum / float64(len(t.runs))
}

// same reports whether all runs of two trials came to the same, to the last bit.
func same(a, b *trial) bool {
	for i := range a.runs {
		if a.runs[i].loss != b.runs[i].loss || a.runs[i].figures != b.runs[i].figures {
			return false
		}
	}
	return true
}

// difference returns how much larger a's loss is than b's, under the same seeds.
func difference(a, b trial, confidence float64) stats.Interval {
	list := make([]float64, len(a.runs))
	for i := range a.runs {
		list[i] = a.runs[i].loss - b.runs[i].loss
	}
	return stats.Mean(list, confidence)
}

// measure runs options for a number of requests with each of some seeds, on all workers.
func (t *tuner) measure(ctx context.Context, options []option, requests int64,
	seeds []uint64) ([]trial, error) {
	trials := make([]trial, len(options))
	for i, o := range options {
		trials[i] = trial{option: o, runs: make([]run, len(seeds))}
	}
	reasons := make([]string, len(options)*len(seeds))
	// Each run takes clocks that no other run uses meanwhile, and the step times that they know.
	clocks := sync.Pool{New: func() any { return scenarios.NewClocks() }}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(t.Workers)
	for n := range reasons {
		group.Go(func() (err error) {
			known := clocks.Get().(*scenarios.Clocks)
			defer clocks.Put(known)
			one, seed := &trials[n/len(seeds)], n%len(seeds)
			one.runs[seed], err = t.run(ctx, one.option, requests, seeds[seed], known)
			if scenarios.IsInputError(err) {
				reasons[n], err = withoutLocation(err), nil
			}
			return err
		})
	}
	err := group.Wait()
	for n := len(reasons) - 1; n >= 0; n-- {
		if reasons[n] != "" {
			trials[n/len(seeds)].reason = reasons[n]
		}
	}
	t.runs += len(reasons)
	return trials, err
}

// withoutLocation returns what an error says, without the flag or the line that it names.
func withoutLocation(err error) string {
	return regexp.MustCompile(`^(--set \S+|\S+:[0-9]+): `).ReplaceAllString(err.Error(), "")
}

// run simulates an option.
func (t *tuner) run(ctx context.Context, o option, requests int64, seed uint64,
	clocks *scenarios.Clocks) (run, error) {
	if err := ctx.Err(); err != nil {
		return run{}, err
	}
	f, err := t.load(o.settings(t.menu)...)
	if err != nil {
		return run{}, err
	}
	f.Clocks = clocks
	f.Scenario.Seed = t.seed + seed
	if w := &f.Scenario.Workload; w.Requests == 0 || w.Requests > requests {
		w.Requests = requests
	}
	seen, err := planner.Observe(ctx, f)
	if err != nil {
		return run{}, err
	}
	if t.Ran != nil {
		t.Ran()
	}
	r := seen.Result
	return run{loss: t.goal.loss(seen), figures: figuresOf(r), met: r.SLOMet, sent: r.Sent(),
		peak: r.PeakBatch, evidence: r.Evidence, setup: r.Setup, load: r.Load}, nil
}
