package workload

import (
	"errors"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/trace"
)

// Config describes a workload. Requests come from Classes or from Trace. Their times come from
// Arrivals, from Users, or, if neither is given, from the trace.
type Config struct {
	// Classes are the kinds of random requests.
	Classes []Class
	// Trace is a recorded workload.
	Trace *Trace
	// Traces are recorded workloads that are replayed together, each at its own times. The requests
	// of trace number k have class k.
	Traces []Trace
	// Arrivals is the process by which requests arrive, for classes without arrivals of their own.
	// For a class with turns, it starts conversations.
	Arrivals *arrivals.Process
	// Users send requests in a closed loop.
	Users *Users
	// Escalations send requests of classes on when they have ended. Number k has class
	// len(Classes)+k. Only without users, who wait for answers.
	Escalations []Escalation
	// KeepCut lets later prompts of a session repeat what came out of an answer that ended early.
	// Otherwise they repeat the whole answer as it was planned. Prompts that a trace recorded as a
	// whole stay as they are.
	KeepCut bool
	// Adapters are the adapters that requests ask for, or nil.
	Adapters *Adapters
	// Requests is the largest number of requests to send; 0 means no limit.
	Requests int64
	// Duration is the time at which sending ends. A request that would arrive then or later is not
	// sent. 0 means never.
	Duration sim.Time
	// Before is the number of sessions before, in [0, 2^43]. Sessions with other numbers have other
	// texts, but for prefixes and prompts that are repeated.
	Before int64
	// Seed determines everything that is random.
	Seed uint64
}

// Trace is a recorded workload. With Arrivals or Users, the times of its requests do not count.
type Trace struct {
	// Path is the path of the file.
	Path string
	// Options say how the file is read.
	trace.Options
	// Repeat starts the trace again at its end. It needs Arrivals or Users.
	Repeat bool
	// MaxWait bounds the recorded times between the calls of a session; 0 means that they count as
	// they are.
	MaxWait sim.Time
	// Part is the length of the parts into which the trace is cut, in its own time and from From
	// on; 0 means that it is played as it is. Its parts are drawn with replacement, and played one
	// after another; their number stays. Only with the trace's own times.
	Part sim.Time
	// Traits are the traits of requests, by class. Requests of further classes have no session.
	Traits []Traits
}

// Adapters are adapters (LoRA); each request, or each session, asks for one.
type Adapters struct {
	// Count is the number of adapters, from 1 to 2^20.
	Count int
	// Zipf is the exponent of their popularity: adapter number k is chosen in proportion to
	// k^−Zipf. 0 means that all are equally popular.
	Zipf float64
}

// Users describes a closed loop. Each user sends a request, waits for the answer, thinks, and sends
// the next request.
type Users struct {
	// Count is the number of users, 1 to 2^24; each takes a few bytes.
	Count int
	// Think is the time between an answer and the user's next request. Within a conversation, the
	// time of its class applies, and Think after its end.
	Think arrivals.Delay
	// RampUp is the time over which the users' first requests are spread evenly; 0 means that all
	// start at once, unless Cycle is set.
	RampUp sim.Time
	// Cycle, if not nil, lets each user start at a random place of the cycle, so that the closed
	// loop begins in equilibrium: the first requests are spread at random, by the seed, over the
	// mean time from a user's request to the next. Cycle predicts this time, at least 0, from the
	// mean lengths of prompts and of outputs in tokens (0 where a trace has them) and the mean
	// pause of users between requests. The first user starts at 0. Only without RampUp. Unless
	// StartMax is set, a user's first session begins at any of its calls, so that users are spread
	// over the whole of their sessions.
	Cycle func(prompt, output float64, pause sim.Time) sim.Time
	// StartMin and StartMax, in [0, 1], bound the share of the calls of a user's first session that
	// were made before; the session begins with the next call. 0 both means at the first call,
	// without Cycle.
	StartMin, StartMax float64
}

const maxUsers = 1 << 24

// retryAfter is the least time that a user waits after a request that was refused at once. Without
// it, a user without thinking time would try again without end while no time passes.
const retryAfter = sim.Second

// replays reports whether the trace's own times apply.
func (c Config) replays() bool { return c.Arrivals == nil && c.Users == nil && !c.own() }

// recordings lists the traces.
func (c Config) recordings() []Trace {
	if c.Trace != nil {
		return []Trace{*c.Trace}
	}
	return c.Traces
}

// own reports whether there are classes and all of them have arrivals of their own.
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
	case len(c.Escalations) > 0 && (c.Users != nil || len(c.Classes) == 0):
		return errors.New("found escalations with users or a trace, allowed: with classes that " +
			"arrive over time")
	case c.endless():
		return errors.New("found a workload without end, allowed: a number of requests, a " +
			"duration, or both (all at once: a number of requests)")
	}
	for k := range c.Escalations {
		if err := c.Escalations[k].check(len(c.Classes) + k); err != nil {
			return err
		}
	}
	return nil
}

// endless reports whether the stream has no end.
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

// processes lists the arrival processes.
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

// Escalation sends requests of a class on when they have ended, as requests of a further class with
// the same prompt and the same length of answer: a small model answers first, and hard questions go
// to a large one. Whether a request is sent on does not depend on others.
type Escalation struct {
	// Name appears in messages and reports.
	Name string
	// From is the number of the class whose requests are sent on: one of Config.Classes, or of the
	// escalations before this one, which have the numbers after these.
	From int
	// Share is the probability that a request is sent on, from 0 to 1.
	Share float64
	// Traits are the traits of the requests that are sent on.
	Traits
}

// check refuses parameters out of range; class is the number of the class that the requests have.
func (e *Escalation) check(class int) error {
	switch {
	case e.From < 0 || e.From >= class:
		return fmt.Errorf("escalation %q: from: found class %d, allowed: 0 to %d", e.Name, e.From,
			class-1)
	case !(e.Share >= 0 && e.Share <= 1):
		return fmt.Errorf("escalation %q: share: found %v, allowed: 0 to 1", e.Name, e.Share)
	}
	return e.Traits.check()
}
