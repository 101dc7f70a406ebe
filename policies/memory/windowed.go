package memory

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Windowed is paged memory for models in which some or all layers see only a sliding window, or
// keep state of fixed size. A sequence that has filled the window overwrites its oldest block in
// these layers (the rolling buffer of Jiang et al., Mistral 7B, arXiv:2310.06825, section 2). In
// the other layers it grows. A block of all layers consists of full units for the layers that grow,
// and windowed units for the layers with a window.
type Windowed struct {
	lanes
	unitMemory // of units
	// full and windowed are the units of a block in layers that grow and in layers with a window,
	// each at least 0, without a common divisor.
	full, windowed int64
	limit          int64           // blocks that a sequence takes in a windowed layer, at least 1
	fixed          int64           // units that a sequence takes besides, at least 0
	filling        []windowFilling // by lane; Join, Leave and Advance change it
}

// windowFilling counts, for each coming step, the decoding sequences of a lane that take the last
// block of their window in it.
type windowFilling struct {
	step  int     // the present step, 0 <= step < len(ends)
	ends  []int64 // sequences by step, modulo limit·block steps; ends[step] = 0 after Advance
	total int64   // the sum of ends
}

// Layers holds the size of a token in the layers of a model that grow with the context, and in the
// layers with a sliding window. Only the ratio of the two counts, so both may be numbers of layers.
type Layers struct {
	Full, Windowed int
	// Window is the size of the window in tokens, including the token that attends.
	Window int
	// Fixed is the size of the state of recurrent layers, which each sequence takes in addition, in
	// the unit of Full and Windowed.
	Fixed int
	// StateTokens is the number of tokens whose KV in a layer that grows is as large as the state
	// of a recurrent layer; 0 without recurrent layers.
	StateTokens int
	// Block is the least number of tokens of a block, where blocks and states share pages; 0 where
	// blocks may be of any size.
	Block int
}

// Bounded reports whether some layers keep less than a part of each token.
func (l Layers) Bounded() bool { return l.Windowed > 0 || l.Fixed > 0 }

// Whole returns the layers for engines that keep the KV of all tokens, even after a window has
// passed them.
func (l Layers) Whole() Layers {
	return Layers{Full: l.Full + l.Windowed, Fixed: l.Fixed, StateTokens: l.StateTokens}
}

// NewWindowed returns a memory that holds the given number of blocks, each of blockSize tokens in
// all layers.
func NewWindowed(blocks int64, blockSize int, l Layers) (*Windowed, error) {
	if err := checkBlocks(blocks, blockSize); err != nil {
		return nil, err
	}
	if l.Fixed < 0 || l.Windowed == 0 && l.Full < 1 {
		return nil, fmt.Errorf("%d of a token and %d of a sequence are kept, want 1 and 0 at least",
			l.Full, l.Fixed)
	}
	if l.Windowed == 0 {
		l.Window = 1
	}
	if l.Window < 1 || l.Windowed < 0 || l.Full < 0 || !l.Bounded() {
		return nil, fmt.Errorf(
			"a sliding window of %d tokens in %d layers, want at least 1 of each; without a "+
				"window, use paged", l.Window, l.Windowed)
	}
	common := gcd(l.Full, l.Windowed)
	w := &Windowed{lanes: lanes{block: int64(blockSize)}, full: int64(l.Full / common),
		windowed: int64(l.Windowed / common)}
	w.limit = w.blocks(l.Window-1) + 1
	perUnit := int64(common) * int64(blockSize)
	w.fixed = (int64(l.Fixed) + perUnit - 1) / perUnit
	w.capacity = blocks * (w.full + w.windowed)
	w.free = w.capacity
	return w, nil
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Units implements sim.Memory.
func (w *Windowed) Units(tokens int) int64 {
	if tokens == 0 {
		return 0
	}
	n := w.blocks(tokens)
	return w.full*n + w.windowed*min(n, w.limit) + w.fixed
}

// Fits implements sim.Memory.
func (w *Windowed) Fits(tokens int) bool { return w.Units(tokens) <= w.capacity }

// Extend implements sim.Memory.
func (w *Windowed) Extend(s *sim.Sequence, n int, reserve int64) bool {
	return w.reserve(s, w.Units(s.Stored+n), reserve)
}

// Join implements sim.Memory.
func (w *Windowed) Join(lane int, s *sim.Sequence) {
	for len(w.filling) <= lane {
		w.filling = append(w.filling, windowFilling{ends: make([]int64, w.limit*w.block)})
	}
	left := w.untilFull(s)
	w.filling[lane].add(left, 1)
	w.join(lane, s, w.weight(left))
}

// Leave implements sim.Memory.
func (w *Windowed) Leave(lane int, s *sim.Sequence) {
	w.stopGrowing(lane, s)
	*w.held.Of(s) = w.Units(s.Context())
}

// stopGrowing takes s out of the sequences that grow in the lane.
func (w *Windowed) stopGrowing(lane int, s *sim.Sequence) {
	left := w.untilFull(s)
	w.filling[lane].add(left, -1)
	w.leave(lane, s, w.weight(left))
}

// untilFull returns the number of steps until s has taken its last block in windowed layers, at
// most 0 if it has.
func (w *Windowed) untilFull(s *sim.Sequence) int64 {
	return (w.limit-1)*w.block + 1 - int64(s.Context())
}

// weight is the number of units that a sequence takes with each block, while it fills its window or
// afterwards.
func (w *Windowed) weight(untilFull int64) int64 {
	if untilFull > 0 {
		return w.full + w.windowed
	}
	return w.full
}

// add counts sequences that are full in the given number of steps, if they are not already.
func (f *windowFilling) add(untilFull, n int64) {
	if untilFull > 0 {
		f.ends[(f.step+int(untilFull))%len(f.ends)] += n
		f.total += n
	}
}

// next returns in how many steps, up to limit, the next sequence is full.
func (f *windowFilling) next(limit int64) int64 {
	if f.total == 0 {
		return limit
	}
	at := f.step
	for steps := int64(1); steps < limit; steps++ {
		if at++; at == len(f.ends) {
			at = 0
		}
		if f.ends[at] > 0 {
			return steps
		}
	}
	return limit
}

// advance takes steps, up to the next in which sequences are full, and returns how many are.
func (f *windowFilling) advance(steps int64) int64 {
	f.step = (f.step + int(steps)) % len(f.ends)
	full := f.ends[f.step]
	f.ends[f.step] = 0
	f.total -= full
	return full
}

// Headroom implements sim.Memory. It ends at the step in which a window is full, since that
// sequence grows by less afterwards.
func (w *Windowed) Headroom(lane int, limit int64) int64 {
	if lane < len(w.filling) {
		limit = w.filling[lane].next(limit)
	}
	return w.headroom(lane, limit, w.free)
}

// Growth implements sim.Memory.
func (w *Windowed) Growth(lane int, steps int64) int64 { return w.growth(lane, steps) }

// Advance implements sim.Memory.
func (w *Windowed) Advance(lane int, steps int64) { w.AdvanceSums(lane, steps) }

// AdvanceSums implements sim.SummingMemory.
func (w *Windowed) AdvanceSums(lane int, steps int64) (units, linear, pairs int64) {
	units, linear, pairs = w.sums(lane, steps)
	w.free -= units
	w.pass(lane, steps)
	return units, linear, pairs
}

// pass counts steps of a lane, in which windows may become full.
func (w *Windowed) pass(lane int, steps int64) {
	if lane >= len(w.filling) {
		return
	}
	w.advance(lane, steps)
	full := w.filling[lane].advance(steps)
	w.lanes.lanes[lane].add(int((w.limit-1)*w.block)+1, -full*w.windowed)
}
