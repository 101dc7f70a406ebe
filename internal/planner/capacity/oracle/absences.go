package oracle

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/stats"
)

// leastAwayProbability is the probability below which a number of replicas that are away at once is
// not examined. All requests are taken to miss the SLO then.
const leastAwayProbability = 1e-5

// InterruptedFleet is a fleet of which some replicas are taken away at random.
type InterruptedFleet struct {
	candidate.Interruption
	Spot int     // the number of replicas or groups that are taken away
	Step int     // numbers of absent replicas are examined in steps of as many, rounded up
	Rate float64 // of requests, 1/s
	// Share is the share of the requests that the spot replicas serve.
	Share float64
	// Sustained returns the rate that the fleet sustains with some of them away.
	Sustained func(away int) float64
	// Simulate returns what the fleet shows with some of them away.
	Simulate func(ctx context.Context, away int) (Trial, error)
}

// state is what an interrupted fleet shows with a number of replicas away.
type state struct {
	sustained float64
	kept      []float64 // the share that keeps each part of the SLO; nil where all miss it
}

// Judge returns the trial of the whole fleet, with the shares that keep each part of the SLO in the
// long run, and the states by the number of replicas away.
//
// The shares are means over how many replicas are away, each with its probability: binomial for
// those taken away by themselves, besides the times when all go at once. Where the replicas that
// are left sustain less than the rate, all requests are taken to miss the SLO, until the queue that
// builds up has been served by all replicas again (a fluid queue). The requests that a replica has
// under way when it goes are taken to miss it too.
func (f *InterruptedFleet) Judge(ctx context.Context) (Trial, []state, error) {
	full, err := f.Simulate(ctx, 0)
	if err != nil {
		return Trial{}, nil, err
	}
	states := make([]state, f.Spot+1)
	for away := range states {
		states[away].sustained = f.Sustained(away)
	}
	lost, kept := f.Interruption.Rate*f.underWay(&full), make([]float64, len(full.Clauses))
	spare := max(f.Sustained(0)-f.Rate, 1e-3*f.Rate)
	// count lets the numbers of absent replicas from first to away count as the last of them.
	count := func(first, away int, chance float64) error {
		if states[away].sustained < f.Rate && away > 0 {
			lost += chance * (f.Rate - states[away].sustained) / spare
			return nil
		}
		t, err := f.Simulate(ctx, away)
		if err != nil {
			return err
		}
		shares := make([]float64, len(kept))
		for i := range kept {
			shares[i] = t.Clauses[i].Kept.Mean
			kept[i] += float64(chance * shares[i])
		}
		for k := first; k <= away; k++ {
			states[k].kept = shares
		}
		return nil
	}
	own := 1 - f.All()
	for away, rest := 0, own; rest > leastAwayProbability*own; away = min(away+f.Step, f.Spot) {
		first, chance := max(0, away-f.Step+1), 0.0
		for k := first; k <= away; k++ {
			chance += own * Binomial(f.Spot, k, f.Alone())
		}
		if rest -= chance; away == f.Spot {
			rest = 0
		}
		if err := count(first, away, chance); err != nil {
			return Trial{}, nil, err
		}
	}
	if f.All() > 0 {
		if err := count(f.Spot, f.Spot, f.All()); err != nil {
			return Trial{}, nil, err
		}
	}
	full.Clauses = slices.Clone(full.Clauses)
	for i := range kept {
		full.Clauses[i].Kept = stats.Interval{Mean: max(0, kept[i]-lost)}
	}
	return full, states, nil
}

// underWay returns how many seconds' worth of all requests the spot replicas have under way, as far
// as they serve them.
func (f *InterruptedFleet) underWay(full *Trial) float64 {
	return f.Share * full.Latencies["mean_e2el_ms"] / 1000
}

// Months is the number of months over which absences are drawn, and month the length of each in
// seconds.
const (
	Months = 100
	month  = 8766.0 / 12 * 3600
)

// OverMonths draws absences for some months, and returns the share of the requests that keep the
// SLO, of which the given part binds: on average, and the least of 95 of 100 months. Within a month
// the fleet goes from state to state, and its queue grows and shrinks with them.
func (f *InterruptedFleet) OverMonths(states []state, full *Trial, part int,
	seed uint64) (mean, least float64) {
	all := make([]float64, Months)
	for m := range all {
		all[m] = f.overMonth(states, f.Draw(f.Spot, month, seed+uint64(m)+1), full, part)
		mean += all[m] / Months
	}
	slices.Sort(all)
	return mean, all[Months/20]
}

// overMonth returns the share of the requests of a month that keep the SLO.
func (f *InterruptedFleet) overMonth(states []state, absences [][]candidate.Absence, full *Trial,
	part int) float64 {
	type change struct {
		at float64
		by int
	}
	var changes []change
	for _, list := range absences {
		for _, a := range list {
			changes = append(changes, change{a.From, 1}, change{a.To, -1})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	missed := f.Rate * f.underWay(full) * float64(len(changes)/2) / float64(f.Spot)
	at, away, queue := 0.0, 0, 0.0
	for _, next := range append(changes, change{math.Inf(1), 0}) {
		until := min(next.at, month)
		if seconds := until - at; seconds > 0 {
			s := &states[away]
			late := seconds
			if s.sustained >= f.Rate { // the queue is served, and then the state's share counts
				late = 0
				if queue > 0 {
					late = min(seconds, queue/max(s.sustained-f.Rate, 1e-3*f.Rate))
				}
			}
			queue = max(0, queue+float64(late*(f.Rate-s.sustained)))
			kept := 0.0
			if s.kept != nil {
				kept = s.kept[part]
			}
			missed += f.Rate * (late + float64((seconds-late)*(1-kept)))
		}
		at, away = until, away+next.by
	}
	return max(0, 1-missed/(f.Rate*month))
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
