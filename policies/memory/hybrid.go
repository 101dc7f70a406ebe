package memory

import (
	"errors"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// Hybrid is a Windowed memory in which prompts share their beginnings (vLLM's hybrid KV cache
// manager: vllm/v1/core/kv_cache_coordinator.py, find_longest_cache_hit, v0.15). In layers that
// grow with the context, full blocks are shared as in PrefixCache. A prompt can continue after
// shared blocks only if the other layers have what they need at that point: the blocks that a
// window sees, and the state of recurrent layers. These form a checkpoint. Checkpoints are kept
// where texts may differ from then on: at the last full block of each segment of a prompt, of an
// answer that later prompts repeat, and of what a preempted sequence has stored.
//
// Unused blocks and checkpoints are in one queue, and are overwritten in its order. A sequence that
// continues from a checkpoint has a copy of it. vLLM instead shares the blocks until the window has
// passed them.
type Hybrid struct {
	Windowed
	// states reports whether checkpoints are kept even if layers have state of fixed size.
	states bool
	// tree has the shared blocks and the checkpoints. Units without users count in its first tier,
	// so that a sequence can take free + tree.tiers[0].unused.
	tree runTree
	// holders replace unitMemory.held; blockHolder.others counts units, not blocks.
	holders sim.PerSequence[blockHolder]
	words   []sim.Segment // for reuse by wholeText
	runs    uint64        // of the simulator before, see Continue
}

// NewHybrid returns a memory that holds the given number of blocks, each of blockSize tokens in all
// layers. Without states nothing is shared in models with recurrent layers.
func NewHybrid(blocks int64, blockSize int, l Layers, states bool) (*Hybrid, error) {
	w, err := NewWindowed(blocks, blockSize, l)
	if err != nil {
		return nil, err
	}
	h := &Hybrid{Windowed: *w, states: states, tree: newRunTree(blockSize, nil)}
	h.tree.unit = w.full
	return h, nil
}

// shares reports whether prompts share anything. Without layers that grow there would be no blocks
// to find.
func (h *Hybrid) shares() bool { return h.full > 0 && (h.fixed == 0 || h.states) }

// Match implements sim.Memory. It finds the longest stored beginning that ends at a checkpoint.
func (h *Hybrid) Match(s *sim.Sequence) int {
	if !h.shares() {
		return 0
	}
	text := h.text(s)
	blocks := h.tree.probe(text, (int64(s.Remaining())-1)/h.block).blocks
	best := int64(0)
	for end := range h.boundaries(text, 0, blocks) {
		if h.kept(text, end) {
			best = end
		}
	}
	if h.kept(text, blocks) {
		best = blocks
	}
	return int(best * h.block)
}

// kept reports whether there is a checkpoint after the given number of blocks of a text.
func (h *Hybrid) kept(text []sim.Segment, blocks int64) bool {
	_, kept := h.tree.byName.find(checkpointName(text, blocks*h.block))
	return kept
}

// text describes the tokens of s that another request may find again.
func (h *Hybrid) text(s *sim.Sequence) []sim.Segment {
	if s.Preemptions > 0 {
		h.words = wholeText(h.words, s, h.runs)
		return h.words
	}
	return s.Content
}

// boundaries yields the blocks after which a segment of the text ends, or in which it does, above
// from and up to to.
func (h *Hybrid) boundaries(text []sim.Segment, from, to int64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		tokens := int64(0)
		for i := range text {
			tokens += int64(text[i].Tokens)
			if end := tokens / h.block; end > from && end <= to {
				if from = end; !yield(end) {
					return
				}
			}
		}
	}
}

// checkpointName names the checkpoint after a number of tokens of a text, by the last of them. The
// name differs from the names of blocks.
func checkpointName(text []sim.Segment, tokens int64) uint64 {
	if tokens == 0 {
		return 0
	}
	var at content.Cursor
	at.Skip(text, int(tokens-1))
	return content.Hash(^content.BlockName(at.Before, text[at.Segment].ID, at.Offset))
}

// Extend implements sim.Memory.
func (h *Hybrid) Extend(s *sim.Sequence, n int, reserve int64) bool {
	text, total := h.text(s), h.Units(s.Stored+n)
	var stored prefixMatch
	held, holder := int64(0), h.holders.Of(s)
	if !holder.begun {
		stored = h.tree.probe(text, int64(s.Stored)/h.block)
		held = stored.blocks * h.full
	} else {
		held = holder.others + holder.blocks*h.full
	}
	need := max(0, total-held)
	if h.available()-stored.unused-need < reserve {
		return false
	}
	// what comes back from elsewhere has its last window only
	whole := holder.begun || s.Swapped == 0
	if !holder.begun {
		holder.begun = true
		h.tree.share(&holder.path, text, stored.blocks)
		if s.Stored > 0 {
			h.touch(checkpointName(text, int64(s.Stored)))
		}
	}
	h.take(need)
	holder.others += need
	sure := min(s.Stored+n, s.Prompt+s.Generated)
	h.name(holder, text, sure)
	if whole && h.shares() {
		for end := range h.boundaries(text, int64(s.Stored)/h.block, int64(sure)/h.block) {
			h.storeCheckpoint(text, end, nil)
		}
	}
	return true
}

// name names the blocks in layers that grow which are full when the given number of tokens are
// stored, as far as the text goes.
func (h *Hybrid) name(holder *blockHolder, text []sim.Segment, stored int) {
	if !h.shares() {
		return
	}
	full := int64(stored)/h.block - holder.blocks
	shared := h.tree.share(&holder.path, text, full)
	h.free += shared.blocks * h.full
	added := h.tree.add(&holder.path, text, full-shared.blocks)
	holder.others -= (shared.blocks + added) * h.full
}

// storeCheckpoint leaves a checkpoint after the given number of blocks of a text: as a copy, or of
// what a sequence gives back, whose units are owned.
func (h *Hybrid) storeCheckpoint(text []sim.Segment, blocks int64, owned *int64) {
	units := h.windowed*min(blocks, h.limit) + h.fixed
	name := checkpointName(text, blocks*h.block)
	if _, there := h.tree.byName.find(name); there {
		h.touch(name)
		return
	}
	switch {
	case owned != nil && *owned >= units:
		*owned -= units
	case h.available() < units:
		return
	default:
		h.take(units)
	}
	number := h.tree.number()
	h.tree.nodes[number] = runNode{name: name, blocks: 1, unit: units, offset: -1}
	h.tree.nodes[0].children++
	h.tree.byName.set(name, number)
	h.tree.link(number)
}

// touch makes a checkpoint the last in the queue, if it is still there.
func (h *Hybrid) touch(name uint64) {
	if number, there := h.tree.byName.find(name); there {
		h.tree.unlink(number)
		h.tree.link(number)
	}
}

// Release implements sim.Memory.
func (h *Hybrid) Release(s *sim.Sequence, done bool) {
	holder := h.holders.Of(s)
	if h.shares() && (!done || s.Answer != 0) {
		h.words = wholeText(h.words, s, h.runs)
		h.name(holder, h.words, s.Stored)
		if end := int64(s.Stored) / h.block; end > 0 {
			h.storeCheckpoint(h.words, end, &holder.others)
		}
	}
	h.tree.releaseUnnamed(holder.others)
	h.tree.leave(&holder.path)
	holder.others, holder.begun = 0, false
}

// Leave implements sim.Memory.
func (h *Hybrid) Leave(lane int, s *sim.Sequence) {
	h.stopGrowing(lane, s)
	holder := h.holders.Of(s)
	holder.others = h.Units(s.Context()) - holder.blocks*h.full
}

// available returns the number of units that can be taken: empty ones, and ones without users.
func (h *Hybrid) available() int64 { return h.free + h.tree.tiers[0].unused }

// take uses up units, empty ones first.
func (h *Hybrid) take(n int64) {
	if h.free < n {
		h.free += h.tree.evict(0, n-h.free)
	}
	h.free -= n
}

// Headroom implements sim.Memory. It ends where a window is full, since sequences grow by less from
// then on.
func (h *Hybrid) Headroom(lane int, limit int64) int64 {
	if lane < len(h.filling) {
		limit = h.filling[lane].next(limit)
	}
	return h.headroom(lane, limit, h.available())
}

// Advance implements sim.Memory.
func (h *Hybrid) Advance(lane int, steps int64) { h.AdvanceSums(lane, steps) }

// AdvanceSums implements sim.SummingMemory.
func (h *Hybrid) AdvanceSums(lane int, steps int64) (units, linear, pairs int64) {
	units, linear, pairs = h.sums(lane, steps)
	h.take(units)
	h.pass(lane, steps)
	return units, linear, pairs
}

// Used implements sim.Memory. Unused blocks and checkpoints count as free.
func (h *Hybrid) Used() int64 { return h.capacity - h.available() }

// Forget implements sim.Forgetter. It drops what no sequence uses, since the replica failed or was
// switched off.
func (h *Hybrid) Forget() { h.free += h.tree.evict(0, h.tree.tiers[0].unused) }

// Filled returns the share of the memory that holds something, in [0, 1].
func (h *Hybrid) Filled() float64 { return float64(h.capacity-h.free) / float64(h.capacity) }

// Continue takes over what another memory of the same size and layers holds at the end of a run,
// when no sequence uses any of it. The memory must be new, and the other is of no use afterwards.
func (h *Hybrid) Continue(other *Hybrid) error {
	if other.capacity != h.capacity || other.block != h.block || other.Used() != 0 {
		return errors.New("want a memory of the same size that no sequence uses")
	}
	h.tree, h.free, h.runs = other.tree, other.free, other.runs+1
	return nil
}
