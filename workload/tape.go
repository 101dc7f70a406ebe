package workload

import (
	"cmp"
	"errors"
	"io"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// tape reads a trace, one request ahead. It is the script of a recorded workload.
type tape struct {
	trace  *Trace
	reader *trace.Reader
	// ahead is the next request, unless dry is set.
	ahead sim.Request
	dry   bool
	// later are the calls of the session that the next request begins, and calls those of the one
	// that was sent last; empty where requests are no sessions.
	later, calls graph
	// parts are played one after another; nil where the trace is played as it is.
	parts *parts
	// pass counts the rows of the first whole pass of a trace that repeats.
	pass   *trace.Counts
	broken error
}

// openTape opens a trace and reads its first request, so that a trace without any is an error at
// once.
func openTape(t *Trace, seed uint64) (p *tape, err error) {
	p = &tape{trace: t}
	if t.Part != 0 {
		if p.parts, err = t.draw(seed); err != nil {
			return nil, err
		}
	}
	if p.reader, err = p.open(); err != nil {
		return nil, err
	}
	if p.reader.Sessions() && (p.parts != nil || t.Repeat) {
		return nil, errors.Join(errRecordedSessions, p.reader.Close())
	}
	p.wind()
	return p, p.broken
}

// errRecordedSessions refuses what recorded sessions do not go together with.
var errRecordedSessions = errors.New("a trace of sessions plays once, by itself and at its own " +
	"times: leave resampling, arrivals, users and other traces out")

// open opens the trace, or the part of it that plays.
func (p *tape) open() (*trace.Reader, error) {
	if p.parts != nil {
		return trace.Open(p.trace.Path, p.parts.options(p.trace))
	}
	return trace.Open(p.trace.Path, p.trace.Options)
}

// wind reads the next request ahead. At the end of the trace the file is closed, or read again.
func (p *tape) wind() {
	err := p.reader.Read(&p.ahead)
	for p.parts != nil && (err == io.EOF || errors.Is(err, trace.ErrNoneLeft)) &&
		p.parts.next(p.reader.Counts()) {
		p.reader.Close()
		reader, failed := p.open()
		if err = failed; err == nil {
			p.reader = reader
			err = p.reader.Read(&p.ahead)
		}
	}
	if err == nil {
		if p.parts != nil {
			p.parts.rename(&p.ahead)
		}
		if p.reader.Sessions() {
			p.plan()
		}
		return
	}
	p.reader.Close()
	if p.parts != nil && p.parts.before.Requests > 0 && errors.Is(err, trace.ErrNoneLeft) {
		err = io.EOF // the last part is empty, others are not
	}
	if err == io.EOF && p.trace.Repeat {
		p.rewind()
		return
	}
	p.dry = true
	if err != io.EOF {
		p.broken = err
	}
}

// plan lists the calls of the session that was read ahead, one after another, until the context is
// too long.
func (p *tape) plan() {
	g := &p.later
	g.reset(0, p.trace.MaxContext, KeepAll)
	last, fits := g.add(call{from: -1, message: p.ahead.Prompt, output: p.ahead.Output}, nil)
	for i, t := range p.reader.Turns() {
		if fits {
			last, fits = g.add(call{from: last, text: int32(i + 1), message: t.Message,
				output: t.Output, wait: t.Wait}, []int32{last})
		}
	}
}

// rewind starts the next pass.
func (p *tape) rewind() {
	if p.pass == nil {
		counts := p.reader.Counts()
		p.pass = &counts
	}
	reader, err := p.open()
	if err != nil {
		p.dry, p.broken = true, err
		return
	}
	p.reader = reader
	// A pass that ended without an error had a request, so this does not go round for ever.
	p.wind()
}

func (p *tape) more() bool { return !p.dry }
func (p *tape) err() error { return p.broken }

// fill returns the request that was read ahead. Its Arrival is the recorded one, and so are tenant,
// priority and deadline if the trace has them.
func (p *tape) fill(r *sim.Request, _ int) *graph {
	id, space := r.ID, r.Content
	*r = p.ahead
	r.ID = id
	if r.Class < len(p.trace.Traits) {
		p.trace.Traits[r.Class].mark(r)
		r.Tenant, r.Priority, r.Deadline = cmp.Or(p.ahead.Tenant, r.Tenant),
			cmp.Or(p.ahead.Priority, r.Priority), cmp.Or(p.ahead.Deadline, r.Deadline)
	}
	p.calls, p.later = p.later, p.calls
	p.ahead.Content = space
	p.wind()
	if !p.reader.Sessions() {
		return nil
	}
	return &p.calls
}

func (p *tape) counts() trace.Counts {
	if p.pass != nil {
		return *p.pass
	}
	if p.parts != nil {
		return p.parts.counts(p.reader.Counts(), p.dry)
	}
	return p.reader.Counts()
}

func (p *tape) close() error {
	if p.dry {
		return nil
	}
	p.dry = true
	return p.reader.Close()
}
