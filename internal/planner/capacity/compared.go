package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// compared is the number of replicas for which the simulation of a fleet would be as long as those
// by which fleets are compared. All are of the same requests.
const compared = 10

// Point is a fleet that was simulated, and what it costs and shows, with steps as slow as the asked
// confidence demands.
type Point struct {
	option   int
	Label    string `json:"label"`
	Replicas int    `json:"replicas"` // with the spares
	// Hourly is its price in US dollars, Latency the measure of the goal in milliseconds, and
	// Energy that for a million output tokens in Wh.
	Hourly  float64 `json:"dollars_per_hour"`
	Latency float64 `json:"latency_ms"`
	Energy  float64 `json:"wh_per_million_output_tokens"`
	// Kept is the share of requests that keep the part of the SLO that binds, with the spares down.
	Kept float64 `json:"kept"`
	// Front reports whether no other fleet is better in one of the three and as good in the others.
	Front bool `json:"front"`
	// Grade says what the predictions rest on.
	Grade evidence.Grade `json:"grade"`
}

// fleet is one that may be simulated: an option, and the replicas without the spares.
type fleet struct {
	option, replicas int
	// latency and energy are bounds from below.
	latency, energy float64
}

// comparison looks for fleets that are better than others.
type comparison struct {
	*search
	samples map[int]*sample // by context
}

// sample returns the requests that o faces; nil where nothing is known of them.
func (c *comparison) sample(o *option) (*sample, error) {
	context := o.prefill.context
	if d := o.decode; d != nil && d.context != context {
		return nil, nil
	}
	if s, known := c.samples[context]; known {
		return s, nil
	}
	s, err := c.newSample(o)
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
	f.energy = s.energy(o, n+c.spare)
	f.latency, err = c.floor(s, o)
	return f, err
}

func (s *search) goal() *Goal { return &s.trials.file.Plan.Goal }

// outcome is what the simulation of a fleet shows.
type outcome struct {
	point   Point
	kept    bool  // the SLO, with the spares down
	reduced trial // with the spares down
	failure string
}

// outcome simulates a fleet.
func (c *comparison) outcome(ctx context.Context, f fleet) (outcome, error) {
	o := c.options[f.option]
	reduced, err := c.same(ctx, o, f.replicas)
	if err != nil {
		return outcome{}, err
	}
	known := f.option == c.best && f.replicas == c.fates[c.best].replicas
	if !known && !reduced.kept() {
		return outcome{reduced: reduced}, nil
	}
	n := f.replicas + c.spare
	full, err := c.same(ctx, o, n)
	if err != nil {
		return outcome{}, err
	}
	point := Point{option: f.option, Label: c.label(f.option), Replicas: n,
		Hourly: float64(n) * o.price, Latency: full.Latencies[c.goal().Measure],
		Energy: full.EnergyPerMillion, Kept: reduced.Kept.Mean, Grade: o.grade}
	return outcome{point: point, kept: true, reduced: reduced}, nil
}

// note says what became of an option one of whose fleets was simulated.
func (c *comparison) note(f fleet, o *outcome) {
	fate := &c.fates[f.option]
	fate.closest = max(fate.closest, o.reduced.Kept.Mean)
	switch {
	case fate.kind == chosen:
	case o.failure != "":
		fate.kind, fate.words = broken, o.failure
	case o.kept:
		fate.kind, fate.words = simulated, ""
	case fate.kind != simulated:
		v := verdict{rate: c.rate / float64(f.replicas), trial: o.reduced}
		fate.kind, fate.words = simulated, c.lost(c.options[f.option], f.replicas, v)
	}
}

// same simulates n replicas of an option with the requests that all fleets are compared by.
func (c *comparison) same(ctx context.Context, o *option, n int) (trial, error) {
	p := &c.trials.file.Plan
	return c.trials.trial(ctx, o.scenario(&p.Menu, n, o.slow), c.rate, p.together(c.rate, compared))
}

// points simulates several fleets at the same time, and returns the ones that keep the SLO.
func (c *comparison) points(ctx context.Context, list []fleet) ([]Point, error) {
	found := make([]outcome, len(list))
	places := make([]int, len(list))
	for k := range places {
		places[k] = k
	}
	err := each(ctx, places, func(ctx context.Context, k int) (err error) {
		found[k], err = c.outcome(ctx, list[k])
		if words, failed := failure(err); failed {
			found[k].failure = words
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var kept []Point
	for k := range found {
		c.note(list[k], &found[k])
		if found[k].kept {
			kept = append(kept, found[k].point)
		}
	}
	return kept, nil
}

// swiftest finds the fleet with the lowest latency among the largest of each option, in the order
// of their bounds.
func (s *search) swiftest(ctx context.Context) ([]Point, error) {
	s.best, s.fates = -1, make([]fate, len(s.options))
	c := &comparison{s, map[int]*sample{}}
	var list []fleet
	for _, r := range s.reaches() {
		if r.replicas < s.fewest(s.options[r.option]) {
			s.fates[r.option] = fate{kind: beyond}
			continue
		}
		f, err := c.bounded(r.option, r.replicas)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b fleet) int { return cmp.Compare(a.latency, b.latency) })
	var all []Point
	var best *Point
	for len(list) > 0 {
		var now []fleet
		for len(list) > 0 && len(now) < atOnce {
			if f := list[0]; best == nil || f.latency < best.Latency {
				now = append(now, f)
			} else {
				s.fates[f.option].words = fmt.Sprintf("its bound is %s ms",
					report.Figure(f.latency))
			}
			list = list[1:]
		}
		kept, err := c.points(ctx, now)
		if err != nil {
			return nil, err
		}
		all = append(all, kept...)
		for i := range kept {
			if p := &kept[i]; best == nil || cmp.Or(cmp.Compare(p.Latency, best.Latency),
				cmp.Compare(p.Hourly, best.Hourly), cmp.Compare(p.option, best.option)) < 0 {
				best = p
			}
		}
	}
	if best != nil {
		s.best = best.option
		s.fates[s.best] = fate{kind: chosen, replicas: best.Replicas - s.spare}
	}
	slices.SortStableFunc(all, func(a, b Point) int { return cmp.Compare(a.Latency, b.Latency) })
	return all, nil
}

// dearest is how many times the price of the cheapest fleet a front goes up to, where there is no
// budget; step is the ratio of the sizes of fleets of an option.
const (
	dearest = 2.0
	step    = 1.25
)

// front finds the fleets that keep the SLO and that no other beats in price, latency and energy at
// once, from the cheapest on. Fleets are taken by their price; fleets whose bounds show that
// another is as good in all three are not simulated.
func (s *search) front(ctx context.Context) ([]Point, error) {
	c := &comparison{s, map[int]*sample{}}
	list, err := c.fleets()
	if err != nil {
		return nil, err
	}
	var all []Point
	for len(list) > 0 {
		var now []fleet
		for len(list) > 0 && len(now) < atOnce {
			if f := list[0]; !c.hopeless(f, all) {
				now = append(now, f)
			}
			list = list[1:]
		}
		kept, err := c.points(ctx, now)
		if err != nil {
			return nil, err
		}
		all = append(all, kept...)
	}
	markFront(all)
	return all, nil
}

// fleets lists the fleets of the menu that may be on the front, by price: the cheapest, and of each
// option the fleets that cost as much and more, in steps of a quarter.
func (c *comparison) fleets() ([]fleet, error) {
	most := dearest * c.cost()
	if b := float64(c.goal().Budget); b > 0 {
		most = b
	}
	var list []fleet
	for i, o := range c.options {
		if kind := c.fates[i].kind; kind == unfit || kind == outOfReach || kind == tooFew {
			continue
		}
		least := c.fewest(o)
		if i == c.best {
			least = c.fates[i].replicas
		}
		for c.beats(o, least) {
			least++
		}
		for n := least; float64(n+c.spare)*o.price <= most*(1+1e-9) && n <= c.allowed(o)-c.spare; {
			f, err := c.bounded(i, n)
			if err != nil {
				return nil, err
			}
			list = append(list, f)
			n = max(n+1, int(math.Ceil(step*float64(n))))
		}
	}
	slices.SortStableFunc(list, func(a, b fleet) int {
		return cmp.Or(cmp.Compare(c.hourly(a), c.hourly(b)), cmp.Compare(a.latency, b.latency))
	})
	return list, nil
}

func (c *comparison) hourly(f fleet) float64 {
	return float64(f.replicas+c.spare) * c.options[f.option].price
}

// hopeless reports whether a fleet is beaten by another whatever its simulation would show.
func (c *comparison) hopeless(f fleet, all []Point) bool {
	least := Point{Hourly: c.hourly(f), Latency: f.latency, Energy: f.energy}
	return slices.ContainsFunc(all, func(p Point) bool { return p.dominates(&least) })
}

// dominates reports whether p is at least as good as q in price, latency and energy, and better in
// one.
func (p *Point) dominates(q *Point) bool {
	return p.Hourly <= q.Hourly && p.Latency <= q.Latency && p.Energy <= q.Energy &&
		(p.Hourly < q.Hourly || p.Latency < q.Latency || p.Energy < q.Energy)
}

// markFront marks the points that no other dominates.
func markFront(all []Point) {
	for i := range all {
		all[i].Front = !slices.ContainsFunc(all, func(p Point) bool {
			return p.dominates(&all[i])
		})
	}
}
