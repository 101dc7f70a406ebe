package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// Contents are the blocks that a PrefixCache or a Pool keeps for later requests, so that another
// can begin with it.
type Contents struct {
	// Block is the number of tokens of a block.
	Block int `json:"block_tokens"`
	// Runs counts the runs of the simulator that led here, from 1.
	Runs uint64 `json:"runs"`
	// Tiers holds what is stored in each tier, the fastest first.
	Tiers [][]Stored `json:"tiers"`
}

// Stored is a run of blocks of a tier. The last used ones come first, and each comes after the run
// that is before it in its texts.
type Stored struct {
	// Text is stored in the blocks. It begins with the segment in which they begin, Offset tokens
	// before them.
	Text   []sim.Segment `json:"text"`
	Offset int           `json:"offset,omitempty"`
	Blocks int64         `json:"blocks"`
	// After is the run before it in its texts, counted from 1 through all tiers; 0 without one.
	After int `json:"after,omitempty"`
	// Uses is the number of its uses, and Age the time since the last; 0 where that does not
	// matter.
	Uses int32    `json:"uses"`
	Age  sim.Time `json:"age,omitempty"`
}

// Contents returns what the memory keeps. No sequence may hold any of it. Pinned texts go as others
// do from then on.
func (p *PrefixCache) Contents() (*Contents, error) {
	p.pins.release(&p.tree)
	p.expire()
	return p.tree.contents(p.runs + 1)
}

// Restore stores the contents of another memory, as far as there is room. The memory must be new.
// It returns an error, after which the memory is of no use, unless the contents are such as a
// memory with blocks of the same size can have.
func (p *PrefixCache) Restore(c *Contents) error {
	p.runs = c.Runs
	if err := p.tree.restore(c); err != nil {
		return err
	}
	p.free -= p.tree.tiers[0].unused
	p.free += p.tree.fit(p.capacity)
	if p.Through {
		p.copy()
	}
	return nil
}

// Filled returns the share of all blocks of the memory that hold something, in [0, 1].
func (p *PrefixCache) Filled() float64 {
	p.evictOwed()
	used, all := p.capacity-p.free, p.capacity
	for _, t := range p.tree.tiers[1:] {
		used, all = used+t.unused, all+t.Blocks
	}
	if p.Through {
		used += min(p.capacity-p.free, p.tree.tiers[1].Blocks-p.tree.tiers[1].unused)
	}
	return float64(used) / float64(all)
}

// Contents returns what the pool keeps.
func (p *Pool) Contents() (*Contents, error) { return p.tree.contents(1) }

// Restore stores the contents of another pool, as PrefixCache.Restore does.
func (p *Pool) Restore(c *Contents) error {
	if err := p.tree.restore(c); err != nil {
		return err
	}
	p.free -= p.tree.tiers[0].unused
	p.free += p.tree.fit(p.free + p.tree.tiers[0].unused)
	return nil
}

// contents lists the nodes of the tree, which must all be without users. Blocks without a name,
// which nobody can ask for, are left out.
func (t *runTree) contents(runs uint64) (*Contents, error) {
	c := &Contents{Block: t.block, Runs: runs}
	numbers := map[int32]int{0: 0}
	for tier := range t.tiers {
		list := []Stored{}
		for _, number := range t.unusedOf(int32(tier)) {
			n := &t.nodes[number]
			if n.name == 0 {
				continue
			}
			after, known := numbers[n.parent]
			if !known {
				return nil, errors.New("KV blocks are still in use")
			}
			end := n.seek(n.offset + int(n.blocks)*t.block - 1)
			s := Stored{Text: slices.Clone(n.list[:end.Segment+1]), Offset: n.offset,
				Blocks: n.blocks, After: after, Uses: n.uses}
			if t.order.ttl > 0 {
				s.Age = t.order.time() - n.left
			}
			list = append(list, s)
			numbers[number] = len(numbers)
		}
		c.Tiers = append(c.Tiers, list)
	}
	return c, nil
}

// unusedOf lists the nodes of a tier without users, the one that is overwritten last first.
func (t *runTree) unusedOf(tier int32) (list []int32) {
	if !t.order.ranks() {
		for n := t.nodes[tier].older; n != tier; n = t.nodes[n].older {
			list = append(list, n)
		}
		return list
	}
	entries := t.tiers[tier].heap
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := entries[i], entries[j]
		m, n := &t.nodes[a.number], &t.nodes[b.number] // parts of one node, if they rank equal
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.turn, a.turn),
			m.segment-n.segment, m.offset-n.offset)
	})
	for _, i := range order {
		list = append(list, entries[i].number)
	}
	return list
}

// restore makes nodes of what is stored, in a tree without any. Tiers that the tree does not have
// are left out. Tiers may then be too full, which fit mends.
func (t *runTree) restore(c *Contents) error {
	if len(t.nodes) > len(t.tiers) {
		return errors.New("there are KV blocks already")
	}
	if c.Block != t.block {
		return fmt.Errorf("found blocks of %d tokens, want %d", c.Block, t.block)
	}
	first := int32(len(t.tiers)) // the number of the first node
	for tier, list := range c.Tiers[:min(len(c.Tiers), len(t.tiers))] {
		for i := range list {
			number := int32(len(t.nodes))
			n, err := t.node(&list[i], first)
			if err != nil {
				return fmt.Errorf("run %d of tier %d: %w", i+1, tier+1, err)
			}
			n.tier = int32(tier)
			t.nodes[n.parent].children++
			t.nodes = append(t.nodes, n)
			t.byName.set(n.name, number)
		}
		for i := len(list); i > 0; i-- {
			t.link(int32(len(t.nodes) - 1 - len(list) + i))
		}
	}
	return nil
}

// node checks what is stored, and returns the node of it. The runs before it have the numbers from
// first on.
func (t *runTree) node(s *Stored, first int32) (runNode, error) {
	const most = 1 << 40 // tokens
	before := int32(len(t.nodes)) - first
	if s.Blocks < 1 || s.Blocks > most/int64(t.block) || s.Uses < 1 || s.Age < 0 {
		return runNode{}, errors.New("want blocks and uses from 1, and an age from 0")
	}
	if s.After < 0 || s.After > int(before) {
		return runNode{}, fmt.Errorf("it is after run %d, want one that comes first", s.After)
	}
	n := runNode{blocks: s.Blocks, unit: 1, uses: s.Uses, left: -s.Age}
	var at content.Cursor // where it begins
	ends, id := 0, uint64(0)
	if s.After > 0 {
		n.parent = first + int32(s.After) - 1
		of := &t.nodes[n.parent]
		last := of.seek(of.offset + int(of.blocks)*t.block - 1) // token
		at = content.Cursor{Segment: of.segment + last.Segment, Before: last.Before}
		ends, id = last.Offset+1, of.list[last.Segment].ID
	}
	switch {
	case s.Offset == 0 && s.After > 0:
		at.Segment++
		at.Before = content.After(at.Before, &sim.Segment{ID: id, Tokens: ends})
	case s.Offset != 0 && (s.Offset != ends || len(s.Text) == 0 || s.Text[0].ID != id):
		return runNode{}, errors.New("it does not begin where the run before it ends")
	}
	at.Offset = s.Offset
	tokens := -at.Offset
	for i := range s.Text {
		if s.Text[i].Tokens < 1 || s.Text[i].Tokens > most-max(0, tokens) {
			return runNode{}, fmt.Errorf("a text of %d tokens and more", s.Text[i].Tokens)
		}
		if tokens += s.Text[i].Tokens; i == 0 && tokens < 1 {
			return runNode{}, errors.New("it begins after its text")
		}
	}
	if int64(max(0, tokens)/t.block) < s.Blocks {
		return runNode{}, fmt.Errorf("%d tokens for %d blocks", tokens, s.Blocks)
	}
	n.segment, n.offset = at.Segment, at.Offset
	at.Segment, tokens = 0, int(s.Blocks)*t.block
	n.name = at.Name(s.Text, t.block)
	n.resume(0, at, s.Text, tokens)
	if _, twice := t.byName.find(n.name); twice {
		return runNode{}, errors.New("the run is there already")
	}
	return n, nil
}

// fit makes room in tiers that are too full, where the first has a number of blocks, and returns
// the number of blocks that left the first.
func (t *runTree) fit(blocks int64) int64 {
	for i := int32(len(t.tiers) - 1); i > 0; i-- {
		t.trim(i)
	}
	if excess := t.tiers[0].unused - blocks; excess > 0 {
		return t.evict(0, excess)
	}
	return 0
}
