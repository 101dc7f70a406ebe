package memory

// Forget implements sim.Forgetter. It drops the blocks that no sequence uses from every tier, since
// the replica failed or was switched off. With Survives, the lower tiers keep what they have.
func (p *PrefixCache) Forget() {
	p.evictOwed()
	p.pins.release(&p.tree)
	if p.Survives {
		p.tree.tiers[1].copies = 0
		p.free += p.tree.evict(0, p.tree.tiers[0].unused)
		return
	}
	p.free += p.tree.tiers[0].unused
	for i := range p.tree.tiers { // each moves to the next, and is forgotten in the last
		p.tree.evict(int32(i), p.tree.tiers[i].unused)
	}
}
