package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
)

// Rung is a round of successive halving (Jamieson and Talwalkar, arXiv:1502.07943).
type Rung struct {
	// Options is the number of options that ran, Requests the number of requests of each of their
	// simulations, and Seeds the number of simulations.
	Options  int   `json:"options"`
	Requests int64 `json:"requests"`
	Seeds    int   `json:"seeds"`
}

// Unfit is options that cannot run for the same reason.
type Unfit struct {
	Reason  string `json:"reason"`
	Options int    `json:"options"`
	// Example is what the first of them sets.
	Example []string `json:"example"`
}

// halving holds the results of successive halving over all options.
type halving struct {
	// options is the number of combinations, tried of the ones that were run or refused.
	options, tried int
	rungs          []Rung
	unfit          []Unfit
	// refused are the options in unfit.
	refused map[string]bool
	// seen are the options of the first rung.
	seen map[string]bool
	// last are the trials of the last rung and of the neighbours of the best, the best first; the
	// default is among them.
	last []trial
	// requests and seeds belong to the last rung.
	requests int64
	seeds    []uint64
}

const (
	// shortest is the least number of requests of a simulation.
	shortest = 200
	// fills is how many times the first rung's requests fill the default's largest batch, where
	// that leaves room for a longer rung.
	fills = 4
	// rungRatio is how many times more requests, and fewer options, each rung has.
	rungRatio = 4
	// finalists is the number of options of the last rung, beside the default.
	finalists = 5
)

// halve runs all options, and keeps the better ones for longer runs. Where a scenario has a steady
// state, its first rungs are shorter; every rung of others has the whole run, with more seeds.
func (t *tuner) halve(ctx context.Context, steady bool) (*halving, error) {
	standard := make(option, len(t.menu))
	first, err := t.measure(ctx, []option{standard}, t.Requests, []uint64{0, 1})
	if err != nil {
		return nil, err
	}
	if first[0].reason != "" {
		return nil, scenarios.BadInput(errors.New(first[0].reason))
	}
	a, b := first[0].runs[0], first[0].runs[1]
	r := &halving{requests: a.sent, seeds: seeds(0, t.Replications),
		refused: map[string]bool{}, seen: map[string]bool{}}
	if a.loss == b.loss && a.figures == b.figures {
		r.seeds = seeds(0, 1) // nothing is drawn
	}
	all := options(t.menu)
	alive, requests := sample(all, t.Most), r.requests
	r.options, r.tried = len(all), len(alive)
	for _, o := range alive {
		r.seen[fmt.Sprint(o)] = true
	}
	if steady {
		requests = max(shortest, min(fills*int64(a.peak), r.requests/rungRatio))
	}
	for len(alive) > finalists+1 {
		rung := Rung{Options: len(alive), Requests: min(requests, r.requests),
			Seeds: int(min(max(1, requests/max(1, r.requests)), int64(len(r.seeds))))}
		trials, err := t.rung(ctx, r, alive, rung)
		if err != nil {
			return nil, err
		}
		keep := max(finalists, (len(alive)+rungRatio-1)/rungRatio)
		if rung.Seeds == len(r.seeds) && rung.Requests == r.requests {
			keep = finalists
		}
		alive = survivors(trials, keep)
		requests *= rungRatio
	}
	if err := t.climb(ctx, r, alive); err != nil {
		return nil, err
	}
	if len(r.refused) > 0 && len(r.refused) == r.tried-1 {
		u := &r.unfit[0]
		return nil, scenarios.BadInput(fmt.Errorf("nothing to choose from: none of the %d "+
			"combinations other than the scenario's own can run, such as %s: %s", len(r.refused),
			strings.Join(u.Example, " "), u.Reason))
	}
	return r, nil
}

// climb runs the options of the last round, then the neighbours of the best option, and of each new
// best option in turn, since short runs may have left out an option that is slightly better.
func (t *tuner) climb(ctx context.Context, r *halving, fresh []option) error {
	const rounds = 8
	done := map[string]bool{}
	for range rounds {
		trials, err := t.rung(ctx, r, fresh, Rung{len(fresh), r.requests, len(r.seeds)})
		if err != nil {
			return err
		}
		for _, o := range fresh {
			done[fmt.Sprint(o)] = true
		}
		r.last = append(r.last, trials...)
		order(r.last)
		fresh = slices.DeleteFunc(r.last[0].neighbours(t.menu), func(o option) bool {
			return done[fmt.Sprint(o)]
		})
		if len(fresh) == 0 {
			return nil
		}
		for _, o := range fresh {
			if !r.seen[fmt.Sprint(o)] {
				r.tried++
			}
		}
	}
	return nil
}

// seeds returns n numbers from first on, to be added to the scenario's seed.
func seeds(first, n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(first + i)
	}
	return list
}

// rung runs options, and returns the ones that can run, the best first.
func (t *tuner) rung(ctx context.Context, r *halving, options []option,
	rung Rung) ([]trial, error) {
	trials, err := t.measure(ctx, options, rung.Requests, r.seeds[:rung.Seeds])
	if err != nil {
		return nil, err
	}
	trials = slices.DeleteFunc(trials, func(one trial) bool {
		if one.reason != "" {
			r.refuse(one, t.menu)
		}
		return one.reason != ""
	})
	rung.Options = len(trials)
	r.rungs = append(r.rungs, rung)
	order(trials)
	return trials, nil
}

// order sorts trials, the best first, and of equals the one that changes less.
func order(trials []trial) {
	slices.SortStableFunc(trials, func(a, b trial) int {
		return cmp.Or(cmp.Compare(a.loss(), b.loss()), cmp.Compare(a.changes(), b.changes()))
	})
}

// refuse counts an option that cannot run, once.
func (r *halving) refuse(one trial, menu []Dimension) {
	key := fmt.Sprint(one.option)
	if r.refused[key] {
		return
	}
	r.refused[key] = true
	i := slices.IndexFunc(r.unfit, func(u Unfit) bool { return u.Reason == one.reason })
	if i < 0 {
		i = len(r.unfit)
		r.unfit = append(r.unfit, Unfit{Reason: one.reason, Example: one.settings(menu)})
	}
	r.unfit[i].Options++
}

// survivors returns the best of sorted trials, and the default. Of options that came to the same to
// the last bit, the one that changes least goes first, and the others only where there is room.
func survivors(sorted []trial, most int) []option {
	var list, alike []option
	standard := option(nil)
	for i := range sorted {
		one := &sorted[i]
		if one.changes() == 0 {
			standard = one.option
		}
		twin := false
		for j := i - 1; j >= 0 && !twin && sorted[j].loss() == one.loss(); j-- {
			twin = same(&sorted[j], one)
		}
		if twin {
			alike = append(alike, one.option)
		} else {
			list = append(list, one.option)
		}
	}
	list = append(list, alike...)
	kept := slices.Clone(list[:min(most, len(list))])
	if !slices.ContainsFunc(kept, func(o option) bool { return o.changes() == 0 }) {
		kept = append(kept, standard)
	}
	return kept
}
