package speculation

import (
	"math/bits"

	"github.com/llmsim/llmsim/sim"
)

// leap foresees steps in which all sequences have drafts of the same length. The
// steps belong to a block of 64 draws, one bit each.
type leap struct {
	able   bool
	length int    // of the drafts
	block  uint64 // its number, as in draws
	first  uint64 // the number of the first step of the latest leap
	// sums counts the accepted tokens over all sequences by step, whole the sequences whose tokens
	// are all accepted, where they are more than one.
	sums, whole counter
	asked       uint64 // the bit whose sum was asked for last, if any was
	sum         int64
	flops       []float64 // for the drafts of each step after the first
}

const none = ^uint64(0)

// Begin implements sim.LeapSpeculator. Steps are known up to the end of a block of draws.
func (p *Speculator) Begin(drafted int) bool {
	l := &p.leap
	if !l.able || drafted != p.drafts[p.length].Tokens {
		return false
	}
	l.length, l.block = p.length, (p.step-1)/64+1
	l.sums.clear()
	l.whole.clear()
	l.asked = none
	return true
}

// Foresee implements sim.LeapSpeculator.
func (p *Speculator) Foresee(limit int64) int64 {
	l := &p.leap
	l.first, l.flops = p.step-1, l.flops[:0]
	return min(limit, int64(64-l.first%64))
}

// Repeat implements sim.LeapSpeculator. The step before is of the same block, so that it is known
// what the drafter has to catch up on.
func (p *Speculator) Repeat(sequences int, context int64) bool {
	l := &p.leap
	if p.length != l.length || p.step/64+1 != l.block {
		return false
	}
	if p.length == 0 {
		return true
	}
	p.load.draft(p.length, sequences, context, p.caughtUp(p.step-1))
	return true
}

// caughtUp returns the number of tokens that the drafter computes for all sequences after the given
// step, because it did not draft them then or needs features of the model.
func (p *Speculator) caughtUp(step uint64) int {
	if p.c.Recompute || p.leap.length == 1 {
		return int(p.sumOf(step % 64))
	}
	return int(p.leap.whole.at(step % 64))
}

// Look implements sim.LeapSpeculator.
func (p *Speculator) Look(s *sim.Sequence, began bool) sim.Accepts {
	d, step := p.states.Of(s), p.step
	if began {
		step--
	}
	p.draw(s, d, step)
	d.from = step % 64
	p.sumUp(d, (*counter).add)
	return d.accepts()
}

// sumUp adds the draws of d to the sums, or subtracts them.
func (p *Speculator) sumUp(d *state, by func(*counter, uint64)) {
	l, mask := &p.leap, ^uint64(0)<<d.from
	for _, word := range d.reached() {
		by(&l.sums, word&mask)
	}
	if d.length > 1 && !p.c.Recompute {
		by(&l.whole, d.reached()[d.length-1]&mask)
	}
	l.asked = none
}

// accepts returns what is accepted from the step on with which the sequence was looked at.
func (d *draws) accepts() sim.Accepts {
	return sim.Accepts{Reached: d.reached(), First: int(d.from)}
}

// Accepts implements sim.LeapSpeculator.
func (p *Speculator) Accepts(s *sim.Sequence) sim.Accepts { return p.states.Of(s).accepts() }

// Sum implements sim.LeapSpeculator.
func (p *Speculator) Sum(i int64) int64 { return p.sumOf(p.leap.first%64 + uint64(i)) }

// sumOf returns the number of tokens that are accepted in the step of a bit.
func (p *Speculator) sumOf(bit uint64) int64 {
	if l := &p.leap; l.asked != bit {
		l.asked, l.sum = bit, l.sums.at(bit)
	}
	return p.leap.sum
}

// Next implements sim.LeapSpeculator. The drafter computes what the step before accepted. The load
// of the leap's first step may have more sequences, which gave way once they had their drafts.
func (p *Speculator) Next(i int64, step *sim.Step, verify sim.Time) sim.Time {
	if p.load.rows() > 0 {
		p.load.draft(p.length, step.Decodes, step.Context-int64(step.DecodeTokens),
			p.caughtUp(p.leap.first+uint64(i)-1))
	}
	p.leap.flops = append(p.leap.flops, p.c.Drafter.FLOPs(&p.load))
	return p.together(verify)
}

// Advance implements sim.LeapSpeculator.
func (p *Speculator) Advance(begun int64) {
	p.step = p.leap.first + uint64(begun)
	for _, flops := range p.leap.flops[:begun-1] {
		p.flops += flops
	}
}

// Take implements sim.LeapSpeculator.
func (p *Speculator) Take(s *sim.Sequence, steps, begun int64) int {
	d := p.states.Of(s)
	p.sumUp(d, (*counter).subtract)
	if d.length == 0 {
		d.behind += int(begun) - 1 // the first counts already
		return 0
	}
	if steps == 0 {
		return 0
	}
	mask, newest := (uint64(1)<<steps-1)<<d.from, d.from+uint64(steps)-1
	accepted, reached, last := 0, int(steps), 0
	for i, word := range d.reached() {
		n := bits.OnesCount64(word & mask)
		p.accepted[i] += int64(reached - n)
		accepted, reached = accepted+n, n
		last += int(word >> newest & 1)
	}
	p.accepted[d.length] += int64(reached)
	switch {
	case begun > steps: // the step that runs has begun to catch up
		d.behind = 0
	case p.c.Recompute:
		d.behind = last
	case last == d.length:
		d.behind = 1
	default:
		d.behind = 0
	}
	return accepted
}

// counter is a number for each of 64 steps: the binary digits of the same place are the bits of one
// word.
type counter struct {
	digits [24]uint64
	used   int
}

// clear makes all numbers 0.
func (c *counter) clear() {
	clear(c.digits[:c.used])
	c.used = 0
}

// add adds 1 in the steps whose bits are set.
func (c *counter) add(word uint64) {
	i := 0
	for ; word != 0; i++ {
		c.digits[i], word = c.digits[i]^word, c.digits[i]&word
	}
	c.used = max(c.used, i)
}

// subtract takes 1 away in the steps whose bits are set, where the numbers are greater than 0.
func (c *counter) subtract(word uint64) {
	for i := 0; word != 0; i++ {
		c.digits[i], word = c.digits[i]^word, word&^c.digits[i]
	}
}

// at returns the number of the step of a bit.
func (c *counter) at(bit uint64) int64 {
	n := int64(0)
	for i, word := range c.digits[:c.used] {
		n |= int64(word>>bit&1) << i
	}
	return n
}
