package speculation

import (
	"math/bits"

	"github.com/llmsim/llmsim/sim"
)

// leap is what is known of some steps in which all sequences have drafts of the same length.
type leap struct {
	able  bool
	first uint64 // the number of the first step
	shift uint64 // its bit
	// sums counts the accepted tokens over all sequences by step, whole the sequences of which all
	// tokens are accepted, where they are more than one.
	sums, whole counter
	asked       int64 // the step of which the sum was asked for last; -1 for none
	sum         int64
	flops       []float64 // for the drafts of each step after the first
}

// counter is a number for each of 64 steps: the binary digits of the same place are the bits of one
// word.
type counter struct {
	digits [24]uint64
	used   int
}

// add adds 1 in the steps whose bits are set.
func (c *counter) add(word uint64) {
	i := 0
	for ; word != 0; i++ {
		c.digits[i], word = c.digits[i]^word, c.digits[i]&word
	}
	c.used = max(c.used, i)
}

// at returns the number of the step of a bit.
func (c *counter) at(bit uint64) int64 {
	n := int64(0)
	for i, word := range c.digits[:c.used] {
		n |= int64(word>>bit&1) << i
	}
	return n
}

// Foresee implements sim.LeapSpeculator. Steps are known up to the end of a block of draws.
func (p *Speculator) Foresee(drafted int, limit int64) int64 {
	l := &p.leap
	if !l.able || drafted != p.drafts[p.length].Tokens {
		return 1
	}
	l.first = p.step - 1
	l.shift = l.first % 64
	clear(l.sums.digits[:l.sums.used])
	clear(l.whole.digits[:l.whole.used])
	l.sums.used, l.whole.used, l.flops, l.asked = 0, 0, l.flops[:0], -1
	return min(limit, int64(64-l.shift))
}

// Look implements sim.LeapSpeculator.
func (p *Speculator) Look(s *sim.Sequence, steps int64) int64 {
	d, l := p.states.Of(s), &p.leap
	p.draw(s, d, l.first)
	for _, word := range d.reached() {
		l.sums.add(word)
	}
	if d.length > 1 && !p.c.Recompute {
		l.whole.add(d.reached()[d.length-1])
	}
	return d.count(l.shift, steps)
}

// count returns the number of tokens that are accepted in the steps from a bit on.
func (d *draws) count(bit uint64, steps int64) int64 {
	n, mask := 0, uint64(1)<<steps-1
	for _, word := range d.reached() {
		n += bits.OnesCount64(word >> bit & mask)
	}
	return int64(n)
}

// Known implements sim.LeapSpeculator.
func (p *Speculator) Known(s *sim.Sequence, steps int64) int64 {
	return p.states.Of(s).count(p.leap.shift, steps)
}

// Sum implements sim.LeapSpeculator.
func (p *Speculator) Sum(i int64) int64 {
	if l := &p.leap; l.asked != i {
		l.asked, l.sum = i, l.sums.at(l.shift+uint64(i))
	}
	return p.leap.sum
}

// Next implements sim.LeapSpeculator. The drafter computes what the step before accepted.
func (p *Speculator) Next(i int64, step *sim.Step, verify sim.Time) sim.Time {
	l := &p.leap
	if p.load.rows() > 0 {
		p.load.Context = step.Context - int64(step.DecodeTokens)
		if p.c.Recompute || p.length == 1 {
			p.load.Behind = int(p.Sum(i - 1))
		} else {
			p.load.Behind = int(l.whole.at(l.shift + uint64(i-1)))
		}
	}
	l.flops = append(l.flops, p.c.Drafter.FLOPs(&p.load))
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
func (p *Speculator) Take(s *sim.Sequence, steps int64) int {
	d, bit := p.states.Of(s), p.leap.shift
	if d.length == 0 {
		d.behind += int(steps) - 1 // the first counts already
		return 0
	}
	mask := uint64(1)<<steps - 1
	accepted, reached, last := 0, int(steps), 0
	for i, word := range d.reached() {
		n := bits.OnesCount64(word >> bit & mask)
		p.accepted[i] += int64(reached - n)
		accepted, reached = accepted+n, n
		last += int(word >> (bit + uint64(steps) - 1) & 1)
	}
	p.accepted[d.length] += int64(reached)
	switch {
	case p.c.Recompute:
		d.behind = last
	case last == d.length:
		d.behind = 1
	default:
		d.behind = 0
	}
	return accepted
}
