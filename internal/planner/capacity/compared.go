package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/sim"
)

// fleet is a fleet that may be simulated: an option, and the number of replicas without the spares.
type fleet struct {
	option, replicas int
	// latency and energy are bounds from below.
	latency, energy float64
}

// comparison looks for the best fleets by simulations with the same requests.
type comparison struct {
	*search
	samples map[int]*sample // by context
}

// sample returns the requests that o faces, or nil if they are not known.
func (c *comparison) sample(o *candidate.Option) (*sample, error) {
	context := o.Prefill.Context
	if d := o.Decode; d != nil && d.Context != context {
		return nil, nil
	}
	if s, known := c.samples[context]; known {
		return s, nil
	}
	s, err := newSample(&c.Judge, o)
	c.samples[context] = s
	return s, err
}

// bounded returns a fleet with its bounds.
func (c *comparison) bounded(i, n int) (fleet, error) {
	o := c.options[i]
	f := fleet{option: i, replicas: n}
	s, err := c.sample(o)
	if s == nil || err != nil {
		return f, err
	}
	f.energy = s.energy(o, n+c.Spare)
	f.latency, err = c.floor(s, o)
	return f, err
}

// comparedFleet is the result of the simulation of a fleet.
type comparedFleet struct {
	point   answer.Point
	kept    bool         // the SLO, with the spares down
	reduced oracle.Trial // with the spares down
	failure string
}

// compare simulates a fleet.
func (c *comparison) compare(ctx context.Context, f fleet) (comparedFleet, error) {
	o := c.options[f.option]
	reduced, err := c.same(ctx, o, f.replicas)
	if err != nil {
		return comparedFleet{}, err
	}
	known := f.option == c.best && f.replicas == c.outcomes[c.best].replicas
	if !known && !reduced.Keeps() {
		return comparedFleet{reduced: reduced}, nil
	}
	n := f.replicas + c.Spare
	full, err := c.same(ctx, o, n)
	if err != nil {
		return comparedFleet{}, err
	}
	point := answer.Point{Option: f.option, Label: c.label(f.option), Replicas: n,
		Hourly: o.Cost(n), Latency: full.Latencies[c.Goal().Measure],
		Energy: full.EnergyPerMillion, Kept: reduced.Kept.Mean, Grade: o.Grade}
	return comparedFleet{point: point, kept: true, reduced: reduced}, nil
}

// note records the outcome of an option of which a fleet was simulated.
func (c *comparison) note(f fleet, o *comparedFleet) {
	outcome := &c.outcomes[f.option]
	outcome.closest = max(outcome.closest, o.reduced.Kept.Mean)
	switch {
	case outcome.kind == chosen:
	case o.failure != "":
		outcome.kind, outcome.words = broken, o.failure
	case o.kept:
		outcome.kind, outcome.words = simulated, ""
	case outcome.kind != simulated:
		v := oracle.Verdict{Rate: c.Rate / float64(f.replicas), Trial: o.reduced}
		outcome.kind, outcome.words = simulated, c.whyLost(c.options[f.option], f.replicas, v)
	}
}

// same simulates n replicas of an option with the requests that are common to all fleets.
func (c *comparison) same(ctx context.Context, o *candidate.Option, n int) (oracle.Trial, error) {
	p := &c.Trials.File.Plan
	t, err := c.Trials.Trial(ctx, o.Scenario(&p.Menu, n, o.Slow), c.Rate,
		p.Together(c.Rate, comparedReplicas))
	return t.Under(o.Late), err
}

// points simulates several fleets at the same time, and returns the ones that keep the SLO.
func (c *comparison) points(ctx context.Context, list []fleet) ([]answer.Point, error) {
	found := make([]comparedFleet, len(list))
	err := judge.Each(ctx, judge.Indices(len(list)), func(ctx context.Context, k int) (err error) {
		found[k], err = c.compare(ctx, list[k])
		if words, failed := oracle.Failure(err); failed {
			found[k].failure = words
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var kept []answer.Point
	for k := range found {
		c.note(list[k], &found[k])
		if found[k].kept {
			kept = append(kept, found[k].point)
		}
	}
	return kept, nil
}

// floor bounds the measure of the goal for any fleet of o from below, in milliseconds: by that of
// requests each of which has a replica to itself.
func (c *comparison) floor(s *sample, o *candidate.Option) (float64, error) {
	last := o.Servers()[len(o.Servers())-1]
	prompts, err := c.Trials.Steps(o.Prefill)
	if err != nil {
		return 0, err
	}
	answers, err := c.Trials.Steps(last)
	if err != nil {
		return 0, err
	}
	first, pace := make([]float64, len(s.prompts)), make([]float64, len(s.prompts))
	for g, prompt := range s.prompts {
		r := &sim.Request{Prompt: prompt, Output: 2}
		if !s.shared || !o.Prefill.Pace.Shares {
			first[g] = oracle.Milliseconds(o.Prefill.PrefillAlone(prompts, r))
		}
		pace[g] = oracle.Milliseconds(last.DecodeAlone(answers, r))
	}
	return o.Slow * s.measured(c.Goal().Measure, first, pace) / candidate.BoundSlack, nil
}
