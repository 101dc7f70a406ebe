package memory

// evict makes room of so many blocks in a tier, which has them unused. They move to the next tier, or are forgotten in the last.
func (t *runTree) evict(from int32, blocks int64) {
	for blocks > 0 {
		number := t.nodes[from].newer
		k := min(blocks, t.nodes[number].blocks)
		if to := from + 1; int(to) < len(t.tiers) && t.tiers[to].capacity > 0 {
			k = min(k, t.tiers[to].capacity)
			t.demote(number, k, to)
		} else {
			t.forget(number, k)
		}
		blocks -= k
	}
}

// forget drops the last blocks of an unused node.
func (t *runTree) forget(number int32, blocks int64) {
	n := &t.nodes[number]
	n.blocks -= blocks
	t.tiers[n.tier].unused -= blocks
	if n.blocks > 0 {
		return
	}
	t.unlink(number)
	t.remove(number)
}

// remove gives up the number of a node that is in no ring.
func (t *runTree) remove(number int32) {
	delete(t.byName, t.nodes[number].name)
	t.spare = append(t.spare, number)
}

// demote moves the last blocks of an unused node to the newest end of a lower tier.
func (t *runTree) demote(number int32, blocks int64, to int32) {
	if room := t.tiers[to].capacity - t.tiers[to].unused; room < blocks {
		t.evict(to, blocks-room)
	}
	if rest := t.nodes[number].blocks - blocks; rest > 0 {
		t.split(number, rest)
	}
	t.unlink(number)
	t.nodes[number].tier = to
	if newest := t.nodes[to].older; newest != to && t.follows(newest, number) {
		t.merge(number, newest)
		return
	}
	t.link(number)
}

// follows tells whether the blocks of a node go on where those of another end, so that they could be one.
func (t *runTree) follows(number, other int32) bool {
	n, o := &t.nodes[number], &t.nodes[other]
	if n.name == 0 || o.name == 0 {
		return n.name == o.name
	}
	return n.parent == other && n.segment == o.segment && n.before == o.before && n.offset == o.offset+int(o.blocks)*t.block
}

// merge joins an unused node, which is in no ring, with the one that follows it and is the newest of the same tier.
func (t *runTree) merge(number, next int32) {
	n, m := &t.nodes[number], &t.nodes[next]
	t.tiers[m.tier].unused += n.blocks
	m.blocks += n.blocks
	if m.name != 0 {
		delete(t.byName, m.name)
		m.name, m.offset, m.parent = n.name, n.offset, n.parent
		t.byName[m.name] = next
		n.name = 0
	}
	t.remove(number)
}
