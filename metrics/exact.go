package metrics

import (
	"cmp"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// exactSpans is the number of different spans up to which a distribution keeps them all.
const exactSpans = 256

// exact keeps all spans, as long as few of them are different.
type exact struct {
	spans []repeated // in order
	many  bool       // there were more than exactSpans, and spans is empty
}

// repeated is a span that occurred a number of times.
type repeated struct {
	span  sim.Time
	count int64
}

func (e *exact) add(span sim.Time, count int64) {
	if e.many {
		return
	}
	i, found := slices.BinarySearchFunc(e.spans, span,
		func(r repeated, span sim.Time) int { return cmp.Compare(r.span, span) })
	switch {
	case found:
		e.spans[i].count += count
	case len(e.spans) == exactSpans:
		e.spans, e.many = nil, true
	default:
		e.spans = slices.Insert(e.spans, i, repeated{span, count})
	}
}

// ranked returns the span of a rank, counted from 0.
func (e *exact) ranked(rank float64) sim.Time {
	sum := 0.0
	for _, r := range e.spans {
		if sum += float64(r.count); sum > rank {
			return r.span
		}
	}
	return e.spans[len(e.spans)-1].span
}
