package detail

import (
	"context"
	"math"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// What is worth measuring: an option that holds in fewer than leastChance of cases may as well be
// left alone, and so may one that is expected to save less than leastSaving of the price of the
// answer. mostFleets bounds how many smaller and smaller fleets of an option are looked at, and so
// the saving from below.
const (
	leastChance = 0.2
	leastSaving = 0.01
	mostFleets  = 2
)

// Measure says what measuring a server of option o is expected to save beside fleet f, if at most
// `most` replicas, the spares left out, cost less; nil where that is not worth it, or where a
// deployment like it was measured.
func (f *Fleet) Measure(ctx context.Context, o *candidate.Option, most int) (*answer.Measurement,
	error) {
	other := *f
	other.Option = o
	if o.Grade == evidence.Here || o.Scaled() || o.IsSpot() {
		return nil, nil
	}
	m := &answer.Measurement{Label: other.Label(), Accelerators: o.GPUs,
		Daily: 24 * o.Sum(func(s *candidate.Server) float64 { return s.Price })}
	n, price := most, f.Hourly
	for range mostFleets + 1 {
		if n <= 0 || len(m.Fleets) == mostFleets {
			break
		}
		wrong := candidate.ErrorFactors{Late: asked.LateBy(1),
			Steps: o.Physics.Steps.At(evidence.Deviations(leastChance))}
		fast, _, err := f.Simulate(ctx, o, n, wrong, 0)
		if err != nil {
			return nil, err
		}
		if mostOf([]judge.Trial{fast}).Least() == 0 {
			break
		}
		c, err := other.chanceOf(ctx, n)
		if err != nil {
			return nil, err
		}
		if c.Probability < leastChance || !c.Decides() {
			break
		}
		if f.asSure(&c) { // knowing more is not what would save
			price = o.Cost(n + f.Spare)
		} else {
			m.Fleets = append(m.Fleets, *f.cheaper(o, &c))
		}
		n -= f.Step(o, n)
	}
	saving := expectedSaving(price, m.Fleets)
	if saving < leastSaving*f.Hourly {
		return nil, nil
	}
	m.Saving = twoDigits(asked.HoursOfYear * saving)
	return m, other.commands(m)
}

// expectedSaving is E[max(0, price − the price of the cheapest fleet that holds)], given fleets of
// an option that are cheaper than price, the dearest first, and the probability that each holds. If
// a fleet holds, so do the dearer ones: fleet i adds the difference to the price before it, times
// its probability.
func expectedSaving(price float64, fleets []answer.CheaperFleet) (sum float64) {
	for i := range fleets {
		sum += float64((price - fleets[i].Hourly) * fleets[i].Probability)
		price = fleets[i].Hourly
	}
	return sum
}

// twoDigits rounds an amount to two significant digits: no expectation here is known better.
func twoDigits(x float64) float64 {
	if x <= 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(x))) - 1)
	return math.Round(x/unit) * unit
}

// commands adds how one replica of the first fleet is started and loaded as in it, and how the plan
// then takes what was measured.
func (f *Fleet) commands(m *answer.Measurement) error {
	p := &f.Trials.File.Plan
	scenario := f.Option.Scenario(&p.Menu, 1, 1)
	rate := f.Rate / float64(m.Fleets[0].Replicas-f.Spare)
	file, err := f.Trials.File.File(scenario, rate, p.Together(rate, 1))
	if err != nil {
		return err
	}
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return err
	}
	defer simulation.Source.Close()
	text, err := simulation.Explain()
	if err != nil {
		return err
	}
	m.Scenario = string(text)
	return f.serving(simulation, m)
}
