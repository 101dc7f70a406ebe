package paired

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// weightedValue is a figure that stands for a number of requests.
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
// cells of similar lengths, of which the least stand for all.
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
			(float64(o.Prefill.Run*o.Prefill.Pace.Prefill(&s.work)) +
				float64(d.Run*d.Pace.Decode(&s.work))))
	}
	return joules / 3600 / s.tokens * 1e6
}

// comparedReplicas is the number of replicas that sets the length of the simulations by which
// fleets are compared. All of these simulations have the same requests.
const comparedReplicas = 10
