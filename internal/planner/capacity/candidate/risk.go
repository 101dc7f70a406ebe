package candidate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// predictionErrors says how wrong predictions may be, in the same way for all requests. The
// logarithms of the real over the predicted times are normally distributed: steps with a bias and a
// spread; TTFT with these and, independently, with a bias and a spread of its own, for all that
// comes before the first token beside steps. So the errors of both latencies are correlated: slow
// steps make both late.
type predictionErrors struct {
	Steps, First Normal
}

// Normal is a normal distribution of a logarithm.
type Normal struct{ Bias, Spread float64 }

// ErrorFactors is how far real times are from predicted ones: factors on the times of steps, and on
// TTFT beyond that.
type ErrorFactors struct{ Steps, First float64 }

// Within reports whether no latency is later than with other errors.
func (w ErrorFactors) Within(other ErrorFactors) bool {
	return w.Steps <= other.Steps && w.Steps*w.First <= other.Steps*other.First
}

// AsPredicted is what predictions say.
func AsPredicted() ErrorFactors { return ErrorFactors{1, 1} }

// PhysicsOf takes the spreads of both latencies apart. TTFT spreads at least as much as steps do.
func PhysicsOf(s evidence.Spread) predictionErrors {
	own := max(0, float64(s.TTFT*s.TTFT)-float64(s.TPOT*s.TPOT))
	return predictionErrors{Normal{s.TPOTBias, s.TPOT},
		Normal{s.TTFTBias - s.TPOTBias, math.Sqrt(own)}}
}

// Quantile returns the factor that is not exceeded with the given probability, in (0, 1), with four
// digits, so that equal factors are written the same.
func (n Normal) Quantile(probability float64) float64 {
	return n.At(distuv.UnitNormal.Quantile(probability))
}

// At returns the factor that is that many standard deviations above the typical one.
func (n Normal) At(deviations float64) float64 {
	return max(0.01, math.Round(1e4*math.Exp(n.Bias+float64(n.Spread*deviations)))/1e4)
}

// Below returns the probability that the factor is at most x.
func (n Normal) Below(x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case n.Spread == 0 && math.Log(x) >= n.Bias-1e-9:
		return 1
	case n.Spread == 0:
		return 0
	}
	return distuv.UnitNormal.CDF((math.Log(x) - n.Bias) / n.Spread)
}

// Late is the distribution of the errors of TTFT, whatever steps take.
func (p predictionErrors) Late() Normal {
	return Normal{p.Steps.Bias + p.First.Bias, math.Sqrt(float64(p.Steps.Spread*p.Steps.Spread) +
		float64(p.First.Spread*p.First.Spread))}
}

// Worst returns the errors under which an option is simulated: each latency is as late as it is in
// that share of the cases at most. TTFT is never earlier than steps make it, so that bounds of the
// work that must be done by some time hold.
func (p predictionErrors) Worst(confidence float64) ErrorFactors {
	steps := p.Steps.Quantile(confidence)
	return ErrorFactors{steps, max(1, math.Round(1e4*p.Late().Quantile(confidence)/steps)/1e4)}
}

// Rank returns the place of a grade among the grades of shipped evidence, the best first; -1 for
// evidence.Here, which is better than all of them.
func Rank(g evidence.Grade) int { return slices.Index(evidence.Grades(), g) }

// trusted reports whether a plan that trusts one grade accepts another.
func trusted(trust string, grade evidence.Grade) bool {
	return trust == "" || trust == "any" || Rank(grade) <= Rank(evidence.Grade(trust))
}

// unmeasured names a latency that the SLO limits, of a server that was measured, but without this
// latency; empty without one.
func unmeasured(p *asked.Plan, e *evidence.Evidence) string {
	if e.Grade != evidence.Measured {
		return ""
	}
	list := []scenarios.SLO{p.SLO}
	for i := range p.Workload.Classes {
		list = append(list, p.Workload.Classes[i].SLO)
	}
	for i := range list {
		s := &list[i]
		whole := s.E2E.Strictest() > 0
		for _, one := range []struct {
			name    string
			limited bool
		}{{"TTFT", s.TTFT.Strictest() > 0 || whole}, {"TPOT", s.TPOT.Strictest() > 0 || whole}} {
			if one.limited && !slices.ContainsFunc(e.Errors,
				func(e evidence.Error) bool { return e.Quantity == one.name }) {
				return one.name
			}
		}
	}
	return ""
}

// BestMeasured returns the cheapest measured shape. If no shape was measured, it returns the
// cheapest shape with a better grade than the cheapest of all. It returns nil if no option was
// measured, or if the cheapest of all was measured.
func BestMeasured(shapes []answer.Shape) *answer.Shape {
	var best *answer.Shape
	for i := range shapes {
		s := &shapes[i]
		switch {
		case s.Replicas == 0:
		case Rank(s.Grade) <= Rank(evidence.Measured) && i == 0:
			return nil
		case Rank(s.Grade) <= Rank(evidence.Measured):
			return s
		case best == nil && Rank(s.Grade) < Rank(shapes[0].Grade):
			best = s
		}
	}
	return best
}
