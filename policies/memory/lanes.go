package memory

import "github.com/llmsim/llmsim/sim"

// lanes counts the blocks that decoding sequences will need. The sequences of a lane grow together,
// so it is enough to know how many of them are at each position within a block.
type lanes struct {
	block int64  // tokens of a block, at least 1
	lanes []lane // by number of the lane; grows with the first sequence of a lane
}

// lane holds, for each phase, the units that the decoding sequences of a lane take with each new
// block. A sequence takes a block in the steps in which it is the turn of its phase. The phase of a
// sequence does not change while it decodes, and the turn goes down by one with each step.
type lane struct {
	turn   int64   // the phase whose sequences take a block in the next step, in [0, block)
	round  int64   // units that they take in so many steps as a block has tokens: the sum of phases
	phases []int64 // one for each token of a block
}

// blocks returns the number of blocks that hold the given number of tokens.
func (l *lanes) blocks(tokens int) int64 { return (int64(tokens) + l.block - 1) / l.block }

// Units implements sim.Memory.
func (l *lanes) Units(tokens int) int64 { return l.blocks(tokens) }

// join adds a sequence that takes the given weight with each block.
func (l *lanes) join(number int, s *sim.Sequence, weight int64) {
	for len(l.lanes) <= number {
		l.lanes = append(l.lanes, lane{phases: make([]int64, l.block)})
	}
	l.lanes[number].add(s.Context(), weight)
}

// leave takes out a sequence, which then has that weight.
func (l *lanes) leave(number int, s *sim.Sequence, weight int64) {
	l.lanes[number].add(s.Context(), -weight)
}

// add changes the weight of the sequences with the given context.
func (l *lane) add(context int, weight int64) {
	block := int64(len(l.phases))
	phase := int64(context)%block + l.turn
	if phase >= block {
		phase -= block
	}
	l.phases[phase] += weight
	l.round += weight
}

// growth returns the units that the lane takes in its next steps. In each run of steps, one for
// each token of a block, every sequence takes one block. In the remaining steps, the sequences
// whose turn it is take one.
func (l *lanes) growth(number int, steps int64) int64 {
	if number >= len(l.lanes) {
		return 0
	}
	of := &l.lanes[number]
	n := int64(0)
	if steps >= l.block { // divisions are dear, and leaps are short
		n, steps = steps/l.block*of.round, steps%l.block
	}
	at := of.turn
	for range steps {
		n += of.phases[at]
		at = of.after(at)
	}
	return n
}

// sums returns the sums of sim.SummingMemory. The sequences of a phase take units in a step x, and
// then every block steps.
func (l *lanes) sums(number int, steps int64) (units, linear, pairs int64) {
	if number >= len(l.lanes) {
		return 0, 0, 0
	}
	of := &l.lanes[number]
	at := of.turn
	if steps <= l.block { // divisions are dear, and leaps are short
		before := int64(0) // x(x−1)/2
		for x := range steps {
			each := of.phases[at]
			units += each
			linear += each * x
			pairs += each * before
			before += x
			at = of.after(at)
		}
		return units, linear, pairs
	}
	rounds, rest := steps/l.block, steps%l.block
	for x := range l.block {
		times := rounds
		if x < rest {
			times++
		}
		between := times * (times - 1) / 2 * l.block
		sum := times*x + between
		squares := times*x*x + 2*x*between + between*(2*times-1)/3*l.block
		units += of.phases[at] * times
		linear += of.phases[at] * sum
		pairs += of.phases[at] * ((squares - sum) / 2)
		at = of.after(at)
	}
	return units, linear, pairs
}

// headroom returns the number of steps, at most limit, for which the available units suffice.
func (l *lanes) headroom(number int, limit, available int64) int64 {
	if number >= len(l.lanes) || l.lanes[number].round == 0 {
		return limit
	}
	of := &l.lanes[number]
	if limit < l.block && of.round <= available {
		return limit
	}
	rounds := available / of.round
	if limit/l.block < rounds {
		return limit
	}
	steps, left := rounds*l.block, available%of.round
	at := of.turn
	for steps < limit {
		if left -= of.phases[at]; left < 0 {
			break
		}
		steps++
		at = of.after(at)
	}
	return min(steps, limit)
}

func (l *lanes) advance(number int, steps int64) {
	if number < len(l.lanes) {
		of := &l.lanes[number]
		if of.turn -= steps; of.turn < 0 {
			if of.turn += l.block; of.turn < 0 { // divisions take long, and leaps are short
				of.turn = l.block - 1 + (of.turn+1)%l.block
			}
		}
	}
}

// after returns the phase whose turn comes a step after the given one's.
func (l *lane) after(phase int64) int64 {
	if phase == 0 {
		return int64(len(l.phases)) - 1
	}
	return phase - 1
}
