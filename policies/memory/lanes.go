package memory

import "github.com/llmsim/llmsim/sim"

// lanes counts the blocks that decoding sequences will need. Those of a lane grow in step, so that it is enough to know how many
// stand at each position within a block.
type lanes struct {
	block int64
	lanes []lane
}

// lane counts the decoding sequences of a lane by phase: the position within a block, less the lane's clock, at which the next
// token goes. It does not change while they decode.
type lane struct {
	clock     int64 // steps taken, modulo the block
	sequences int64
	phases    []int64
}

// blocks returns the number of blocks that hold so many tokens.
func (l *lanes) blocks(tokens int) int64 { return (int64(tokens) + l.block - 1) / l.block }

// Units implements sim.Memory.
func (l *lanes) Units(tokens int) int64 { return l.blocks(tokens) }

func (l *lanes) join(number int, s *sim.Sequence) {
	for len(l.lanes) <= number {
		l.lanes = append(l.lanes, lane{phases: make([]int64, l.block)})
	}
	to := &l.lanes[number]
	to.sequences++
	to.phases[l.phase(to, s)]++
}

func (l *lanes) leave(number int, s *sim.Sequence) {
	from := &l.lanes[number]
	from.sequences--
	from.phases[l.phase(from, s)]--
}

func (l *lanes) phase(of *lane, s *sim.Sequence) int64 {
	return (int64(s.Context())%l.block - of.clock + l.block) % l.block
}

// growth returns the blocks that the lane takes in its next steps: in as many steps as a block has tokens, each sequence takes
// one; in the steps left over, those whose turn it is.
func (l *lanes) growth(number int, steps int64) int64 {
	if number >= len(l.lanes) {
		return 0
	}
	of := &l.lanes[number]
	n := steps / l.block * of.sequences
	at := of.turn()
	for range steps % l.block {
		n += of.phases[at]
		at = of.after(at)
	}
	return n
}

// headroom returns for how many steps, up to limit, the available blocks last.
func (l *lanes) headroom(number int, limit, available int64) int64 {
	if number >= len(l.lanes) || l.lanes[number].sequences == 0 {
		return limit
	}
	of := &l.lanes[number]
	rounds := available / of.sequences // of a block for every sequence
	if limit/l.block < rounds {
		return limit
	}
	steps, left := rounds*l.block, available%of.sequences
	at := of.turn()
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
		of.clock = (of.clock + steps) % l.block
	}
}

// turn returns the phase whose sequences take a block in the next step.
func (l *lane) turn() int {
	if l.clock == 0 {
		return 0
	}
	return len(l.phases) - int(l.clock)
}

// after returns the phase whose turn comes a step after that of the given one.
func (l *lane) after(phase int) int {
	if phase == 0 {
		return len(l.phases) - 1
	}
	return phase - 1
}
