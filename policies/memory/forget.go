package memory

// Forget implements sim.Forgetter. It drops the blocks that no sequence uses from every tier, since
// the replica failed or was switched off.
func (p *PrefixCache) Forget() {
	p.free += p.tree.tiers[0].unused
	for i := range p.tree.tiers { // each moves to the next, and is forgotten in the last
		p.tree.evict(int32(i), p.tree.tiers[i].unused)
	}
}
