// Package kvcache keeps account of the blocks of a paged KV cache: which are free, which sequences
// share them, and which hold a known prefix (Kwon et al. 2023, arXiv:2309.06180). It knows block
// numbers only; the memory is elsewhere.
package kvcache

import (
	"fmt"
	"math/rand/v2"
)

// Cache is the account of a number of blocks. A block is free, used by one or more sequences, or
// idle: unused but still holding a prefix that a later sequence may reuse. Idle blocks are reused
// for other content, the longest idle first, when no free one is left.
type Cache struct {
	tokens int // in a block
	users  []int32
	free   []int32
	index  index
	idle   list
}

// New returns the account of blocks blocks of tokens tokens each, all free.
func New(blocks, tokens int) *Cache {
	c := &Cache{tokens: tokens, users: make([]int32, blocks), free: make([]int32, blocks),
		index: newIndex(blocks, tokens), idle: newList(blocks)}
	for i := range c.free {
		c.free[i] = int32(blocks - 1 - i) // block 0 is given out first
	}
	return c
}

// Scatter makes the free blocks be given out in a random order, as after long service: neighbours
// in memory are read faster than blocks that lie anywhere.
func (c *Cache) Scatter(seed uint64) {
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(c.free),
		func(i, j int) { c.free[i], c.free[j] = c.free[j], c.free[i] })
}

// Blocks returns the number of blocks.
func (c *Cache) Blocks() int { return len(c.users) }

// Available returns the number of blocks that Allocate can give: free and idle ones.
func (c *Cache) Available() int { return len(c.free) + c.idle.length }

// Allocate returns a block for one user, or false when all blocks are in use.
func (c *Cache) Allocate() (block int32, ok bool) {
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
func (c *Cache) Release(block int32) {
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
func (c *Cache) Shared(block int32) bool { return c.users[block] > 1 }

// Index makes known that a block in use holds these tokens, a whole block of them, after the prefix
// parent, and returns the prefix that ends with them. When the prefix is known already the block
// stays unknown.
func (c *Cache) Index(parent Prefix, tokens []int32, block int32) Prefix {
	if _, p, ok := c.index.find(parent, tokens); ok {
		return p
	}
	return c.index.add(parent, tokens, block)
}

// Forget makes a block unknown, because its content is about to change.
func (c *Cache) Forget(block int32) { c.index.remove(block) }

// Match finds the longest known prefix of tokens in whole blocks. It appends the blocks to blocks,
// as used by one sequence more, and returns them with the prefix.
func (c *Cache) Match(tokens []int32, blocks []int32) ([]int32, Prefix) {
	prefix := Root
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
