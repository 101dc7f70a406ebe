package sim_test

import (
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// listSource yields requests made up beforehand.
type listSource struct {
	requests []sim.Request
	done     int
}

func (l *listSource) NextArrival() sim.Time {
	if len(l.requests) == 0 {
		return sim.Never
	}
	return l.requests[0].Arrival
}

func (l *listSource) Next(r *sim.Request) {
	*r = l.requests[0]
	l.requests = l.requests[1:]
}

func (l *listSource) Done(*sim.Request, sim.Time) { l.done++ }
func (l *listSource) Err() error                  { return nil }
func (l *listSource) Open() bool                  { return true }

// users is a closed loop: each user sends the next request of the list when the last one has ended.
// Times are not in the list.
type users struct {
	requests []sim.Request
	waiting  []sim.Time // when users send their next request, in order
}

func newUsers(n int, requests []sim.Request) *users {
	return &users{requests: requests, waiting: make([]sim.Time, n)}
}

func (u *users) NextArrival() sim.Time {
	if len(u.requests) == 0 || len(u.waiting) == 0 {
		return sim.Never
	}
	return u.waiting[0]
}

func (u *users) Next(r *sim.Request) {
	*r = u.requests[0]
	r.Arrival = u.waiting[0]
	u.requests, u.waiting = u.requests[1:], u.waiting[1:]
}

func (u *users) Done(_ *sim.Request, at sim.Time) {
	k, _ := slices.BinarySearch(u.waiting, at+1)
	u.waiting = slices.Insert(u.waiting, k, at)
}

func (u *users) Err() error { return nil }

// drawSource draws requests as they are needed: Poisson arrivals, normal lengths within bounds.
type drawSource struct {
	rng                    *rand.Rand
	left                   int64
	at                     sim.Time
	rate                   float64
	promptMean, promptStd  float64
	outputMean, outputStd  float64
	promptLimit, outputMax int
}

func (d *drawSource) NextArrival() sim.Time {
	if d.left == 0 {
		return sim.Never
	}
	return d.at
}

func (d *drawSource) Next(r *sim.Request) {
	d.left--
	r.Arrival = d.at
	r.Prompt = d.draw(d.promptMean, d.promptStd, d.promptLimit)
	r.Output = d.draw(d.outputMean, d.outputStd, d.outputMax)
	d.at += sim.Seconds(d.rng.ExpFloat64() / d.rate)
}

func (d *drawSource) draw(mean, std float64, limit int) int {
	for {
		if x := int(mean + std*d.rng.NormFloat64()); x >= 2 && x <= limit {
			return x
		}
	}
}

func (d *drawSource) Done(*sim.Request, sim.Time) {}
func (d *drawSource) Err() error                  { return nil }

// affineClock is a step time with a cost a step, a token and a context token, and a floor.
type affineClock struct {
	base, perToken, perContext, floor sim.Time
}

func (c affineClock) Duration(s *sim.Step) sim.Time {
	d := c.base + c.perToken*sim.Time(s.Tokens()) + c.perContext*sim.Time(s.Context)
	for i := range s.Prefill {
		p := &s.Prefill[i]
		d += c.perContext * sim.Time(p.Cached+p.New)
	}
	return max(d, c.floor)
}

func (c affineClock) Decode(n int, context int64) sim.Affine {
	base := c.base + c.perToken*sim.Time(n)
	// The floor holds up to the context at which the sum exceeds it.
	if c.floor > base {
		if c.perContext == 0 {
			return sim.Affine{Base: c.floor, Through: int64(sim.Never)}
		}
		if last := int64((c.floor - base) / c.perContext); context <= last {
			return sim.Affine{Base: c.floor, Through: last}
		}
	}
	return sim.Affine{Base: base, PerToken: c.perContext, Through: int64(sim.Never)}
}
