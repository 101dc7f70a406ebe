// Package judge simulates candidates of a plan, each once, and decides whether fleets keep an SLO:
// fixed, scaled and spot ones, by one replica, a part of the fleet or the whole of it. It has the
// ways in which fleets are looked for, without knowing what other fleets do: by bounds the best of
// many candidates, and by trials the least number that suffices.
package judge

import (
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Judge decides about fleets at a rate.
type Judge struct {
	Rate   float64 // of the whole fleet, in requests/s; 0 for a load without a rate
	Spare  int     // the replicas beside the ones that serve
	Seeds  int     // the most runs of a whole fleet for a decision
	Trials *Trials
}

// Goal returns what the plan asks to find.
func (j *Judge) Goal() *asked.Goal { return &j.Trials.File.Plan.Goal }

// Currency returns the currency of all prices.
func (j *Judge) Currency() units.Currency { return j.Trials.File.Plan.Currency }

// Money writes an amount with its currency and three significant digits.
func (j *Judge) Money(x float64) string { return j.Currency().Format(units.Figure(x)) }

// Simulate runs replicas of an option at the whole rate where predictions are wrong by some
// factors, with the plan's seed and others, and returns the number of requests of the scenario too.
func (j *Judge) Simulate(ctx context.Context, o *candidate.Option, replicas int,
	wrong candidate.ErrorFactors, seed uint64) (Trial, int64, error) {
	return j.simulateAt(ctx, o, replicas, j.Rate, wrong, seed)
}

// simulateAt does so at another rate. The first run of a decision ends where it is hopeless: with
// the plan's seed, predictions as wrong as decisions take them, and no latency earlier than
// simulated. A spot fleet mixes runs, of which each must be whole.
func (j *Judge) simulateAt(ctx context.Context, o *candidate.Option, replicas int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (Trial, int64, error) {
	p := &j.Trials.File.Plan
	scenario, least := o.Scenario(&p.Menu, replicas, wrong.Steps), int64(0)
	if seed > 0 { // what filled the fleet with the first seed does so with others
		first, requests, err := j.simulateAt(ctx, o, replicas, rate, wrong, 0)
		if err != nil {
			return first, 0, err
		}
		_, part := j.Trials.Part(scenario, rate)
		least = min(first.fills(part), requests)
	}
	scenario.Seed += seed
	trials := *j.Trials
	trials.UntilHopeless = seed == 0 && wrong == o.Worst() && wrong.Late.Least() >= 1 &&
		!o.IsSpot() && trials.File.Plan.Divisible()
	return trials.Fleet(ctx, scenario, replicas, rate, wrong.Late, least)
}

// Built builds a scenario at the rate of the search.
func (j *Judge) Built(asked scenarios.Scenario) (*scenarios.Simulation, error) {
	file, err := j.Trials.File.File(asked, j.Rate, 1)
	if err != nil {
		return nil, err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	return simulation, simulation.Source.Close()
}

// Each calls f for all of a list at the same time, and returns the first error.
func Each[T any](ctx context.Context, list []T, f func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, v := range list {
		group.Go(func() error { return f(ctx, v) })
	}
	return group.Wait()
}

// Indices lists the numbers below n.
func Indices(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = k
	}
	return list
}

// ByPart reports whether n replicas of an option are judged by a part of them.
func (j *Judge) ByPart(o *candidate.Option, n int) bool {
	return n > MostWhole && o.Decode == nil && !o.Scaled() &&
		j.Trials.Divides(asked.OrNone(j.Trials.File.Plan.Menu.Routing)[o.Routing].Policy)
}

// Step returns the least difference between numbers of replicas near n that the search resolves.
func (j *Judge) Step(o *candidate.Option, n int) int {
	if j.ByPart(o, n) {
		return 1 + n/Finest
	}
	return 1
}

// Enough decides whether n replicas of o, without the spares, serve the load. It simulates one
// replica if all are alike, and else the whole fleet.
func (j *Judge) Enough(ctx context.Context, o *candidate.Option, n int) (Verdict, error) {
	if o.Scaled() {
		return j.keepsUp(ctx, o, n)
	}
	return j.Sustains(ctx, o, n, j.Rate)
}

// keepsUp decides whether a scaled fleet of at most n replicas, spares left out, serves the load:
// the whole fleet does, over pooled seeds.
func (j *Judge) keepsUp(ctx context.Context, o *candidate.Option, n int) (Verdict, error) {
	needed := Indices(j.Trials.File.Plan.Seeds(FewSeeds)) // which run at the same time
	if err := Each(ctx, needed, func(ctx context.Context, seed int) error {
		_, _, err := j.Simulate(ctx, o, n, o.Worst(), uint64(seed))
		return err
	}); err != nil {
		return Verdict{}, err
	}
	runs, ok, err := j.Pool(ctx, o, n, o.Worst(), j.Seeds)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Sustained: ok, Unused: true, Trial: runs[0]}
	v.Trial.Kept.Mean = SharePooled(runs).Mean
	for k := range runs {
		v.Unused = v.Unused && NeverRan(o, &runs[k], n)
	}
	return v, nil
}

// Sustains decides whether n replicas of o sustain a rate: by one of them where they are alike,
// else by the whole fleet.
func (j *Judge) Sustains(ctx context.Context, o *candidate.Option, n int,
	rate float64) (Verdict, error) {
	if o.IsSpot() {
		t, err := j.KeepsOnSpot(ctx, o, n, rate, o.Worst(), 0)
		return Verdict{Rate: rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
	}
	if j.Trials.File.Plan.Divisible() {
		return j.Trials.Sustains(ctx, o, rate/float64(n))
	}
	t, _, err := j.simulateAt(ctx, o, n, rate, o.Worst(), 0)
	return Verdict{Rate: rate / float64(n), Sustained: t.Keeps(), Trial: t}, err
}

// CheckScalings builds a fleet in each way of scaling, so that a policy or parameter that is not
// known is refused before anything is simulated.
func (j *Judge) CheckScalings(options []*candidate.Option) error {
	f := j.Trials.File
	done := map[int]bool{}
	for _, o := range options {
		if !o.Scaled() || done[o.Scaling.Index] || o.Unfit() != "" {
			continue
		}
		done[o.Scaling.Index] = true
		file, err := f.File(o.Scenario(&f.Plan.Menu, j.Fewest(o), 1), 0, asked.Probes)
		if err != nil {
			return err
		}
		file.Clocks = j.Trials.Clocks
		simulation, err := file.Build(policies.Default())
		if err == nil {
			err = simulation.Source.Close()
		}
		if scenarios.IsInputError(err) {
			_, reason := planner.Reason(err)
			return f.Refuse("menu.scaling", "%s: %s", f.Plan.Menu.ScalingWords(o.Scaling.Index),
				reason)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Charge returns how many replicas or groups of an option run on average, spares included, with
// steps as predicted: the mean over the number of seeds that a shown figure takes. Of a fixed
// number it is that number.
func (j *Judge) Charge(ctx context.Context, o *candidate.Option, n int) (float64, error) {
	if !o.Scaled() {
		return float64(n + j.Spare), nil
	}
	seeds := j.Trials.File.Plan.Seeds(FewSeeds)
	sum, _, err := j.MeanRunning(ctx, o, n, seeds)
	return sum / float64(seeds), err
}

// MeanRunning returns how many replicas or groups of a scaled option run on average, spares
// included, with steps as predicted: the sum of some seeds; and whether some of them never run.
func (j *Judge) MeanRunning(ctx context.Context, o *candidate.Option, n, seeds int) (sum float64,
	unused bool,
	err error) {
	paid, idle := make([]float64, seeds), make([]bool, seeds)
	err = Each(ctx, Indices(seeds), func(ctx context.Context, k int) error {
		t, _, err := j.Simulate(ctx, o.Spared(j.Spare), n+j.Spare, candidate.AsPredicted(),
			uint64(k))
		if err == nil {
			paid[k], idle[k] = o.Paid(t.Running), NeverRan(o.Spared(j.Spare), &t, n+j.Spare)
		}
		return err
	})
	for _, v := range paid {
		sum += v
	}
	return sum, !slices.Contains(idle, false), err
}

// NeverRan reports whether some replicas of each pool never ran in a simulation of a scaled fleet
// of up to n. Then fleets of up to more replicas show the same. A policy learns how many replicas
// run, not how many there are, and the first that is off is started: as long as the last one is
// off, no decision depends on how many come after it (TestReplicasThatNeverRun).
func NeverRan(o *candidate.Option, t *Trial, n int) bool {
	if o.Decode == nil {
		return t.Unused > 0
	}
	// Of either pool all but the least number may be unused.
	rest := n - o.Scaling.Always - o.Scaling.Standing
	return t.Unused > rest*int(max(o.Prefills, o.Decodes))
}

// KeepsOnSpot returns what n replicas of a spot option, which are preempted at random, show at a
// rate.
func (j *Judge) KeepsOnSpot(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (Trial, error) {
	l, err := j.InterruptedFleet(ctx, o, n, rate, wrong, seed)
	if err != nil {
		return Trial{}, err
	}
	t, err := l.Judge(ctx)
	if err != nil {
		return Trial{}, err
	}
	j.bind(o, &t)
	return t, nil
}

// InterruptedFleet describes n replicas of a spot option.
func (j *Judge) InterruptedFleet(ctx context.Context, o *candidate.Option, n int, rate float64,
	wrong candidate.ErrorFactors, seed uint64) (*InterruptedFleet, error) {
	p, _ := o.Interrupted()
	one, err := j.Alone(ctx, o, wrong, seed)
	if err != nil {
		return nil, err
	}
	spot := n - o.Based()
	return &InterruptedFleet{Interruption: p, Spot: spot, Rate: rate,
		Share:     float64(spot) / float64(n),
		Step:      j.Step(o, n), // of large fleets, some numbers count as the next larger one
		Sustained: func(down int) float64 { return float64(n-down) * one },
		Simulate: func(ctx context.Context, down int) (Trial, error) {
			t, _, err := j.simulateAt(ctx, o, n-down, rate, wrong, seed)
			return t, err
		},
	}, nil
}

// bind sets the share that a trial of a spot option keeps, from its clauses.
func (j *Judge) bind(o *candidate.Option, t *Trial) {
	p, _ := o.Interrupted()
	whole, binds := t.Keeps(), asked.Binding(t.Clauses)
	t.Kept, t.Target = binds.Kept, binds.Target
	if whole {
		t.Limit = p.Words(binds.Kept.Mean)
	}
}

// KeepsOnSpotOver is keepsOnSpot over all of some seeds, with equal weights.
func (j *Judge) KeepsOnSpotOver(ctx context.Context, o *candidate.Option, n int,
	wrong candidate.ErrorFactors, seeds []uint64) (Trial, error) {
	var all Trial
	for k, seed := range seeds {
		t, err := j.KeepsOnSpot(ctx, o, n, j.Rate, wrong, seed)
		if err != nil {
			return Trial{}, err
		}
		if k == 0 {
			all = t
			all.Clauses = slices.Clone(t.Clauses)
			continue
		}
		for i := range all.Clauses {
			all.Clauses[i].Kept.Mean += (t.Clauses[i].Kept.Mean - all.Clauses[i].Kept.Mean) /
				float64(k+1)
		}
		all.Growing = all.Growing || t.Growing
	}
	j.bind(o, &all)
	return all, nil
}

// SeedsBelow returns the seeds of a plan's runs, at most n.
func (j *Judge) SeedsBelow(n int) []uint64 {
	var list []uint64
	for seed := range j.Trials.File.Plan.Seeds(n) {
		list = append(list, uint64(seed))
	}
	return list
}

// Alone returns the highest rate that a replica or group sustains by itself, to about 3 %, where
// predictions are wrong by some factors. Short runs show it with chance in it. But what an option
// sustains with the errors that decide its number of replicas, it also sustains with earlier
// latencies, and no more with later ones. So chances do not contradict the decision.
func (j *Judge) Alone(ctx context.Context, o *candidate.Option, wrong candidate.ErrorFactors,
	seed uint64) (float64, error) {
	one, err := j.sustainedAlone(ctx, o, wrong, seed)
	decisive := o.Worst()
	if err != nil || wrong == decisive {
		return one, err
	}
	decided, err := j.sustainedAlone(ctx, o, decisive, seed)
	switch {
	case wrong.Within(decisive):
		one = max(one, decided)
	case decisive.Within(wrong):
		one = min(one, decided)
	}
	return one, err
}

// sustainedAlone is alone as runs with these factors show it.
func (j *Judge) sustainedAlone(ctx context.Context, o *candidate.Option,
	wrong candidate.ErrorFactors, seed uint64) (float64, error) {
	slower, alike := *o, *o.Parts
	slower.Parts, alike.Slow = &alike, wrong.Steps
	alike.Late = wrong.Late
	slower.Ceiling = o.Ceiling * o.Slow / wrong.Steps
	grid := &RateGrid{Ceiling: slower.Ceiling}
	rough := *j.Trials
	rough.Rough, rough.Seed = true, seed
	place, err := Least{First: (Grid + 1) / 2, Most: Grid, High: Grid + 1, Near: 1}.Find(
		func(place int) (bool, error) {
			v, err := rough.Sustains(ctx, &slower, grid.Rate(place))
			return v.Sustained, err
		})
	if err != nil {
		return 0, err
	}
	return grid.Rate(place), nil
}

// leastDownProbability is the probability below which a number of preempted replicas is not
// simulated: all requests then count as missing the SLO.
const leastDownProbability = 1e-5

// nearRate is the least share of the rate that replicas sustain, by what one of them does, for all
// of them to be simulated.
const nearRate = 0.75

// InterruptedFleet is a fleet that loses some replicas at random.
type InterruptedFleet struct {
	candidate.Interruption
	Spot int     // the number of replicas or groups that may be preempted
	Step int     // the step between the numbers of replicas down that are examined, rounded up
	Rate float64 // of requests, 1/s
	// Share is the share of the requests that the spot replicas serve.
	Share float64
	// Sustained returns the rate, in 1/s, that the fleet sustains with some of them preempted.
	Sustained func(down int) float64
	// Simulate returns what the fleet shows with some of them preempted.
	Simulate func(ctx context.Context, down int) (Trial, error)
}

// Judge returns the trial of the whole fleet, with the shares that keep each part of the SLO in the
// long run.
//
// The shares are means over the number of preempted replicas, each with its probability: binomial
// where each is preempted by itself, besides the times when all are preempted at once. Where the
// replicas that are left sustain less than the rate, all requests are taken to miss the SLO, until
// the queue that builds up has been served by all replicas again (a fluid queue). What they sustain
// is told from one of them, to some percent, and together they may sustain more; so where it is
// near the rate, they are simulated. The requests that a replica has under way when it goes are
// taken to miss it too.
func (f *InterruptedFleet) Judge(ctx context.Context) (Trial, error) {
	full, err := f.Simulate(ctx, 0)
	if err != nil {
		return Trial{}, err
	}
	lost, kept := f.Interruption.Rate*f.underWay(&full), make([]float64, len(full.Clauses))
	spare := max(f.Sustained(0)-f.Rate, 1e-3*f.Rate)
	count := func(down int, chance float64) error {
		left := f.Sustained(down)
		over := down > 0 && (left == 0 || left < f.Rate)
		var t Trial
		if !over || left > nearRate*f.Rate {
			var err error
			if t, err = f.Simulate(ctx, down); err != nil {
				return err
			}
			over = over && !t.Keeps()
		}
		if over {
			if f.Rate > 0 { // of a steady load, the queue that builds up misses it too
				lost += chance * (f.Rate - left) / spare
			}
			return nil
		}
		for i := range kept {
			kept[i] += float64(chance * t.Clauses[i].Kept.Mean)
		}
		return nil
	}
	own := 1 - f.All()
	for down, rest := 0, own; rest > leastDownProbability*own; down = min(down+f.Step, f.Spot) {
		chance := 0.0 // of this many and, in steps of more than one, of those rounded up to it
		for k := max(0, down-f.Step+1); k <= down; k++ {
			chance += own * Binomial(f.Spot, k, f.Alone())
		}
		if rest -= chance; down == f.Spot {
			rest = 0
		}
		if err := count(down, chance); err != nil {
			return Trial{}, err
		}
	}
	if f.All() > 0 {
		if err := count(f.Spot, f.All()); err != nil {
			return Trial{}, err
		}
	}
	full.Clauses = slices.Clone(full.Clauses)
	for i := range kept { // what is lost may have missed the SLO anyhow, so that the two overlap
		full.Clauses[i].Kept = stats.Interval{Mean: max(0, kept[i]-lost)}
	}
	return full, nil
}

// underWay returns how many seconds' worth of all requests the spot replicas have under way, as far
// as they serve them.
func (f *InterruptedFleet) underWay(full *Trial) float64 {
	return f.Share * full.Latencies["mean_e2el_ms"] / 1000
}

// Binomial is the probability of k out of n where each has the probability p.
func Binomial(n, k int, p float64) float64 {
	ways, _ := math.Lgamma(float64(n + 1))
	for _, part := range []int{k, n - k} {
		orders, _ := math.Lgamma(float64(part + 1))
		ways -= orders
	}
	if p == 0 {
		return float64(1 - min(k, 1))
	}
	return math.Exp(ways + float64(float64(k)*math.Log(p)) +
		float64(float64(n-k)*math.Log1p(-p)))
}
