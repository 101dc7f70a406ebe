// Package paired compares fleets by simulations with the same requests, so that what differs
// between them is not chance, and bounds what these simulations show.
package paired

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/sim"
)

// Comparison compares fleets by simulations with the same requests.
type Comparison struct {
	judge.Judge
	samples map[int]*sample // by context
}

// New returns a comparison at the rate of a judge.
func New(j judge.Judge) *Comparison { return &Comparison{j, map[int]*sample{}} }

// Fleet is a fleet that may be simulated.
type Fleet struct {
	Option   *candidate.Option
	Replicas int // without the spares
	// Latency and Energy are bounds from below, in milliseconds and in Wh for a million output
	// tokens.
	Latency, Energy float64
	// Known reports whether it is known to keep the SLO.
	Known bool
}

// Result is what the simulation of a fleet shows.
type Result struct {
	Point   answer.Point
	Kept    bool         // the SLO, with the spares down
	Reduced oracle.Trial // with the spares down
	Failure string       // of the simulation; empty if it did not fail
}

// sample returns the requests that o faces, or nil if they are not known.
func (c *Comparison) sample(o *candidate.Option) (*sample, error) {
	context := o.Prefill.Context
	if d := o.Decode; d != nil && d.Context != context {
		return nil, nil
	}
	if s, known := c.samples[context]; known {
		return s, nil
	}
	s, err := c.newSample(o)
	c.samples[context] = s
	return s, err
}

// Bounded returns n replicas of an option, spares left out, with their bounds.
func (c *Comparison) Bounded(o *candidate.Option, n int) (Fleet, error) {
	f := Fleet{Option: o, Replicas: n}
	s, err := c.sample(o)
	if s == nil || err != nil {
		return f, err
	}
	f.Energy = s.energy(o, n+c.Spare)
	f.Latency, err = c.floor(s, o)
	return f, err
}

// Simulate simulates fleets at the same time.
func (c *Comparison) Simulate(ctx context.Context, list []Fleet) ([]Result, error) {
	results := make([]Result, len(list))
	err := judge.Each(ctx, judge.Indices(len(list)), func(ctx context.Context, k int) (err error) {
		results[k], err = c.compare(ctx, list[k])
		if words, failed := oracle.Failure(err); failed {
			results[k].Failure = words
			return nil
		}
		return err
	})
	return results, err
}

// compare simulates a fleet.
func (c *Comparison) compare(ctx context.Context, f Fleet) (Result, error) {
	o := f.Option
	reduced, err := c.same(ctx, o, f.Replicas)
	if err != nil {
		return Result{}, err
	}
	if !f.Known && !reduced.Keeps() {
		return Result{Reduced: reduced}, nil
	}
	n := f.Replicas + c.Spare
	full, err := c.same(ctx, o, n)
	if err != nil {
		return Result{}, err
	}
	point := answer.Point{Option: o.Index, Label: o.Label(&c.Trials.File.Plan.Menu), Replicas: n,
		Hourly: o.Cost(n), Latency: full.Latencies[c.Goal().Measure],
		Energy: full.EnergyPerMillion, Kept: reduced.Kept.Mean, Grade: o.Grade}
	return Result{Point: point, Kept: true, Reduced: reduced}, nil
}

// same simulates n replicas of an option with the requests that are common to all fleets.
func (c *Comparison) same(ctx context.Context, o *candidate.Option, n int) (oracle.Trial, error) {
	p := &c.Trials.File.Plan
	t, err := c.Trials.Trial(ctx, o.Scenario(&p.Menu, n, o.Slow), c.Rate,
		p.Together(c.Rate, comparedReplicas))
	return t.Under(o.Late), err
}

// floor bounds the measure of the goal for any fleet of o from below, in milliseconds: by that of
// requests each of which has a replica to itself.
func (c *Comparison) floor(s *sample, o *candidate.Option) (float64, error) {
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
