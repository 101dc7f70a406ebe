package workload

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

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
