package fit

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// stepGroup is steps of a run that are alike: their time together is a datum.
type stepGroup struct {
	datum
	steps []sim.Step
}

// predict returns the time of the steps together.
func (g *stepGroup) predict(c *steptime.Clock) float64 {
	sum := 0.0
	for i := range g.steps {
		sum += c.Duration(&g.steps[i]).Seconds()
	}
	return sum
}

// simulated returns the step as the clock takes it. Tokens of several prompts are taken to be
// shared equally.
func simulated(s *observed.Step) sim.Step {
	made := sim.Step{Decodes: s.Decodes, DecodeTokens: s.Decodes, Context: int64(s.DecodeKV)}
	if s.PrefillTokens == 0 {
		return made
	}
	n := min(max(1, s.Prefills), s.PrefillTokens)
	for i := range n {
		made.Prefill = append(made.Prefill, sim.Chunk{
			New:    s.PrefillTokens*(i+1)/n - s.PrefillTokens*i/n,
			Cached: s.PrefillKV / n, Last: true})
	}
	return made
}

// groupsOfSteps is the number of groups into which steps of a kind are divided, and stepModel the
// error of the time of a group that remains with the best factors.
const (
	groupsOfSteps = 6
	stepModel     = 0.007
)

// Steps whose time differs by these factors from the time of alike steps are left out: two outputs
// that are handled at once give a long and a short step, and the first step of a shape compiles.
const (
	tooLong  = 1.6
	tooShort = 0.6
)

// stepData groups the steps of a run by the part of the run, by what they compute, and by the time
// that the clock predicts. Outliers are left out. Sequences whose context is not known are taken to
// have the given one.
func stepData(run int, r *observed.Run, hold float64, c *steptime.Clock, context int) []stepGroup {
	type timed struct {
		step      sim.Step
		measured  float64
		predicted float64
	}
	var list []stepGroup
	split := int(math.Ceil(float64(len(r.Steps)) * (1 - hold)))
	for _, held := range []bool{false, true} {
		kinds := [3][]timed{}
		for i := range r.Steps {
			s := &r.Steps[i]
			if (i >= split) != held || s.Seconds <= 0 || s.Decodes+s.PrefillTokens == 0 {
				continue
			}
			kind := 0
			if s.PrefillTokens > 0 {
				kind = 1 + min(1, s.Decodes)
			}
			made := simulated(s)
			if s.DecodeKV == 0 {
				made.Context = int64(s.Decodes * context)
			}
			kinds[kind] = append(kinds[kind], timed{made, s.Seconds, c.Duration(&made).Seconds()})
		}
		for _, all := range kinds {
			slices.SortStableFunc(all, func(a, b timed) int {
				return cmp.Compare(a.predicted, b.predicted)
			})
			for k := range groupsOfSteps {
				part := all[k*len(all)/groupsOfSteps : (k+1)*len(all)/groupsOfSteps]
				ratios := make([]float64, len(part))
				for i, t := range part {
					ratios[i] = t.measured / t.predicted
				}
				if len(part) < fewest {
					continue
				}
				slices.Sort(ratios)
				usual := ratios[len(ratios)/2]
				g := stepGroup{datum: datum{run: run, quantity: Steps, held: held,
					deviation: stepModel}}
				for _, t := range part {
					if off := t.measured / t.predicted / usual; off < tooLong && off > tooShort {
						g.steps = append(g.steps, t.step)
						g.measured += t.measured
					}
				}
				list = append(list, g)
			}
		}
	}
	return list
}
