package memory

import (
	"errors"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// Tiering says which blocks a PrefixCache keeps, and how they move between its tiers. The zero
// value keeps the blocks that were used last, moves a block down when its place is needed
// (write-back), and always fetches. At most one of Frequent, Next and TTL may be set. Through needs
// a lower tier, and Survives needs Through. NewTiered checks this; nothing changes it later.
type Tiering struct {
	// Frequent drops blocks that were used less often before others (LFU). Next drops those first
	// whose next use is furthest in the future (Belady, IBM Systems Journal 5(2), 1966): it returns
	// when the block of a name is used next. No order of eviction finds more.
	Frequent bool
	Next     func(block uint64) int64
	// TTL is the time after its last use at which a block is dropped, at least 0; 0 means never.
	TTL sim.Time
	// Through keeps a copy of each block of the accelerator in the first lower tier from the start
	// (write-through), so that the two together hold no more than that tier.
	Through bool
	// Survives keeps the lower tiers when the replica fails or is switched off, with all copies.
	Survives bool
	// Prefetch leaves what is below the first lower tier where it is, until Disk brings it. A
	// prompt that is admitted before that computes these tokens.
	Prefetch bool
	// Compute returns the time in which the accelerator computes tokens of a prompt after the given
	// number of stored ones. With it, blocks of a tier are fetched only where that is quicker than
	// computing them. Nil means that all are fetched.
	Compute func(stored, tokens int) sim.Time
}

func (t *Tiering) check(lower int) error {
	switch {
	case t.TTL < 0:
		return errors.New("a time to live below 0")
	case t.Frequent && t.Next != nil || t.TTL > 0 && (t.Frequent || t.Next != nil):
		return errors.New("blocks are dropped by frequency, next use or age: choose one")
	case t.Through && lower == 0, t.Survives && !t.Through:
		return errors.New("what survives a failure are copies in a lower tier, which " +
			"write-through makes")
	}
	return nil
}

// Clock implements sim.ClockedMemory.
func (p *PrefixCache) Clock(now func() sim.Time) { p.tree.order.now = now }

// copy makes room in the first lower tier for copies of the blocks on the accelerator.
func (p *PrefixCache) copy() {
	t := &p.tree
	t.tiers[1].copies = p.capacity - p.free
	t.trim(1)
}

// worth returns how many of the stored blocks of a text are to be used: all of them, or the blocks
// of the higher tiers only, where computing the others is quicker than fetching them.
func (p *PrefixCache) worth(s *sim.Sequence, text []sim.Segment, stored prefixMatch) int64 {
	if p.Compute == nil || stored.lower == 0 {
		return stored.blocks
	}
	best, least := int64(0), sim.Never
	choose := func(f prefixMatch) {
		tokens := int(f.blocks * p.block)
		if cost := f.fetch + p.Compute(tokens, s.Remaining()-tokens); cost <= least {
			best, least = f.blocks, cost
		}
	}
	var f prefixMatch
	var at content.Cursor
	tier, number, n := int32(0), int32(0), int64(0)
	for f.blocks < stored.blocks {
		number, n, at = p.tree.find(number, at, text, stored.blocks-f.blocks)
		if of := p.tree.nodes[number].tier; of != tier {
			choose(f)
			tier = of
		}
		p.tree.count(&f, number, n)
	}
	choose(f)
	return best
}

// fetches reports whether the tokens of s up to all, some of them here, are to be fetched in the
// given time: always, or where that is quicker than computing them.
func (p *PrefixCache) fetches(s *sim.Sequence, here, all int, fetch sim.Time) bool {
	return p.Compute == nil ||
		p.Compute(here, s.Remaining()-here) > fetch+p.Compute(all, s.Remaining()-all)
}

// above counts the leading blocks of a text that are stored above a tier, up to limit.
func (t *runTree) above(tier int32, text []sim.Segment, limit int64) (blocks int64) {
	var at content.Cursor
	for number := int32(0); blocks < limit; {
		n := int64(0)
		if number, n, at = t.find(number, at, text, limit-blocks); n == 0 ||
			t.nodes[number].tier >= tier {
			break
		}
		blocks += n
	}
	return blocks
}
