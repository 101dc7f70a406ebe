package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// traceReader reads a trace, one request ahead. It is the script of a recorded workload.
type traceReader struct {
	trace  *Trace
	reader *trace.Reader
	// ahead is the next request, unless dry is set.
	ahead sim.Request
	dry   bool
	// later are the calls of the session that the next request begins, and calls the calls of the
	// session that was sent last; empty where requests are no sessions.
	later, calls graph
	// parts are played one after another; nil where the trace is played as it is.
	parts *parts
	// pass counts the rows of the first whole pass of a trace that repeats, and plays the sessions
	// that were read in all passes.
	pass   *trace.Counts
	plays  int64
	broken error
}

// openTrace opens a trace and reads its first request, so that a trace without any is an error at
// once.
func openTrace(t *Trace, seed uint64) (p *traceReader, err error) {
	p = &traceReader{trace: t}
	if t.Part != 0 {
		if p.parts, err = t.draw(seed); err != nil {
			return nil, err
		}
	}
	if p.reader, err = p.open(); err != nil {
		return nil, err
	}
	if p.reader.Sessions() && p.parts != nil {
		return nil, errors.Join(errRecordedSessions, p.reader.Close())
	}
	p.wind()
	return p, p.broken
}

// errRecordedSessions refuses what recorded sessions do not go together with.
var errRecordedSessions = errors.New("a trace of sessions is played as a whole, and by itself: " +
	"leave resampling and other traces out")

// open opens the trace, or the part of it that plays.
func (p *traceReader) open() (*trace.Reader, error) {
	if p.parts != nil {
		return trace.Open(p.trace.Path, p.parts.options(p.trace))
	}
	return trace.Open(p.trace.Path, p.trace.Options)
}

// wind reads the next request ahead. At the end of the trace the file is closed, or read again.
func (p *traceReader) wind() {
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

// wait returns the time before a call for which a time was recorded.
func (p *traceReader) wait(recorded sim.Time) sim.Time {
	if p.trace.MaxWait > 0 {
		return min(recorded, p.trace.MaxWait)
	}
	return recorded
}

// plan lists the calls of the session that was read ahead, without those whose context is too long
// and all that wait for them. A session that is played again shares nothing with the play before.
func (p *traceReader) plan() {
	g := &p.later
	g.reset(0, p.trace.MaxContext, KeepAll)
	p.plays++
	p.ahead.Session = p.plays
	number, _ := g.add(call{from: -1, message: p.ahead.Prompt, output: p.ahead.Output,
		recorded: p.recorded(p.ahead.Content), answer: p.ahead.Answer}, nil)
	p.ahead.Content = p.ahead.Content[:0]
	numbers := []int32{number} // of the recorded calls; −1 for a call that is left out
	for i, t := range p.reader.Turns() {
		next := call{from: -1, text: int32(i + 1), message: t.Message, output: t.Output,
			wait: p.wait(t.Wait), recorded: p.recorded(t.Prompt), answer: t.Answer}
		var after []int32
		fits := true
		if t.Prompt == nil && t.After == nil {
			next.from = numbers[i]
			after, fits = []int32{numbers[i]}, numbers[i] >= 0
		}
		for _, a := range t.After {
			after, fits = append(after, numbers[a]), fits && numbers[a] >= 0
			if numbers[a] >= 0 {
				next.turn = max(next.turn, g.calls[numbers[a]].turn+1)
			}
		}
		if fits {
			number, fits = g.add(next, after)
		}
		if !fits {
			number = -1
		}
		numbers = append(numbers, number)
	}
}

// recorded returns a copy of a prompt, with names of its own for each pass over the trace but the
// first.
func (p *traceReader) recorded(prompt []sim.Segment) []sim.Segment {
	if len(prompt) == 0 {
		return nil
	}
	list := slices.Clone(prompt)
	if p.pass != nil {
		for i := range list {
			list[i].ID = content.Hash(list[i].ID + uint64(p.plays))
		}
	}
	return list
}

// rewind starts the next pass.
func (p *traceReader) rewind() {
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

func (p *traceReader) more() bool  { return !p.dry }
func (p *traceReader) talks() bool { return p.reader.Sessions() }
func (p *traceReader) err() error  { return p.broken }

// fill returns the request that was read ahead. Its Arrival is the recorded one, and so are tenant,
// priority and deadline if the trace has them.
func (p *traceReader) fill(r *sim.Request, _ int) *graph {
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
	if !p.talks() {
		return nil
	}
	return &p.calls
}

func (p *traceReader) counts() trace.Counts {
	if p.pass != nil {
		return *p.pass
	}
	if p.parts != nil {
		return p.parts.counts(p.reader.Counts(), p.dry)
	}
	return p.reader.Counts()
}

func (p *traceReader) close() error {
	if p.dry {
		return nil
	}
	p.dry = true
	return p.reader.Close()
}

// mostParts bounds the parts of a trace: for each that is played, the file is read up to its end.
const mostParts = 1000

// parts are the parts of a trace that are played, and how far that is: a bootstrap whose blocks are
// days, or what else repeats in traffic (Künsch, "The jackknife and the bootstrap for general
// stationary observations", Annals of Statistics 17, 1989).
type parts struct {
	// drawn are the numbers of the parts in the order in which they are played, place is the one
	// that plays.
	drawn []int
	place int
	// before counts what happened to the rows of the parts before.
	before trace.Counts
}

// draw draws the parts of a trace, with their number. What is left at its end counts as a part if a
// request arrives in the last tenth of that.
func (t *Trace) draw(seed uint64) (*parts, error) {
	if t.Part < 0 {
		return nil, fmt.Errorf("workload: found parts of %v of a trace, allowed: above 0", t.Part)
	}
	last, err := t.last()
	if err != nil {
		return nil, err
	}
	n := int64((last + t.Part/10) / t.Part)
	switch {
	case n < 2:
		return nil, fmt.Errorf("%s: the last request is at %v, which leaves no two parts of %v to "+
			"draw from; choose shorter parts", t.Path, last, t.Part)
	case n > mostParts:
		return nil, fmt.Errorf("%s: the last request is at %v, which makes %d parts of %v; choose "+
			"longer parts, of which there are %d at most", t.Path, last, n, t.Part, mostParts)
	}
	p := &parts{drawn: make([]int, n)}
	source := rand.New(partStream.source(seed))
	for i := range p.drawn {
		p.drawn[i] = source.IntN(int(n))
	}
	return p, nil
}

// last returns when the last request arrives, in the trace's own time and counted from From.
func (t *Trace) last() (sim.Time, error) {
	o := t.Options
	o.Speed = 0
	reader, err := trace.Open(t.Path, o)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	var last sim.Time
	for q := (sim.Request{}); ; last = q.Arrival {
		if err := reader.Read(&q); err == io.EOF {
			return last, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// options returns how the part that plays is read.
func (p *parts) options(t *Trace) trace.Options {
	o, start := t.Options, sim.Time(p.drawn[p.place])*t.Part
	if o.For == 0 || o.For-start > t.Part {
		o.For = t.Part + start
	}
	o.From += start
	o.For -= start
	o.Shift = sim.Time(p.place) * t.Part
	return o
}

// next goes on to the next part, and reports whether there is one.
func (p *parts) next(counts trace.Counts) bool {
	p.before = p.counts(counts, false)
	if p.place++; p.place == len(p.drawn) {
		p.place--
		return false
	}
	return true
}

// counts returns what happened to the rows so far, where counts belong to the part that plays, or
// done says that all were played.
func (p *parts) counts(playing trace.Counts, done bool) trace.Counts {
	sum := p.before
	if !done {
		playing.Rows, playing.Outside = playing.Rows-playing.Outside, 0
		sum.Add(playing)
	}
	return sum
}

// rename gives the texts of a request other names where its part was played before: the prompts of
// another day differ from the prompts of the day that it resembles.
func (p *parts) rename(r *sim.Request) {
	played := uint64(0)
	for _, part := range p.drawn[:p.place] {
		if part == p.drawn[p.place] {
			played++
		}
	}
	for i := range r.Content {
		if s := &r.Content[i]; played > 0 {
			s.ID = content.Hash(s.ID + content.Hash(played))
		}
	}
}
