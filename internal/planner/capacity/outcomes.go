package capacity

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

// words returns the outcome of option i in words.
func (s *search) words(i int) string {
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
				"%s/h at least", report.Figure(s.leastCost(i)/o.Price),
				s.Money(s.leastCost(i)))
		}
		if s.Rate > 0 {
			return fmt.Sprintf(
				"a replica cannot sustain more than %s/s by the roofline, so it costs %s/h "+
					"at least", report.Figure(o.Ceiling), s.Money(s.leastCost(i)))
		}
		return fmt.Sprintf("%s or more are needed by the roofline, so it costs %s/h at least",
			units.Plural(s.Fewest(o), "replica"), s.Money(s.leastCost(i)))
	}
	return outcome.words
}

// unaffordable says which limits of the goal the smallest fleet of an option breaks.
func (s *search) unaffordable(o *candidate.Option) string {
	n := 1 + s.Spare
	if find := s.Goal().Find; find != menu.FindThroughput {
		n = s.Fewest(o) + s.Spare
	}
	words := fmt.Sprintf("%s cost %s/h", units.Plural(n, "replica"), s.Money(o.Cost(n)))
	if s.Goal().Power > 0 {
		words += " and draw up to " + units.FormatPower(float64(n)*o.Watts())
	}
	return words
}

// whyLost says why n replicas of an option are not enough.
func (s *search) whyLost(o *candidate.Option, n int, v oracle.Verdict) string {
	words := fmt.Sprintf("at %s/s a replica, %s", report.Figure(v.Rate), v.Trial.Limit)
	switch _, taken := o.Interrupted(); {
	case o.Scaled():
		words = fmt.Sprintf("with up to %s, %s", units.Plural(n, "replica"), v.Trial.Limit)
	case s.Rate == 0 || taken:
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

// addOutcomes counts the options that were not simulated, and adds the outcomes of options to the
// answer.
func addOutcomes(a *answer.Answer, s *search) {
	for i, outcome := range s.outcomes {
		why := outcome.kind.String()
		tried := outcome.kind == simulated || outcome.kind == chosen || outcome.kind == broken
		if tried || len(s.outcomes) <= mostOutcomes {
			a.Outcomes = append(a.Outcomes, answer.Outcome{Label: s.label(i), Kind: why,
				Words: s.words(i), Ceiling: s.options[i].Ceiling})
		}
		if tried {
			continue
		}
		at := slices.IndexFunc(a.Pruned, func(p answer.Pruned) bool { return p.Why == why })
		if at < 0 {
			at = len(a.Pruned)
			a.Pruned = append(a.Pruned,
				answer.Pruned{Why: why, Example: s.label(i) + ": " + s.words(i)})
		}
		a.Pruned[at].Options++
	}
}

// nearest returns the option under which the most requests meet the SLO. Of several options under
// which none does, it returns the one that misses the SLO by least. It returns nil if no option
// fits.
func (s *search) nearest() *answer.Nearest {
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
