package detail

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// Comparison compares fleets by simulations with the same requests.
type Comparison struct {
	judge.Judge
	samples map[int]*sample // by context
}

// NewComparison returns a comparison at the rate of a judge.
func NewComparison(j judge.Judge) *Comparison { return &Comparison{j, map[int]*sample{}} }

// Rival is a fleet that may be simulated.
type Rival struct {
	Option   *candidate.Option
	Replicas int // without the spares
	// Latency and Energy are bounds from below, in milliseconds and in Wh for a million output
	// tokens.
	Latency, Energy float64
	// Known reports whether it is known to keep the SLO.
	Known bool
}

// Compared is what the simulation of a fleet shows.
type Compared struct {
	Point   answer.Point
	Kept    bool        // the SLO, with the spares down
	Reduced judge.Trial // with the spares down
	Failure string      // of the simulation; empty if it did not fail
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
func (c *Comparison) Bounded(o *candidate.Option, n int) (Rival, error) {
	f := Rival{Option: o, Replicas: n}
	s, err := c.sample(o)
	if s == nil || err != nil {
		return f, err
	}
	f.Energy = s.energy(o, n+c.Spare)
	f.Latency, err = c.floor(s, o)
	return f, err
}

// Simulate simulates fleets at the same time.
func (c *Comparison) Simulate(ctx context.Context, list []Rival) ([]Compared, error) {
	results := make([]Compared, len(list))
	err := judge.Each(ctx, judge.Indices(len(list)), func(ctx context.Context, k int) (err error) {
		results[k], err = c.compare(ctx, list[k])
		if words, failed := judge.Failure(err); failed {
			results[k].Failure = words
			return nil
		}
		return err
	})
	return results, err
}

// compare simulates a fleet.
func (c *Comparison) compare(ctx context.Context, f Rival) (Compared, error) {
	o := f.Option
	reduced, err := c.same(ctx, o, f.Replicas)
	if err != nil {
		return Compared{}, err
	}
	if !f.Known && !reduced.Keeps() {
		return Compared{Reduced: reduced}, nil
	}
	n := f.Replicas + c.Spare
	full, err := c.same(ctx, o, n)
	if err != nil {
		return Compared{}, err
	}
	point := answer.Point{Option: o.Index, Label: o.Label(&c.Trials.File.Plan.Menu), Replicas: n,
		Hourly: o.Cost(n), Latency: full.Latencies[c.Goal().Measure],
		Energy: full.EnergyPerMillion, Kept: reduced.Kept.Mean, Grade: o.Grade}
	return Compared{Point: point, Kept: true, Reduced: reduced}, nil
}

// same simulates n replicas of an option with the requests that are common to all fleets.
func (c *Comparison) same(ctx context.Context, o *candidate.Option, n int) (judge.Trial, error) {
	p := &c.Trials.File.Plan
	t, err := c.Trials.Trial(ctx, o.Scenario(&p.Menu, n, o.Slow), c.Rate,
		p.Together(c.Rate, comparedReplicas))
	return t.Under(o.Late), err
}

// floor bounds the measure of the goal for any fleet of o from below, in milliseconds: by the time
// of requests that each have a replica to themselves.
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
			first[g] = o.SlowPrompts() / o.Slow *
				judge.Milliseconds(o.Prefill.PrefillAlone(prompts, r))
		}
		pace[g] = judge.Milliseconds(last.DecodeAlone(answers, r))
	}
	return o.Slow * s.measured(c.Goal().Measure, first, pace) / candidate.BoundSlack, nil
}

// weightedValue is a figure with the number of requests that it represents.
type weightedValue struct{ value, weight float64 }

// meanAndP99 returns the mean and the 99th percentile, by the nearest rank; 0 of an empty list.
func meanAndP99(list []weightedValue) (mean, p99 float64) {
	slices.SortFunc(list, func(a, b weightedValue) int { return cmp.Compare(a.value, b.value) })
	sum, total := 0.0, 0.0
	for _, w := range list {
		sum += float64(w.value * w.weight)
		total += w.weight
	}
	if total == 0 {
		return 0, 0
	}
	below := 0.0
	for _, w := range list {
		if below += w.weight; below >= math.Ceil(0.99*total) {
			return sum / total, w.value
		}
	}
	return sum / total, list[len(list)-1].value
}

// sample is the requests with which fleets are compared, as far as bounds need them: sorted into
// cells of similar lengths, whose least represents them all.
type sample struct {
	prompts []int      // the least of each group of similar prompts
	cells   []cell     // in no order
	shared  bool       // whether prompts may come from a cache
	work    asked.Work // of the requests in cells
	tokens  float64    // of all answers
	seconds float64    // until the last request arrives
}

// cell is requests of similar lengths.
type cell struct {
	group, output int // the place of the prompts in sample.prompts, and the shortest answer
	weight        float64
}

// similar is the ratio of the lengths in a cell.
const similar = 1.08

// newSample reads the requests of a fleet of o at the rate of the search; nil where they depend on
// how fast others are answered, or are too many.
func (c *Comparison) newSample(o *candidate.Option) (*sample, error) {
	f := c.Trials.File
	p := &f.Plan
	if p.Workload.Arrivals.Process == "closed-loop" || p.Sessions() {
		return nil, nil
	}
	most := int(p.Together(c.Rate, comparedReplicas))
	if p.RecordedTimes() || !p.Steady() {
		most = asked.MostRead
	}
	file, err := f.File(o.Scenario(&p.Menu, 1, 1), c.Rate, int64(most))
	if err != nil {
		return nil, err
	}
	file.Clocks = c.Trials.Clocks
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	defer simulation.Source.Close()
	requests := asked.Draw(simulation.Source, most+1, min(most, asked.ManyDrawn))
	if err := simulation.Source.Err(); err != nil || len(requests) == 0 || len(requests) > most {
		return nil, err
	}
	return sampled(requests, o.Prefill.Context), nil
}

// sampled sorts requests into cells, without requests that are longer than a context.
func sampled(requests []sim.Request, context int) *sample {
	s := &sample{seconds: requests[len(requests)-1].Arrival.Seconds()}
	bucket := func(n int) int { return int(math.Log(float64(max(1, n))) / math.Log(similar)) }
	groups, cells := map[int]int{}, map[[2]int]int{}
	for i := range requests {
		r := &requests[i]
		s.tokens += float64(r.Output)
		if r.Prompt+r.Output > context {
			continue
		}
		s.work.Add(r)
		s.shared = s.shared || len(r.Content) > 0
		g, known := groups[bucket(r.Prompt)]
		if !known {
			g = len(s.prompts)
			groups[bucket(r.Prompt)], s.prompts = g, append(s.prompts, r.Prompt)
		}
		s.prompts[g] = min(s.prompts[g], r.Prompt)
		at := [2]int{g, bucket(r.Output)}
		c, known := cells[at]
		if !known {
			c = len(s.cells)
			cells[at], s.cells = c, append(s.cells, cell{group: g, output: r.Output})
		}
		s.cells[c].output = min(s.cells[c].output, r.Output)
		s.cells[c].weight++
	}
	return s
}

// measured returns a measure of the requests, given the time to first token and the time per token
// of each group of prompts, in milliseconds.
func (s *sample) measured(measure string, first, pace []float64) float64 {
	var list []weightedValue
	for _, c := range s.cells {
		value := first[c.group]
		switch measure {
		case "mean_tpot_ms", "p99_tpot_ms":
			if value = pace[c.group]; c.output < 2 {
				continue
			}
		case "mean_e2el_ms", "p99_e2el_ms":
			value += float64(pace[c.group] * float64(c.output-1))
		}
		list = append(list, weightedValue{value, c.weight})
	}
	mean, p99 := meanAndP99(list)
	if strings.HasPrefix(measure, "mean") {
		p99 = mean
	}
	return p99
}

// energy bounds the energy for a million output tokens of n replicas of o from below, in Wh: their
// idle power, and what running steps draws beside it for as long as they are busy at least.
func (s *sample) energy(o *candidate.Option, n int) float64 {
	joules := float64(float64(n) * o.Sum((*candidate.Server).IdlePower) * s.seconds)
	if d := o.Decode; d == nil {
		joules += float64(o.Slow / candidate.BoundSlack *
			float64(o.Prefill.Run*o.Prefill.Pace.Both(&s.work)))
	} else {
		joules += float64(o.Slow / candidate.BoundSlack *
			(float64(o.SlowPrompts()/o.Slow*o.Prefill.Run*o.Prefill.Pace.Prefill(&s.work)) +
				float64(d.Run*d.Pace.Decode(&s.work))))
	}
	return joules / 3600 / s.tokens * 1e6
}

// comparedReplicas is the number of replicas that sets the length of the simulations by which
// fleets are compared. All of these simulations have the same requests.
const comparedReplicas = 10
