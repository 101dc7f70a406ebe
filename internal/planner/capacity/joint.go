package capacity

import (
	"context"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
)

// sized is a possible fleet of one of several models.
type sized struct {
	model, option int
	replicas      int // without the spares; a bound from below unless exact
	exact         bool
}

// choice is such a fleet with what it costs, and the accelerators of each counted offer that it
// takes.
type choice = judge.Choice[sized]

// jointSearch chooses fleets for several models that share accelerators.
type jointSearch struct {
	searches []*search
	offers   []asked.Offer // the ones that are counted
	stock    []int         // of each
	// sizes holds the least number of replicas of the options of each model, as far as it is known;
	// 0 if no number suffices.
	sizes  []map[int]int
	picked []choice // the cheapest fleets by what is known; nil where there are no such fleets
}

// newJointSearch prepares the choice from the fleets that each model would have alone.
func newJointSearch(searches []*search) *jointSearch {
	j := &jointSearch{searches: searches, sizes: make([]map[int]int, len(searches))}
	for k, s := range searches {
		j.sizes[k] = map[int]int{}
		if s.best >= 0 {
			j.sizes[k][s.best] = s.outcomes[s.best].replicas
		}
		for _, o := range s.options {
			for _, offer := range o.Offers() {
				if offer.Count > 0 && !slices.Contains(j.offers, *offer) {
					j.offers, j.stock = append(j.offers, *offer), append(j.stock, offer.Count)
				}
			}
		}
	}
	return j
}

// acceleratorsUsed returns how many accelerators of each counted offer n replicas of an option and
// the spares have.
func (j *jointSearch) acceleratorsUsed(s *search, o *candidate.Option, n int) []int {
	list := make([]int, len(j.offers))
	for _, offer := range o.Offers() {
		if i := slices.Index(j.offers, *offer); i >= 0 {
			list[i] = o.Accelerators(offer, n+s.Spare)
		}
	}
	return list
}

// conflict reports whether the fleets that the models would have alone need more accelerators than
// exist.
func (j *jointSearch) conflict() bool {
	var taken [][]int
	for _, s := range j.searches {
		if s.best >= 0 {
			taken = append(taken, j.acceleratorsUsed(s, s.chosen(), s.outcomes[s.best].replicas))
		}
	}
	return !judge.Fit(j.stock, taken...)
}

// choose finds the fleets of all models that cost the least together and for which there are
// accelerators. It reports whether there are such fleets. It first takes the least cost and size of
// each option by the bounds, then sizes the chosen options, and repeats this until all chosen
// options are sized.
func (j *jointSearch) choose(ctx context.Context) (bool, error) {
	if err := judge.Search(ctx, j); err != nil || j.picked == nil {
		return false, err
	}
	for k, c := range j.picked {
		j.searches[k].take(c.Is.option, c.Is.replicas)
	}
	return true, nil
}

// Next returns the choices to size: of the cheapest fleets together the ones that are bounds. It
// returns no candidate where all are sized, or where there are no such fleets.
func (j *jointSearch) Next() []choice {
	j.picked = j.cheapest()
	return slices.DeleteFunc(slices.Clone(j.picked), func(c choice) bool { return c.Is.exact })
}

// Try sizes choices.
func (j *jointSearch) Try(ctx context.Context, some []choice) error {
	for _, c := range some {
		if err := j.size(ctx, c.Is.model, c.Is.option); err != nil {
			return err
		}
	}
	return nil
}

// take makes a fleet the answer.
func (s *search) take(option, replicas int) {
	if s.best >= 0 {
		was := &s.outcomes[s.best]
		was.kind, was.words = simulated, "its accelerators serve another model"
	}
	s.best = option
	s.outcomes[option].kind, s.outcomes[option].words = chosen, ""
	s.outcomes[option].replicas = replicas
}

// size finds the least number of replicas with which an option serves a model.
func (j *jointSearch) size(ctx context.Context, k, option int) error {
	s := j.searches[k]
	best, before := s.best, s.outcomes[option]
	s.best = -1
	err := s.try(ctx, option)
	if words, failed := judge.Failure(err); failed {
		s.outcomes[option].kind, s.outcomes[option].words, err = broken, words, nil
	}
	kept := s.best >= 0
	if err == nil && kept && !s.chosen().Scaled() {
		kept, err = s.sizeFleet(ctx)
	}
	j.sizes[k][option] = 0
	if s.best >= 0 {
		s.outcomes[option].kind, s.outcomes[option].words = simulated, before.words
	}
	if kept {
		j.sizes[k][option] = s.outcomes[option].replicas
	}
	s.best = best
	return err
}

// choices lists the fleets that a model may have.
func (j *jointSearch) choices(k int) []choice {
	s := j.searches[k]
	var all []choice
	for i, o := range s.options {
		if kind := s.outcomes[i].kind; kind == unfit || kind == outOfReach || kind == tooFew ||
			kind == broken || o.Settings() != nil && s.outcomes[i].replicas == 0 {
			continue
		}
		n, exact := j.sizes[k][i]
		if exact && n == 0 {
			continue
		}
		cost := s.leastCost(i)
		if exact {
			cost = s.hourly(i)
		} else {
			n = s.Fewest(o)
		}
		all = append(all, choice{Is: sized{model: k, option: i, replicas: n, exact: exact},
			Cost: cost, Takes: j.acceleratorsUsed(s, o, n)})
	}
	return all
}

// cheapest returns the cheapest choices for all models for which there are accelerators, or nil if
// there are no such choices.
func (j *jointSearch) cheapest() []choice {
	lists := make([][]choice, len(j.searches))
	for k := range lists {
		lists[k] = j.choices(k)
	}
	return judge.Together(lists, j.stock)
}
