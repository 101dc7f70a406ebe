package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/trace"
)

// Config describes a workload. Requests come from Classes or from Trace; their times from Arrivals,
// from Users, or, where neither is given, from the trace.
type Config struct {
	// Classes are the kinds of requests that are drawn.
	Classes []Class
	// Trace is a recorded workload.
	Trace *Trace
	// Traces are recorded workloads that are played together, each at its own times: the requests
	// of the k-th are of class k.
	Traces []Trace
	// Arrivals is the process by which requests (conversations, where a class has turns) begin, of
	// classes without their own.
	Arrivals *arrivals.Process
	// Users send requests in a closed loop.
	Users *Users
	// Requests is the most that are sent; 0 means any number.
	Requests int64
	// Duration is when sending ends: what would arrive then or later is not sent. 0 means never.
	Duration sim.Time
	// Seed determines everything that is random.
	Seed uint64
}

// Trace is a recorded workload. Under Arrivals or Users only what its requests ask for counts, not
// when.
type Trace struct {
	// Path is the file.
	Path string
	// Options say how it is read.
	trace.Options
	// Repeat begins again at its end; only under Arrivals or Users.
	Repeat bool
	// Part is the length of the parts into which the trace is cut, in its own time and from From
	// on; 0 means that it is played as it is. As many parts as it has are drawn with replacement
	// and played one after another. Only with the trace's own times.
	Part sim.Time
	// Traits go with the requests, by class; of classes beyond, requests have none.
	Traits []Traits
}

// Users is a closed loop: each user sends a request, waits for the answer, thinks, and sends the
// next.
type Users struct {
	// Count is the number of users, 1 to 2^24; each takes a few bytes.
	Count int
	// Think is the time between an answer and the user's next request; in a conversation its
	// class's own applies, and this one after its end.
	Think arrivals.Delay
	// RampUp is the time over which the users' first requests are spread evenly; 0 means that all
	// start at once.
	RampUp sim.Time
}

const maxUsers = 1 << 24

// retryAfter is how long a user waits at least after a request that ended the moment it was sent
// because it was turned away. Without it a user who does not think would try for ever without time
// passing.
const retryAfter = sim.Second

// Source is a stream of requests that knows what it is.
type Source interface {
	sim.Source
	// Closer closes the trace, if there is one.
	io.Closer
	// Summary says what the workload looks like before it runs.
	Summary() Summary
	// Counts says what happened to the rows of the trace in one pass, so far; zero without a
	// trace.
	Counts() trace.Counts
}

// Open checks c and starts the workload. It fails if the parts do not go together, a parameter is
// out of range, or the trace cannot be read; what is wrong further down in a trace shows in Err.
func Open(c Config) (Source, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	limit := limit{left: c.Requests, until: c.Duration}
	if c.Requests == 0 {
		limit.left = math.MaxInt64
	}
	if c.Duration == 0 {
		limit.until = sim.Never
	}
	switch {
	case len(c.Traces) > 0:
		return newMerged(c, limit)
	case c.replays():
		r, err := newReplay(c.Trace, c.Seed, limit)
		if err != nil {
			return nil, err
		}
		r.summary = c.summary()
		return r, nil
	}
	return newGenerator(c, limit)
}

// replays reports whether the trace's own times apply.
func (c Config) replays() bool { return c.Arrivals == nil && c.Users == nil && !c.own() }

// recordings lists the traces.
func (c Config) recordings() []Trace {
	if c.Trace != nil {
		return []Trace{*c.Trace}
	}
	return c.Traces
}

// own reports whether every class has arrivals of its own, and there is one.
func (c Config) own() bool {
	return len(c.Classes) > 0 &&
		!slices.ContainsFunc(c.Classes, func(class Class) bool { return class.Arrivals == nil })
}

// check refuses what does not go together.
func (c Config) check() error {
	switch {
	case len(c.Classes) > 0 && c.Trace != nil:
		return errors.New("found classes and a trace, allowed: one of the two")
	case len(c.Traces) > 0 && (len(c.Classes) > 0 || c.Trace != nil || c.Arrivals != nil ||
		c.Users != nil):
		return errors.New("found traces that are played together beside another workload, " +
			"allowed: one of the two")
	case len(c.Classes) == 0 && c.Trace == nil && len(c.Traces) == 0:
		return errors.New("found neither classes nor a trace, allowed: one of the two")
	case c.Arrivals != nil && c.Users != nil:
		return errors.New("found arrivals and users, allowed: one of the two")
	case (c.Arrivals != nil || c.Users != nil) && c.own():
		return errors.New("found arrivals or users, and arrivals for every class, allowed: one " +
			"class at least without its own")
	case c.replays() && c.Trace == nil && len(c.Traces) == 0:
		return errors.New("found neither arrivals nor users, allowed: one of the two, or a trace " +
			"with its own times")
	case c.replays() && slices.ContainsFunc(c.recordings(), func(t Trace) bool { return t.Repeat }):
		return errors.New("found a repeated trace with its own times, allowed: repeating under " +
			"arrivals or users")
	case !c.replays() && slices.ContainsFunc(c.recordings(),
		func(t Trace) bool { return t.Part != 0 }):
		return errors.New("found parts of a trace under arrivals or users, allowed: parts with " +
			"the trace's own times")
	case c.Requests < 0:
		return fmt.Errorf("requests: found %d, allowed: 1 or more, or 0 for any number", c.Requests)
	case c.Duration < 0:
		return fmt.Errorf("duration: found %v, allowed: spans above 0, or 0 for no end", c.Duration)
	case c.endless():
		return errors.New("found a workload without end, allowed: a number of requests, a " +
			"duration, or both (all at once: a number of requests)")
	}
	return nil
}

// endless reports whether nothing would stop the stream.
func (c Config) endless() bool {
	if c.Requests > 0 || len(c.Traces) > 0 || (c.Trace != nil && !c.Trace.Repeat) {
		return false
	}
	if c.Users != nil {
		return c.Duration == 0
	}
	return slices.ContainsFunc(c.processes(), func(p *arrivals.Process) bool {
		if _, ok := p.Rate.(arrivals.AtOnce); ok {
			return true
		}
		return c.Duration == 0 && p.Rate != nil && !p.Rate.Ends()
	})
}

// processes lists those by which requests begin.
func (c Config) processes() []*arrivals.Process {
	var list []*arrivals.Process
	if c.Arrivals != nil {
		list = append(list, c.Arrivals)
	}
	for i := range c.Classes {
		if p := c.Classes[i].Arrivals; p != nil {
			list = append(list, p)
		}
	}
	return list
}

// limit ends a stream.
type limit struct {
	// left is the number of requests that may still be sent, and until the time from which none is.
	left  int64
	until sim.Time
}

// apply returns at, or sim.Never where no request may be sent then.
func (l *limit) apply(at sim.Time) sim.Time {
	if l.left <= 0 || at >= l.until {
		return sim.Never
	}
	return at
}
