package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/trace"
)

// generator sends the requests of a script, at the times of arrival processes or in a closed loop.
type generator struct {
	limit
	script   script
	recorded *traceReader // the script, if it is a trace
	classes  []Class
	summary  Summary

	// openings are the processes of an open loop, and fresh is the next arrival of any of them, or
	// sim.Never.
	openings []opening
	fresh    sim.Time
	// think is the thinking time of the users of a closed loop; nil in an open one.
	think func() sim.Time
	// start draws where the first session of a user begins; nil at its first call.
	start func() float64

	openSessions
}

func newGenerator(c Config, l limit) (*generator, error) {
	g := &generator{limit: l, fresh: sim.Never, classes: c.Classes,
		openSessions: newOpenSessions(c.KeepCut)}
	if err := g.schedule(c); err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	if c.Trace != nil {
		recorded, err := openTrace(c.Trace, c.Seed)
		if err != nil {
			return nil, err
		}
		g.script, g.recorded, g.summary = recorded, recorded, c.summary()
		g.seat(c)
		return g, nil
	}
	mix, err := newMix(c.Classes, c.Seed, c.Before)
	if err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	g.script, g.summary = mix, c.summary()
	g.seat(c)
	return g, nil
}

// anyClass means all classes that share arrivals.
const anyClass = -1

// opening is the arrival process of a class, with its next arrival.
type opening struct {
	class int
	times *arrivals.Times
	next  sim.Time
}

// open adds a process. Each process draws from random numbers of its own.
func (g *generator) open(p *arrivals.Process, class, n int, seed uint64) error {
	times, err := p.Times(gapStream.nth(seed, n), burstStream.nth(seed, n))
	if err != nil {
		return err
	}
	g.openings = append(g.openings, opening{class, times, times.Next()})
	g.fresh = min(g.fresh, g.openings[len(g.openings)-1].next)
	return nil
}

// schedule prepares when requests are sent.
func (g *generator) schedule(c Config) error {
	if c.Arrivals != nil {
		if err := g.open(c.Arrivals, anyClass, 0, c.Seed); err != nil {
			return err
		}
	}
	for i := range c.Classes {
		if p := c.Classes[i].Arrivals; p != nil {
			if err := g.open(p, i, i+1, c.Seed); err != nil {
				return fmt.Errorf("class %d: %w", i+1, err)
			}
		}
	}
	u := c.Users
	if u == nil {
		return nil
	}
	if u.Count < 1 || u.Count > maxUsers {
		return fmt.Errorf("users: found %d, allowed: 1 to %d", u.Count, maxUsers)
	}
	if u.RampUp > 0 && u.Cycle != nil {
		return fmt.Errorf("users: found a ramp up and a cycle, allowed: one of the two")
	}
	if u.RampUp < 0 || u.RampUp == sim.Never {
		return fmt.Errorf("users: ramp up: found %v, allowed: finite spans from 0", u.RampUp)
	}
	if !(u.StartMin >= 0 && u.StartMin <= u.StartMax && u.StartMax <= 1) {
		return fmt.Errorf("users: start: found %v to %v, allowed: 0 to 1, the smaller first",
			u.StartMin, u.StartMax)
	}
	low, high := u.StartMin, u.StartMax
	if u.Cycle != nil && high == 0 {
		high = 1 // at any call of the session
	}
	if high > 0 {
		random := rand.New(startStream.source(c.Seed))
		g.start = func() float64 { return low + (high-low)*random.Float64() }
	}
	var err error
	if g.think, err = u.Think.Sampler(userThinkStream.source(c.Seed)); err != nil {
		return fmt.Errorf("users: %w", err)
	}
	return nil
}

// seat lets users wait for the time at which they start.
func (g *generator) seat(c Config) {
	u := c.Users
	if u == nil {
		return
	}
	if u.Cycle == nil {
		for i := range u.Count {
			at := sim.Seconds(u.RampUp.Seconds() * float64(i) / float64(u.Count))
			g.waiting.push(at, nil, firstSession)
		}
		return
	}
	cycle := u.Cycle(g.summary.Prompt, g.summary.Output, c.pause())
	random := rand.New(placeStream.source(c.Seed))
	first := cycle
	places := make([]sim.Time, u.Count)
	for i := range places {
		places[i] = sim.Time(random.Float64() * float64(cycle))
		first = min(first, places[i])
	}
	for _, at := range places {
		g.waiting.push(at-first, nil, firstSession)
	}
}

// pause returns the mean time from an answer to the user's next request in a closed loop.
func (c Config) pause() sim.Time {
	sessions, requests, pauses := 0.0, 0.0, 0.0
	for i := range c.Classes {
		class := &c.Classes[i]
		if class.Arrivals != nil {
			continue
		}
		turns, between := 1.0, 0.0
		if t := class.Turns; t != nil {
			turns, _, _ = class.expect()
			between = t.Think.Mean.Seconds()
			if t.Tools != nil {
				between += t.Tools.Share * (t.Tools.Wait.Mean.Seconds() - between)
			}
		}
		sessions += class.Weight
		requests += class.Weight * turns
		pauses += float64(class.Weight * (turns - 1) * between)
	}
	think := c.Users.Think.Mean
	if requests == 0 {
		return think
	}
	return sim.Seconds((float64(sessions*think.Seconds()) + pauses) / requests)
}

// NextArrival implements sim.Source.
func (g *generator) NextArrival() sim.Time {
	if !g.script.more() { // only sessions under way go on
		g.fresh = sim.Never
		for g.waiting.first() < sim.Never && g.waiting.heap[0].talk == nil {
			g.waiting.pop()
		}
	}
	return g.apply(min(g.fresh, g.waiting.first()))
}

// Next implements sim.Source.
func (g *generator) Next(r *sim.Request) {
	g.left--
	if g.waiting.first() > g.fresh {
		g.arrive(r)
		return
	}
	w := g.waiting.pop()
	if w.talk == nil {
		g.send(r, w.at, anyClass, w.call == firstSession)
		return
	}
	w.talk.fill(w.call, r)
	stamp(r, w.at)
}

// arrive fills r with the request whose time has come in an open loop.
func (g *generator) arrive(r *sim.Request) {
	for i := range g.openings {
		if o := &g.openings[i]; o.next == g.fresh {
			g.send(r, o.next, o.class, false)
			o.next = o.times.Next()
			break
		}
	}
	g.fresh = sim.Never
	for i := range g.openings {
		g.fresh = min(g.fresh, g.openings[i].next)
	}
}

// send fills r with the script's next request of a class, or, if it opens the first session of a
// user, with the call at which that begins.
func (g *generator) send(r *sim.Request, at sim.Time, class int, first bool) {
	if calls := g.script.fill(r, class); calls != nil {
		made := 0
		if first && g.start != nil {
			made = min(int(g.start()*float64(len(calls.calls))), len(calls.calls)-1)
		}
		g.openSessions.begin(r, calls, at, int32(made))
	}
	stamp(r, at)
}

// stamp sets the times of a request that arrives at the given time.
func stamp(r *sim.Request, at sim.Time) {
	r.Arrival = at
	if r.Deadline > 0 {
		r.Deadline = later(at, r.Deadline)
	}
}

// Done implements sim.Source.
func (g *generator) Done(r *sim.Request, at sim.Time) {
	if r.Session != 0 && g.goOn(r, at) {
		return
	}
	if g.think == nil || r.Class < len(g.classes) && g.classes[r.Class].Arrivals != nil {
		return
	}
	think := g.think()
	if at == r.Arrival {
		think = max(think, retryAfter)
	}
	g.waiting.push(later(at, think), nil, 0)
}

// Open implements sim.OpenLoop.
func (g *generator) Open() bool { return g.think == nil && !g.script.talks() }

// Err implements sim.Source.
func (g *generator) Err() error { return g.script.err() }

// Close implements Source.
func (g *generator) Close() error {
	if g.recorded == nil {
		return nil
	}
	return g.recorded.close()
}

// Counts implements Source.
func (g *generator) Counts() trace.Counts {
	if g.recorded == nil {
		return trace.Counts{}
	}
	return g.recorded.counts()
}

// Summary implements Source.
func (g *generator) Summary() Summary { return g.summary }

// later returns t + span, or sim.Never where that is out of range. Both must be at least 0.
func later(t, span sim.Time) sim.Time {
	if span >= sim.Never-t {
		return sim.Never
	}
	return t + span
}
