package steptime

import (
	"math"
	"math/bits"
	"sort"

	"github.com/llmsim/llmsim/sim"
)

// segment is a cost that is affine in the total context, base + slope·context, for contexts above
// the segment before it, up to through.
type segment struct {
	base    sim.Time
	slope   perToken
	through int64 // tokens; math.MaxInt64 in the last segment of a form
}

// perToken is a time for each token of context, in ticks / 1024: contexts have millions of tokens,
// and one may take less than a nanosecond, where the accelerators of many data-parallel ranks share
// them. It has no sign, so that a division by fraction is a shift.
type perToken uint64

// fraction is the part of a tick in which perToken counts.
const fraction = 1 << 10

// perTokenOf returns the time for each token of n runs of s seconds each, rounded up: what is
// multiplied by a long context must not come out faster than the hardware.
func perTokenOf(n, s float64) perToken {
	return perToken(math.Ceil(n * s * float64(sim.Second) * fraction))
}

// times returns the time of a number of tokens, rounded up.
func (t perToken) times(tokens int64) sim.Time {
	n := perToken(tokens)
	return sim.Time(t/fraction*n + (t%fraction*n+fraction-1)/fraction)
}

// affine returns the form that holds at a context: in whole ticks by token, and never less than s.
func (s segment) affine(context int64) sim.Affine {
	whole, rest := s.slope/fraction, s.slope%fraction
	if rest == 0 {
		return sim.Affine{Base: s.base, PerToken: sim.Time(whole), Through: s.through}
	}
	through := min(s.through, pieceEnd(context))
	return sim.Affine{Base: s.base + rest.times(through), PerToken: sim.Time(whole),
		Through: through}
}

// pieceEnd returns the last context of the piece in which a context is: forms hold within a piece,
// and count whole ticks for each of its tokens. Pieces grow with the context, so that few leaps end
// there, and what whole ticks leave out is at most a sixteenth of a tick for each token of context.
func pieceEnd(context int64) int64 {
	const least, parts = 12, 4 // log2 of a piece's tokens, and of the parts of a doubling range
	before := max(context-1, 0)
	size := uint(max(least, bits.Len64(uint64(before))-1-parts))
	return (before>>size + 1) << size
}

// formAt returns the form that holds at a context, of segments in order of context.
func formAt(segments []segment, context int64) sim.Affine {
	i := 0
	for context > segments[i].through {
		i++
	}
	return segments[i].affine(context)
}

// reaches returns the largest context at which s is at most floor, -1 where it is above everywhere.
func (s segment) reaches(floor sim.Time) int64 {
	switch {
	case s.base >= floor:
		return -1
	case s.slope == 0:
		return s.through
	}
	beyond := float64(floor-s.base) * fraction / float64(s.slope) // without what is rounded up
	most := int(min(beyond, float64(s.through-1))) + 1
	return int64(sort.Search(most, func(context int) bool {
		return s.affine(int64(context+1)).At(int64(context+1)) > floor
	}))
}

// form is the time of a step of some number of decoding sequences and no prompts, by total context.
// It has segments in order of context, and the last one has no end.
type form struct {
	// attention is the time to attend to the context, step is the whole step.
	attention, step []segment
	// measured reports whether attention is from tables, except for its first and its last segment.
	measured bool
}

// appendAbove appends the larger of a floor and a segment, plus serial.
func appendAbove(segments []segment, s segment, floor, serial sim.Time) []segment {
	crossing := s.reaches(floor)
	if crossing >= 0 {
		segments = append(segments, segment{base: max(1, floor+serial), through: crossing})
	}
	if crossing < s.through {
		s.base += serial
		segments = append(segments, s)
	}
	return segments
}

// memo keeps the values of a cost that depends on a count alone. Values for the count 0 and for
// counts beyond memoLimit are computed each time, and so are values of 0.
type memo struct {
	times []sim.Time           // by count; 0 where the value is not known yet
	fill  func(n int) sim.Time // computes the value, at least 0, the same each time
}

// memoLimit bounds the memory of a memo: 8 MiB.
const memoLimit = 1 << 20

func (m *memo) at(n int) sim.Time {
	if n < len(m.times) && m.times[n] > 0 {
		return m.times[n]
	}
	if n == 0 || n >= memoLimit {
		return m.fill(n)
	}
	if missing := n + 1 - len(m.times); missing > 0 {
		m.times = append(m.times, make([]sim.Time, missing)...)
	}
	m.times[n] = m.fill(n)
	return m.times[n]
}
