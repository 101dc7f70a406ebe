package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// blockCache keeps account of the blocks of a paged KV cache (Kwon et al. 2023, arXiv:2309.06180).
// It knows block numbers only; gpt2.KV holds the keys and values. A block is free, used by one or
// more sequences, or idle: unused but still holding a prefix that a later sequence may reuse. Idle
// blocks are reused for other content, the longest idle first, when no free one is left.
type blockCache struct {
	tokens int // in a block
	users  []int32
	free   []int32
	index  index
	idle   list
}

// newBlockCache returns the account of blocks blocks of tokens tokens each, all free.
func newBlockCache(blocks, tokens int) *blockCache {
	c := &blockCache{tokens: tokens, users: make([]int32, blocks), free: make([]int32, blocks),
		index: newIndex(blocks, tokens), idle: newList(blocks)}
	for i := range c.free {
		c.free[i] = int32(blocks - 1 - i) // block 0 is given out first
	}
	return c
}

// Scatter makes the free blocks be given out in a random order, as after long service: neighbours
// in memory are read faster than blocks that lie anywhere.
func (c *blockCache) Scatter(seed uint64) {
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(c.free),
		func(i, j int) { c.free[i], c.free[j] = c.free[j], c.free[i] })
}

// Blocks returns the number of blocks.
func (c *blockCache) Blocks() int { return len(c.users) }

// Available returns the number of blocks that Allocate can give: free and idle ones.
func (c *blockCache) Available() int { return len(c.free) + c.idle.length }

// Allocate returns a block for one user, or false when all blocks are in use.
func (c *blockCache) Allocate() (block int32, ok bool) {
	if n := len(c.free); n > 0 {
		block = c.free[n-1]
		c.free = c.free[:n-1]
	} else if c.idle.length > 0 {
		block = c.idle.first()
		c.idle.remove(block)
		c.index.remove(block)
	} else {
		return 0, false
	}
	c.users[block] = 1
	return block, true
}

// Release gives back one use of a block. It panics when the block is not in use.
func (c *blockCache) Release(block int32) {
	if c.users[block] == 0 {
		panic(fmt.Sprintf("kvcache: block %d released twice", block))
	}
	c.users[block]--
	if c.users[block] > 0 {
		return
	}
	if c.index.holds(block) {
		c.idle.append(block)
	} else {
		c.free = append(c.free, block)
	}
}

// Shared reports whether more than one sequence uses the block.
func (c *blockCache) Shared(block int32) bool { return c.users[block] > 1 }

// Index makes known that a block in use holds these tokens, a whole block of them, after the prefix
// parent, and returns the prefix that ends with them. When the prefix is known already the block
// stays unknown.
func (c *blockCache) Index(parent prefixHash, tokens []int32, block int32) prefixHash {
	if _, p, ok := c.index.find(parent, tokens); ok {
		return p
	}
	return c.index.add(parent, tokens, block)
}

// Forget makes a block unknown, because its content is about to change.
func (c *blockCache) Forget(block int32) { c.index.remove(block) }

// Match finds the longest known prefix of tokens in whole blocks. It appends the blocks to blocks,
// as used by one sequence more, and returns them with the prefix.
func (c *blockCache) Match(tokens []int32, blocks []int32) ([]int32, prefixHash) {
	prefix := rootPrefix
	for len(tokens) >= c.tokens {
		block, next, ok := c.index.find(prefix, tokens[:c.tokens])
		if !ok {
			break
		}
		if c.users[block] == 0 {
			c.idle.remove(block)
		}
		c.users[block]++
		blocks = append(blocks, block)
		prefix, tokens = next, tokens[c.tokens:]
	}
	return blocks, prefix
}

// list is a doubly linked list of blocks, in order of arrival.
type list struct {
	after, before []int32 // of each block; the last element of each is the list's own end
	length        int
}

func newList(blocks int) list {
	l := list{after: make([]int32, blocks+1), before: make([]int32, blocks+1)}
	l.after[blocks], l.before[blocks] = int32(blocks), int32(blocks)
	return l
}

func (l *list) end() int32 { return int32(len(l.after) - 1) }

// first returns the block that arrived first; the list must not be empty.
func (l *list) first() int32 { return l.after[l.end()] }

func (l *list) append(block int32) {
	end := l.end()
	last := l.before[end]
	l.after[last], l.before[block] = block, last
	l.after[block], l.before[end] = end, block
	l.length++
}

func (l *list) remove(block int32) {
	l.after[l.before[block]], l.before[l.after[block]] = l.after[block], l.before[block]
	l.length--
}

// prefixHash identifies the tokens of a sequence from its start to the end of a block. A number is
// never used again for other tokens, so what follows a forgotten prefix cannot be mistaken for
// something else.
type prefixHash uint64

// rootPrefix is the hash of the empty prefix.
const rootPrefix prefixHash = 0

// index finds blocks by content. Hashes only find candidates: the tokens are compared.
type index struct {
	blocks map[uint64]int32 // by hash of parent and tokens
	prefix []prefixHash     // of each block; Root where nothing is known about it
	parent []prefixHash
	tokens []int32 // of all blocks
	size   int     // tokens in a block
	next   prefixHash
}

func newIndex(blocks, size int) index {
	return index{
		blocks: make(map[uint64]int32, blocks), prefix: make([]prefixHash, blocks),
		parent: make([]prefixHash, blocks),
		tokens: make([]int32, blocks*size), size: size, next: rootPrefix + 1,
	}
}

func (x *index) holds(block int32) bool { return x.prefix[block] != rootPrefix }

func (x *index) content(block int32) []int32 { return x.tokens[int(block)*x.size:][:x.size] }

func (x *index) find(parent prefixHash, tokens []int32) (block int32, p prefixHash, ok bool) {
	block, ok = x.blocks[hash(parent, tokens)]
	if !ok || x.parent[block] != parent || !slices.Equal(x.content(block), tokens) {
		return 0, rootPrefix, false
	}
	return block, x.prefix[block], true
}

// add makes block known. Of two contents with the same hash the later one is found.
func (x *index) add(parent prefixHash, tokens []int32, block int32) prefixHash {
	x.remove(block)
	h := hash(parent, tokens)
	if other, ok := x.blocks[h]; ok {
		x.prefix[other] = rootPrefix
	}
	x.blocks[h] = block
	x.prefix[block], x.parent[block] = x.next, parent
	copy(x.content(block), tokens)
	x.next++
	return x.prefix[block]
}

func (x *index) remove(block int32) {
	if x.holds(block) {
		delete(x.blocks, hash(x.parent[block], x.content(block)))
		x.prefix[block] = rootPrefix
	}
}

// hash is FNV-1a (Fowler, Noll and Vo, 1991) over 32-bit units.
func hash(parent prefixHash, tokens []int32) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ uint64(parent)) * prime
	for _, t := range tokens {
		h = (h ^ uint64(uint32(t))) * prime
	}
	return h
}
