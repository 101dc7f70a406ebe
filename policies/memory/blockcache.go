package memory

import "github.com/llmsim/llmsim/sim"

// blockCache finds blocks by name, counts their users, and knows in which order those without any were left.
type blockCache struct {
	numbers map[uint64]int32
	blocks  []namedBlock // by number; 0 is the ring of unused blocks: its newer neighbour is the least recently used one
	spare   []int32      // numbers for reuse
	unused  int64
}

type namedBlock struct {
	name         uint64
	users        int32
	older, newer int32 // neighbours in the ring, while there is no user
}

func newBlockCache() blockCache {
	return blockCache{numbers: map[uint64]int32{}, blocks: make([]namedBlock, 1)}
}

func (c *blockCache) has(name uint64) bool {
	_, ok := c.numbers[name]
	return ok
}

// users returns the number of users of the block of that name, which exists.
func (c *blockCache) users(name uint64) int32 { return c.blocks[c.numbers[name]].users }

// use adds a user to the block of that name, which is made if it is not there.
func (c *blockCache) use(name uint64) int32 {
	number, ok := c.numbers[name]
	if !ok {
		number = c.number()
		c.numbers[name] = number
		c.blocks[number] = namedBlock{name: name}
	} else if c.blocks[number].users == 0 {
		c.unlink(number)
	}
	c.blocks[number].users++
	return number
}

// drop takes a user from a block, which stays.
func (c *blockCache) drop(number int32) {
	b := &c.blocks[number]
	if b.users--; b.users > 0 {
		return
	}
	b.older, b.newer = c.blocks[0].older, 0
	c.blocks[b.older].newer = number
	c.blocks[0].older = number
	c.unused++
}

// evict forgets the least recently used of the unused blocks.
func (c *blockCache) evict() {
	number := c.blocks[0].newer
	c.unlink(number)
	delete(c.numbers, c.blocks[number].name)
	c.spare = append(c.spare, number)
}

func (c *blockCache) unlink(number int32) {
	b := &c.blocks[number]
	c.blocks[b.older].newer = b.newer
	c.blocks[b.newer].older = b.older
	c.unused--
}

func (c *blockCache) number() int32 {
	if k := len(c.spare); k > 0 {
		number := c.spare[k-1]
		c.spare = c.spare[:k-1]
		return number
	}
	c.blocks = append(c.blocks, namedBlock{})
	return int32(len(c.blocks) - 1)
}

// contentReader names the blocks of a prompt one after another: the name of a block is the hash of its runs of tokens and of the
// name before it. The zero value is at the start.
type contentReader struct {
	segment, offset int
	name            uint64
}

// next returns the name of the next block, or false, and stays where it is, if the content ends before the block does.
func (r *contentReader) next(content []sim.Segment, block int) (uint64, bool) {
	at := *r
	for left := block; left > 0; {
		if at.segment == len(content) {
			return 0, false
		}
		s := &content[at.segment]
		n := min(left, s.Tokens-at.offset)
		at.name = hash(at.name ^ hash(s.ID^hash(uint64(at.offset)<<32|uint64(n))))
		left -= n
		if at.offset += n; at.offset == s.Tokens {
			at.segment, at.offset = at.segment+1, 0
		}
	}
	*r = at
	return at.name, true
}

// hash is the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection that spreads every bit.
func hash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
