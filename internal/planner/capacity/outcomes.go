package capacity

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// words returns the outcome of option i in words.
func (s *standing) words(i int) string {
	o, outcome := s.options[i], &s.outcomes[i]
	switch outcome.kind {
	case unfit:
		return o.Unfit()
	case outOfReach:
		return o.Floor()
	case tooFew, beyond:
		offer := o.Shortest(s.Fewest(o) + s.Spare)
		if offer == nil {
			return s.unaffordable(o)
		}
		return fmt.Sprintf("%d × %s and more are needed, there are %d",
			o.Accelerators(offer, s.Fewest(o)+s.Spare), offer.Accelerator, offer.Count)
	case costsMore:
		if s.options[i].Scaled() {
			return fmt.Sprintf("%s or more replicas run on average by the roofline, so it costs "+
				"%s/h at least", units.Figure(s.leastCost(i)/o.Price),
				s.Money(s.leastCost(i)))
		}
		if s.Rate > 0 {
			return fmt.Sprintf(
				"a replica cannot sustain more than %s by the roofline, so it costs %s/h "+
					"at least", units.FigureOfRate(o.Ceiling), s.Money(s.leastCost(i)))
		}
		return fmt.Sprintf("%s or more are needed by the roofline, so it costs %s/h at least",
			units.Plural(s.Fewest(o), "replica"), s.Money(s.leastCost(i)))
	}
	return outcome.words
}

// unaffordable says which limits of the goal the smallest fleet of an option breaks.
func (s *standing) unaffordable(o *candidate.Option) string {
	n := 1 + s.Spare
	if find := s.Goal().Find; find != asked.FindThroughput {
		n = s.Fewest(o) + s.Spare
	}
	words := fmt.Sprintf("%s cost %s/h", units.Plural(n, "replica"), s.Money(o.Cost(n)))
	if s.Goal().Power > 0 {
		words += " and draw up to " + units.FormatPower(float64(n)*o.Watts())
	}
	return words
}

// whyLost says why n replicas of an option are not enough.
func (s *standing) whyLost(o *candidate.Option, n int, v judge.Verdict) string {
	words := fmt.Sprintf("at %s a replica, %s", units.FigureOfRate(v.Rate), v.Trial.Limit)
	switch {
	case o.Scaled():
		words = fmt.Sprintf("with up to %s, %s", units.Plural(n, "replica"), v.Trial.Limit)
	case s.Rate == 0 || o.IsSpot():
		words = fmt.Sprintf("with %s, %s", units.Plural(n, "replica"), v.Trial.Limit)
	}
	if offer := o.Shortest(n + s.Spare + 1); offer != nil {
		words += fmt.Sprintf("; there are %d × %s", offer.Count, offer.Accelerator)
	}
	return words
}

// mostOutcomes is the largest size of a menu for which an answer has the outcome of every option.
// For a larger menu, it has the outcomes of the simulated options.
const mostOutcomes = 10_000

// addOutcomes counts the options of the menu that were not simulated, and adds the outcomes of all
// options to the answer.
func addOutcomes(a *answer.Answer, s *search) {
	for i, outcome := range s.outcomes {
		why := outcome.kind.String()
		tried := outcome.kind == simulated || outcome.kind == chosen || outcome.kind == broken
		if tried || len(s.outcomes) <= mostOutcomes {
			a.Outcomes = append(a.Outcomes, answer.Outcome{Label: s.label(i), Kind: why,
				Words: s.words(i), Ceiling: s.options[i].Ceiling})
		}
		if tried || i >= s.listed() {
			continue
		}
		at := slices.IndexFunc(a.Pruned, func(p answer.Pruned) bool { return p.Why == why })
		if at < 0 {
			at = len(a.Pruned)
			example := s.label(i)
			if words := s.words(i); words != "" {
				example += ": " + words
			}
			a.Pruned = append(a.Pruned, answer.Pruned{Why: why, Example: example})
		}
		a.Pruned[at].Options++
	}
}

// nearest returns the option under which the most requests meet the SLO. If no option keeps it, it
// returns the one that misses the SLO by least. It returns nil if no option fits.
func (s *standing) nearest() *answer.Nearest {
	best := -1
	for i := range s.outcomes {
		if s.outcomes[i].kind == unfit {
			continue
		}
		if best < 0 || cmp.Or(-cmp.Compare(s.outcomes[i].closest, s.outcomes[best].closest),
			cmp.Compare(s.options[i].Excess, s.options[best].Excess)) < 0 {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &answer.Nearest{Option: best, Label: s.label(best), Kept: s.outcomes[best].closest,
		Limit: s.words(best)}
}

// nearerToChosen reports whether option i is nearer to being chosen than option j, which comes
// before it.
func (s *standing) nearerToChosen(i, j int) bool {
	rank := func(k int) (int, float64) {
		outcome := &s.outcomes[k]
		switch {
		case outcome.replicas > 0:
			return 0, s.hourly(k)
		case outcome.kind == simulated:
			return 1, -outcome.closest
		case outcome.kind == costsMore || outcome.kind == tooFew:
			return 2, s.leastCost(k)
		case outcome.kind == outOfReach || outcome.kind == broken:
			return 3, -outcome.closest
		}
		return 4, 0
	}
	// Of options that cost as much by their bounds, the one that may serve more is nearer; drafts
	// raise the bound by more than they help.
	serves := func(k int) float64 {
		o := s.options[k]
		return o.Ceiling / o.Servers()[len(o.Servers())-1].Pace.Stride
	}
	rankI, costI := rank(i)
	rankJ, costJ := rank(j)
	return cmp.Or(cmp.Compare(rankI, rankJ), cmp.Compare(costI, costJ),
		-cmp.Compare(serves(i), serves(j))) < 0
}

// sortByNearness sorts options, the nearest to being chosen first.
func (s *standing) sortByNearness(list []int) {
	slices.SortStableFunc(list, func(i, j int) int {
		switch {
		case s.nearerToChosen(i, j):
			return -1
		case s.nearerToChosen(j, i):
			return 1
		}
		return 0
	})
}

// possible returns an error if no option of the menu can be built, or if the smallest fleet takes
// more than the budget or the power. The error names the option that comes nearest.
func (s *search) possible() error {
	p := &s.Trials.File.Plan
	g, refuse := &p.Goal, s.Trials.File.Refuse
	for _, o := range s.options {
		if o.IsSpot() && g.Find == asked.FindFront {
			return refuse("goal", "found %s and spot accelerators, which are planned for the "+
				"cheapest fleet and for throughput; leave %s out, or choose another term", g.Find,
				o.Label(&p.Menu))
		}
	}
	if g.Budget.Amount == 0 && g.Power == 0 {
		return nil
	}
	cheapest, leanest := -1, -1
	for i, o := range s.options {
		switch {
		case o.Unfit() != "" || o.Tight:
			continue
		case g.Power > 0 && o.Watts() == 0:
			return refuse("goal.power", "the catalogue has no peak power for %s",
				o.Prefill.Offer.Accelerator)
		case s.Allowed(o) > s.Spare:
			return nil
		}
		if cheapest < 0 || o.Price < s.options[cheapest].Price {
			cheapest = i
		}
		if leanest < 0 || o.Watts() < s.options[leanest].Watts() {
			leanest = i
		}
	}
	if cheapest < 0 {
		return nil // nothing can keep the SLO, and the answer says why
	}
	fleet := float64(1 + s.Spare)
	spares := ""
	if s.Spare > 0 {
		spares = " with its spares"
	}
	if least := fleet * s.options[cheapest].Price; g.Budget.Amount > 0 && least > g.Budget.Amount {
		return refuse("goal.budget", "found %s/h, and the smallest fleet that may keep the SLO%s "+
			"is of %s for %s/h", scenarios.Money(g.Budget).Text(), spares, s.label(cheapest),
			s.Money(least))
	}
	if least := fleet * s.options[leanest].Watts(); g.Power > 0 && least > float64(g.Power) {
		return refuse("goal.power", "found %s, and the smallest fleet that may keep the SLO%s is "+
			"of %s, which draw up to %s", units.FormatPower(float64(g.Power)), spares,
			s.label(leanest), units.FormatPower(least))
	}
	return refuse("goal", "no fleet that may keep the SLO keeps to the budget, the power and the "+
		"counts of menu.hardware together")
}

// mostShapes bounds the shapes that an answer shows.
const mostShapes = 24

// leaders returns the option of each shape that is nearest to being chosen, the nearest of all
// first, and the number of shapes that are left out. Refined ratios have shapes of their own.
func (s *standing) leaders() (list []int, left int) {
	at := map[string]int{}
	for i, o := range s.options {
		name := o.Shape()
		if name != s.options[o.From].Shape() && i != s.best {
			continue // a ratio that was tried on the way to the fewest replicas
		}
		k, seen := at[name]
		switch {
		case !seen:
			at[name] = len(list)
			list = append(list, i)
		case s.nearerToChosen(i, list[k]):
			list[k] = i
		}
	}
	for k, i := range list {
		if r, known := s.rowOf(s.options[i].Shape()); known && r.replicas > 0 {
			list[k] = r.option
		}
	}
	if left = max(0, len(list)-mostShapes); left > 0 {
		s.sortByNearness(list)
	}
	return list[:len(list)-left], left
}
