package workload

import (
	"cmp"
	"io"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// tape plays a trace, one request ahead. It is the script of a workload whose requests were
// recorded.
type tape struct {
	trace  *Trace
	reader *trace.Reader
	// ahead is the next request; there is none if dry.
	ahead sim.Request
	dry   bool
	// pass counts the rows of the first whole pass of a trace that repeats.
	pass   *trace.Counts
	broken error
}

// openTape opens a trace and reads its first request, so that a trace without any is an error at
// once.
func openTape(t *Trace) (*tape, error) {
	reader, err := trace.Open(t.Path, t.Options)
	if err != nil {
		return nil, err
	}
	p := &tape{trace: t, reader: reader}
	p.wind()
	return p, p.broken
}

// wind reads the next request ahead. At the end of the trace the file is closed, or read again.
func (p *tape) wind() {
	err := p.reader.Read(&p.ahead)
	if err == nil {
		return
	}
	p.reader.Close()
	if err == io.EOF && p.trace.Repeat {
		p.rewind()
		return
	}
	p.dry = true
	if err != io.EOF {
		p.broken = err
	}
}

// rewind starts the next pass.
func (p *tape) rewind() {
	if p.pass == nil {
		counts := p.reader.Counts()
		p.pass = &counts
	}
	reader, err := trace.Open(p.trace.Path, p.trace.Options)
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

// fill hands out the request that was read ahead; its Arrival is the recorded one, and so are
// tenant, priority and deadline where the trace has them.
func (p *tape) fill(r *sim.Request, _ int) []turn {
	id, space := r.ID, r.Content
	*r = p.ahead
	r.ID = id
	if r.Class < len(p.trace.Traits) {
		p.trace.Traits[r.Class].mark(r)
		r.Tenant, r.Priority, r.Deadline = cmp.Or(p.ahead.Tenant, r.Tenant),
			cmp.Or(p.ahead.Priority, r.Priority), cmp.Or(p.ahead.Deadline, r.Deadline)
	}
	p.ahead.Content = space
	p.wind()
	return nil
}

func (p *tape) counts() trace.Counts {
	if p.pass != nil {
		return *p.pass
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
