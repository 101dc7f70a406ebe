package scenarios

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
	"github.com/llmsim/llmsim/workload/trace"
)

// openSource fills in the workload's defaults and starts it.
func (b *builder) openSource() workload.Source {
	w := &b.s.Workload
	c := workload.Config{Seed: b.s.Seed}
	ownTimes := false
	if w.Trace != nil {
		c.Trace = b.trace()
		if ownTimes = b.timed(c.Trace) && b.yieldToTrace(); ownTimes && w.Trace.Repeat {
			b.problem("workload.trace.repeat", "needs a rate or arrivals; the trace's own times do not repeat")
		}
	} else {
		c.Classes = b.classes()
	}
	if !ownTimes {
		b.arrivals(&c)
	}
	b.limits(&c, ownTimes)
	if len(b.problems) > 0 {
		return nil
	}
	source, err := workload.Open(c)
	if err != nil {
		b.problem("workload", "%v", err)
		return nil
	}
	return source
}

// arrivals says when requests are sent that bring no times of their own.
func (b *builder) arrivals(c *workload.Config) {
	w := &b.s.Workload
	a := &w.Arrivals
	a.Process = orDefault(a.Process, "poisson")
	if a.Process == "closed-loop" || a.Process == "at-once" {
		if b.file.given("workload.rate") {
			b.problem("workload.rate", "has no meaning where arrivals are %s; leave it out", a.Process)
		}
		w.Rate = Rate{}
	} else {
		w.Rate.complete()
	}
	if a.Process == "closed-loop" {
		c.Users = &workload.Users{Count: a.Users, Think: a.Think.delay(), RampUp: sim.Time(a.RampUp)}
		return
	}
	process := w.process()
	c.Arrivals = &process
}

// limits says when the workload ends.
func (b *builder) limits(c *workload.Config, ownTimes bool) {
	w := &b.s.Workload
	ends := w.Requests > 0 || w.Duration > 0 || w.Trace != nil && !w.Trace.Repeat || !ownTimes && w.Rate.ends()
	if !ends {
		w.Requests = defaultRequests
	}
	c.Requests, c.Duration = w.Requests, sim.Time(w.Duration)
}

// classes returns the kinds of requests, one where the scenario names none.
func (b *builder) classes() []workload.Class {
	w := &b.s.Workload
	if len(w.Classes) == 0 {
		w.Prompt.complete(defaultPrompt(), b.s.Engine.MaxModelLen)
		w.Output.complete(defaultOutput(), b.s.Engine.MaxModelLen)
		anonymous := Class{Share: 1, Prompt: w.Prompt, Output: w.Output, Prefix: w.Prefix, Distinct: w.Distinct, Sessions: w.Sessions}
		return []workload.Class{b.class("workload", &anonymous)}
	}
	list := make([]workload.Class, len(w.Classes))
	for i := range w.Classes {
		class := &w.Classes[i]
		class.Share = orDefault(class.Share, 1)
		class.Prompt = orDefault(class.Prompt, w.Prompt)
		class.Output = orDefault(class.Output, w.Output)
		class.Prefix = orDefault(class.Prefix, w.Prefix)
		class.Distinct = orDefault(class.Distinct, w.Distinct)
		class.Sessions = orDefault(class.Sessions, w.Sessions)
		class.Prompt.complete(defaultPrompt(), b.s.Engine.MaxModelLen)
		class.Output.complete(defaultOutput(), b.s.Engine.MaxModelLen)
		list[i] = b.class(fmt.Sprintf("workload.classes.%d", i), class)
	}
	w.Prompt, w.Output, w.Prefix, w.Distinct, w.Sessions = Length{}, Length{}, nil, 0, nil
	return list
}

// class turns one kind of requests into what the workload package draws from; field is where it stands.
func (b *builder) class(field string, c *Class) workload.Class {
	drawn := workload.Class{
		Name: c.Name, Weight: c.Share, Priority: c.Priority, Tenant: c.Tenant, Deadline: sim.Time(c.Deadline), Distinct: c.Distinct,
		Prompt: b.lengths(field+".prompt", &c.Prompt),
		Output: b.lengths(field+".output", &c.Output),
	}
	if c.Prefix != nil {
		c.Prefix.Tokens.complete(Length{}, b.s.Engine.MaxModelLen)
		drawn.Prefix = &workload.Prefix{Groups: c.Prefix.Groups, Tokens: b.lengths(field+".prefix.tokens", &c.Prefix.Tokens), Zipf: c.Prefix.Zipf}
	}
	if c.Sessions != nil {
		c.Sessions.Turns.complete(Length{}, maxTurns)
		drawn.Turns = &workload.Turns{Count: b.lengths(field+".sessions.turns", &c.Sessions.Turns), Think: c.Sessions.Think.delay(), MaxContext: b.s.Engine.MaxModelLen}
	}
	b.checkContext(field, drawn)
	return drawn
}

// maxTurns bounds a distribution of turns that has no bound of its own.
const maxTurns = 1000

// checkContext refuses requests that are too long even at their shortest.
func (b *builder) checkContext(field string, c workload.Class) {
	if c.Prompt == nil || c.Output == nil || c.Prefix != nil && c.Prefix.Tokens == nil {
		return // the problem is noted already
	}
	shortest := c.Prompt.Min() + c.Output.Min()
	if c.Prefix != nil {
		shortest += c.Prefix.Tokens.Min()
	}
	if most := b.s.Engine.MaxModelLen; shortest > most {
		b.problem(field+".prompt", "prompt and output are %d tokens or more together; %s is served with contexts of at most %d (engine.max-model-len)", shortest, b.model.Name, most)
	}
}

func (b *builder) lengths(field string, l *Length) *lengths.Distribution {
	copied := *l
	copied.File = b.locate(field+".file", l.File)
	d, err := copied.distribution()
	if err != nil {
		b.problem(field, "%v", plainPathError(err))
		return nil
	}
	return d
}

// trace describes the recorded workload.
func (b *builder) trace() *workload.Trace {
	w := &b.s.Workload
	t := w.Trace
	for _, key := range []string{"prompt", "output", "prefix", "distinct", "sessions"} {
		if b.file.given("workload."+key) && !b.replaces("workload."+key) {
			b.problem("workload."+key, "has no meaning beside a trace, which tells what requests ask for; leave one of the two out")
		}
	}
	w.Prompt, w.Output, w.Prefix, w.Distinct, w.Sessions = Length{}, Length{}, nil, 0, nil
	t.Scale, t.Overlong = orDefault(t.Scale, 1), orDefault(t.Overlong, "reject")
	options := trace.Options{Format: t.Format, Speed: t.Scale, From: sim.Time(t.From), For: sim.Time(t.For)}
	if t.Overlong == "clamp" {
		options.MaxContext, options.Overlong = b.s.Engine.MaxModelLen, trace.Clamp
	}
	for _, c := range w.Classes {
		options.Classes = append(options.Classes, c.Name)
	}
	return &workload.Trace{Path: b.locate("workload.trace.file", t.File), Options: options, Repeat: t.Repeat}
}

// timed tells whether the trace has arrival times; where it cannot be read, the problem is noted.
func (b *builder) timed(t *workload.Trace) bool {
	reader, err := trace.Open(t.Path, t.Options)
	if errors.Is(err, fs.ErrNotExist) {
		b.problem("workload.trace.file", "%v. Recorded traces do not come with llmsim; docs/scenarios.md tells where to get them", plainPathError(err))
		return false
	}
	if err != nil {
		b.problem("workload.trace.file", "%v", plainPathError(err))
		return false
	}
	defer reader.Close()
	return reader.Timed()
}

// yieldToTrace tells whether the trace's own times apply: where the scenario gives neither rate nor arrivals, or the trace
// comes from the command line and they do not. Then how much is sent does not follow from them either.
func (b *builder) yieldToTrace() bool {
	w := &b.s.Workload
	if b.file.given("workload.rate") || b.file.given("workload.arrivals") {
		if !b.replaces("workload.rate") || !b.replaces("workload.arrivals") {
			return false
		}
		if b.replaces("workload.requests") {
			w.Requests = 0
		}
		if b.replaces("workload.duration") {
			w.Duration = 0
		}
	}
	w.Rate, w.Arrivals = Rate{}, Arrivals{}
	return true
}

// replaces tells whether a trace from the command line stands in for the field, which does not come from there.
func (b *builder) replaces(field string) bool {
	return b.file.overridden("workload.trace.file") && !b.file.overridden(field)
}

// delay returns the time that people take as the workload package draws it.
func (d *Delay) delay() arrivals.Delay {
	delay := arrivals.Delay{Mean: sim.Time(d.Mean)}
	switch d.Distribution {
	case "exponential":
		delay.Shape = arrivals.Exponential{}
	case "gamma":
		delay.Shape = arrivals.Gamma{CV: d.CV}
	case "lognormal":
		delay.Shape = arrivals.LogNormal{CV: d.CV}
	}
	return delay
}

// ends tells whether a rate stops by itself.
func (r *Rate) ends() bool { return r.Pattern == "phases" && !r.Repeat }
