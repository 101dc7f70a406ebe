package arrivals

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// Phase is a stretch of time in which the rate is constant or changes linearly.
type Phase struct {
	// From and To are the rates in arrivals/s at the start and at the end, at least 0. They are
	// equal if the rate is constant.
	From, To float64
	// For is the length of the phase. 0 means without end, which is allowed for the last phase of
	// a list that does not repeat, if its rate is constant.
	For sim.Time
}

// Phases is a rate made of one phase after another. After the last, arrivals end, or the list
// begins again.
type Phases struct {
	List   []Phase
	Repeat bool
}

// Pacer implements Rate.
func (p Phases) Pacer(rand.Source) (Pacer, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	i := 0
	w := &piecewise{}
	w.next = func() (Phase, bool) {
		if i == len(p.List) {
			if !p.Repeat {
				return Phase{}, false
			}
			i = 0
		}
		i++
		return p.List[i-1], true
	}
	if p.Repeat {
		w.cycle, w.perCycle = p.sums()
	}
	w.enter()
	return w, nil
}

// check refuses rates and lengths out of range.
func (p Phases) check() error {
	if len(p.List) == 0 {
		return errors.New("phases: found none, allowed: at least one")
	}
	some := false
	for i, f := range p.List {
		for _, rate := range []float64{f.From, f.To} {
			if !(rate >= 0) || !finite(rate) {
				return fmt.Errorf("phase %d: rate: found %v/s, allowed: finite numbers from 0", i+1,
					rate)
			}
			some = some || rate > 0
		}
		open := f.For == 0 && i == len(p.List)-1 && !p.Repeat
		if open && f.From != f.To {
			return fmt.Errorf("phase %d: a ramp from %v/s to %v/s needs a length", i+1, f.From,
				f.To)
		}
		if !open && (f.For < sim.Millisecond || f.For == sim.Never) {
			return fmt.Errorf(
				"phase %d: length: found %v, allowed: 1ms or more, and finite (only a last phase "+
					"that does not repeat may be without end)", i+1, f.For)
		}
	}
	if !some {
		return errors.New("phases: every rate is 0, allowed: at least one above 0")
	}
	return nil
}

// sums returns the length of all phases together and the arrivals expected in them.
func (p Phases) sums() (length sim.Time, expected float64) {
	for _, f := range p.List {
		length = later(length, f.For)
		expected += float64((f.From + f.To) / 2 * f.For.Seconds())
	}
	return length, expected
}

// Mean implements Rate.
func (p Phases) Mean() float64 {
	if len(p.List) == 0 {
		return 0
	}
	if !p.Ends() && !p.Repeat {
		return p.List[len(p.List)-1].From
	}
	length, expected := p.sums()
	return expected / length.Seconds()
}

// Ends implements Rate.
func (p Phases) Ends() bool {
	return !p.Repeat && len(p.List) > 0 && p.List[len(p.List)-1].For > 0
}

func (p Phases) String() string {
	var words []string
	for _, f := range p.List {
		word := units.FormatRequestRate(f.From)
		if f.To != f.From {
			word += " to " + units.FormatRequestRate(f.To)
		}
		if f.For > 0 {
			word += fmt.Sprintf(" for %v", f.For)
		}
		words = append(words, word)
	}
	text := strings.Join(words, ", then ")
	if p.Repeat {
		text += ", repeating"
	}
	return text
}

// piecewise is a Pacer over phases, each with a linear rate.
type piecewise struct {
	// next yields the phases.
	next func() (Phase, bool)
	// cycle and perCycle are the period and the arrivals expected in it, if phases repeat, else 0.
	cycle    sim.Time
	perCycle float64

	phase Phase
	start sim.Time
	// length of the phase and the position in it, in seconds.
	length, into float64
	ended        bool
}

// enter begins the next phase.
func (w *piecewise) enter() {
	w.start = later(w.start, w.phase.For)
	w.into = 0
	var more bool
	w.phase, more = w.next()
	w.ended = !more || w.start == sim.Never
	w.length = w.phase.For.Seconds()
	if w.phase.For == 0 {
		w.length = math.Inf(1)
	}
}

func (w *piecewise) Advance(expected float64) sim.Time {
	if !w.ended && w.perCycle > 0 && expected >= w.perCycle {
		cycles := math.Floor(expected / w.perCycle)
		w.start = later(w.start, sim.Seconds(cycles*w.cycle.Seconds()))
		expected = math.Max(expected-float64(cycles*w.perCycle), 0)
		w.ended = w.start == sim.Never
	}
	for !w.ended {
		if left := w.left(); expected >= left {
			expected -= left
			w.enter()
			continue
		}
		w.into = math.Min(w.into+w.solve(expected), w.length)
		at := later(w.start, sim.Seconds(w.into))
		w.ended = at == sim.Never
		return at
	}
	return sim.Never
}

// rate returns the rate now and its slope.
func (w *piecewise) rate() (now, slope float64) {
	slope = (w.phase.To - w.phase.From) / w.length
	return w.phase.From + float64(slope*w.into), slope
}

// left returns the arrivals expected in the rest of the phase.
func (w *piecewise) left() float64 {
	if w.phase.From == 0 && w.phase.To == 0 {
		return 0
	}
	now, _ := w.rate()
	return (now + w.phase.To) / 2 * (w.length - w.into)
}

// solve returns the seconds in which expected arrivals, fewer than are left, come: the root of
// now·t + slope·t²/2 = expected, in the form that does not cancel.
func (w *piecewise) solve(expected float64) float64 {
	if expected == 0 {
		return 0
	}
	now, slope := w.rate()
	return 2 * expected / (now + math.Sqrt(math.Max(float64(now*now)+float64(2*slope*expected), 0)))
}
