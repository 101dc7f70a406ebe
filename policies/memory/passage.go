package memory

import (
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// passage is a part of a text: segments, and for each the hash of all segments before it.
type passage struct {
	list   []sim.Segment
	before []uint64
}

// seek returns the place after a number of tokens of the passage, which has more.
func (p *passage) seek(tokens int) content.Cursor {
	i := 0
	for tokens >= p.list[i].Tokens {
		tokens -= p.list[i].Tokens
		i++
	}
	return content.Cursor{Segment: i, Offset: tokens, Before: p.before[i]}
}

// hash returns the hash of all segments before number i of the passage, which has that many.
func (p *passage) hash(i int) uint64 {
	if i < len(p.before) {
		return p.before[i]
	}
	return content.After(p.before[i-1], &p.list[i-1])
}

// resume lets the passage go on, from its segment number i, as the text does from the cursor, for a
// number of tokens, at least 1, and returns the place after them.
func (p *passage) resume(i int, at content.Cursor, text []sim.Segment,
	tokens int) (after content.Cursor) {
	if at.Offset == 0 && i > 0 && p.list[i-1] != text[at.Segment-1] {
		p.list, p.before = append(p.list[:i-1], text[at.Segment-1]), p.before[:i]
	}
	for tokens += at.Offset; ; i++ {
		s := &text[at.Segment]
		if i >= len(p.list) || p.list[i] != *s {
			p.list, p.before = append(p.list[:i], *s), append(p.before[:i], at.Before)
		}
		at.Offset, at.Before = 0, p.before[i]
		if tokens < s.Tokens {
			at.Offset = tokens
			return at
		}
		tokens -= s.Tokens
		at.Segment, at.Before = at.Segment+1, p.hash(i+1)
		if tokens == 0 {
			return at
		}
	}
}

// cut divides the passage before its segment number i, or within it. The lower part is put into the
// given memory.
func (p *passage) cut(i int, within bool, space passage) (upper, lower passage) {
	lower = passage{append(space.list, p.list[i:]...), append(space.before, p.before[i:]...)}
	if within {
		i++
	}
	return passage{p.list[:i], p.before[:i]}, lower
}

// join puts a passage after the first i segments of another one. Its memory, or the other one's, is
// spent.
func (p *passage) join(i int, next passage) (whole, spent passage) {
	if i == 0 {
		return next, *p
	}
	return passage{append(p.list[:i], next.list...), append(p.before[:i], next.before...)}, next
}

// spentPassages are empty passages whose memory is reused.
type spentPassages []passage

// take returns an empty passage with room for some segments.
func (l *spentPassages) take(room int) (p passage) {
	if k := len(*l); k > 0 {
		p, *l = (*l)[k-1], (*l)[:k-1]
	}
	return passage{slices.Grow(p.list, room), slices.Grow(p.before, room)}
}

// put keeps the memory of a passage for the next one.
func (l *spentPassages) put(p passage) {
	if p.list != nil {
		*l = append(*l, passage{p.list[:0], p.before[:0]})
	}
}
