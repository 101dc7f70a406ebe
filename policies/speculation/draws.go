package speculation

import (
	"math/bits"
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// Draws are keyed on the seed, the request and the number of the step, so that they can be made for
// many steps ahead, and do not depend on the order in which they are asked for (Salmon et al.,
// Parallel random numbers: as easy as 1, 2, 3, SC 2011). A sequence has one uniform number u a
// step. It accepts at least i tokens if u is below the probability of that. The draws of 64 steps
// are made together, a bit for each.

// Kinds of draws, which are independent.
const (
	kindDraw uint64 = iota + 1
	acceptDraw
	matchDraw
	readyDraw
)

// draws are a sequence's draws in a block of 64 steps.
type draws struct {
	block uint64 // its number, from 1; 0 without one
	from  uint64 // the bit of the step with which a leap looked at the sequence
	// The draws are for drafts of a length. They have a word for each position; bits are set for
	// steps in which at least the tokens up to it are accepted.
	length int
	few    [4]uint64
	many   []uint64 // where the draft is longer
	// matched is set for steps in which the drafter has a proposal.
	matched uint64
	match   uint64 // the block of matched, from 1
}

// reached returns the words of the draws.
func (d *draws) reached() []uint64 {
	if d.length <= len(d.few) {
		return d.few[:d.length]
	}
	return d.many
}

// accepted returns the number of tokens that are accepted in the step of a bit.
func (d *draws) accepted(bit uint64) int {
	n := 0
	for _, word := range d.reached() {
		n += int(word >> bit & 1)
	}
	return n
}

// draw makes the draws of s for its length in the block of a step, unless they are made.
func (p *Speculator) draw(s *sim.Sequence, d *state, step uint64) {
	block := step/64 + 1
	if d.block == block && d.draws.length == d.length {
		return
	}
	d.block, d.draws.length = block, d.length
	if d.length > len(d.few) {
		d.many = slices.Grow(d.many[:0], d.length)[:d.length]
	}
	words, key := d.reached(), p.key(s, acceptDraw, block)
	for i, reach := range p.drafts[d.length].Reach[d.kind] {
		words[i] = below(key, reach)
	}
}

// kind draws the kind of a request.
func (p *Speculator) kind(s *sim.Sequence) int {
	n := len(p.c.Acceptance)
	if n == 1 {
		return 0
	}
	high, _ := bits.Mul64(p.key(s, kindDraw, 0), uint64(n))
	return int(high)
}

// matching reports whether the drafter has a proposal in some of the steps only.
func (p *Speculator) matching() bool { return p.c.Match > 0 && p.c.Match < 1 }

// matches draws whether the drafter has a proposal for s in the next step.
func (p *Speculator) matches(s *sim.Sequence, d *state) bool {
	if block := p.step/64 + 1; d.match != block {
		d.match, d.matched = block, below(p.key(s, matchDraw, block), p.c.Match)
	}
	return d.matched>>(p.step%64)&1 == 1
}

// continues draws whether a token that was drafted ahead is right, after one that was accepted.
func (p *Speculator) continues(s *sim.Sequence, d *state) bool {
	rate := at(p.c.Acceptance[d.kind], d.length)
	step := p.step - 1
	return below(p.key(s, readyDraw, step/64+1), rate)>>(step%64)&1 == 1
}

// key returns the key of draws of a sequence.
func (p *Speculator) key(s *sim.Sequence, kind, block uint64) uint64 {
	key := p.c.Seed
	for _, part := range []uint64{kind, uint64(s.ID), block} {
		key = content.Finish(key + part*content.Increment)
	}
	return key
}

// below returns 64 bits. Each is set with probability p: it says whether a number u, uniform in [0,
// 1) and different for each bit, is below p. A word holds one binary digit of all 64 numbers, the
// first word the highest digits, and few words decide.
func below(key uint64, p float64) uint64 {
	switch {
	case p >= 1:
		return ^uint64(0)
	case !(p > 0):
		return 0
	}
	var less uint64
	open := ^uint64(0) // equal to p as far as they were compared
	for digits := uint64(p * (1 << 64)); digits != 0 && open != 0; digits <<= 1 {
		key += content.Increment
		word := content.Finish(key)
		if digits>>63 == 1 {
			less |= open &^ word
			open &= word
		} else {
			open &^= word
		}
	}
	return less
}
