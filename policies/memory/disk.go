package memory

import (
	"errors"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Disk is the lowest tier of a PrefixCache with Prefetch, from which blocks come up to the first
// lower tier before a request is queued (Gao et al., CachedAttention, USENIX ATC 2024, section
// 3.3, look-ahead prefetching; SGLang's HiCache with hicache-storage-prefetch-policy
// wait_complete or timeout). It holds nothing itself: what it has are the blocks of the cache below
// tier 1. NewDisk sets the fields; they do not change.
type Disk struct {
	cache *PrefixCache // with Prefetch, and at least tiers 0 to 2
	block float64      // the size of a block in bytes, above 0
	fetch sim.Time     // in which a block is read where nothing else is under way, at least 0
}

// NewDisk returns the disk of a memory with Prefetch and two lower tiers. A block has the given
// number of bytes, more than 0, and is read in the given time.
func NewDisk(p *PrefixCache, block float64, fetch sim.Time) (*Disk, error) {
	if !p.Prefetch || len(p.tree.tiers) < 3 || !(block > 0) || fetch < 0 {
		return nil, errors.New("a disk needs a memory that prefetches, a tier above it, blocks " +
			"of more than 0 bytes, and a time of 0 or more to read one")
	}
	return &Disk{p, block, fetch}, nil
}

// Wanted implements sim.PrefetchedMemory.
func (d *Disk) Wanted(s *sim.Sequence) int64 {
	c := d.cache
	text := c.text(s)
	c.expire()
	all, low := c.tree.liftable(text, (int64(s.Remaining())-1)/c.block, math.MaxInt64)
	if low == 0 {
		return 0
	}
	here := int(c.tree.above(2, text, all) * c.block)
	fetch := sim.Time(low) * (d.fetch + c.tree.tiers[1].Fetch)
	if !c.fetches(s, here, int(all*c.block), fetch) {
		return 0
	}
	return int64(float64(low) * d.block)
}

// Bring implements sim.PrefetchedMemory.
func (d *Disk) Bring(s *sim.Sequence) { d.bring(s, math.MaxInt64) }

// BringPart implements sim.PartMemory. Of the last block that came, a part is of no use.
func (d *Disk) BringPart(s *sim.Sequence, bytes int64) {
	d.bring(s, int64(math.Ceil(float64(bytes+1)/d.block))-1)
}

func (d *Disk) bring(s *sim.Sequence, most int64) {
	c := d.cache
	c.evictOwed()
	text := c.text(s)
	all, low := c.tree.liftable(text, (int64(s.Remaining())-1)/c.block, most)
	if low > 0 {
		c.tree.storeInHost(text, all)
	}
}
