package kvcache

import "slices"

// Prefix identifies the tokens of a sequence from its start to the end of a block. A number is
// never used again for other tokens, so what follows a forgotten prefix cannot be mistaken for
// something else.
type Prefix uint64

// Root is the empty prefix.
const Root Prefix = 0

// index finds blocks by content. Hashes only find candidates: the tokens are compared.
type index struct {
	blocks map[uint64]int32 // by hash of parent and tokens
	prefix []Prefix         // of each block; Root where nothing is known about it
	parent []Prefix
	tokens []int32 // of all blocks
	size   int     // tokens in a block
	next   Prefix
}

func newIndex(blocks, size int) index {
	return index{
		blocks: make(map[uint64]int32, blocks), prefix: make([]Prefix, blocks),
		parent: make([]Prefix, blocks),
		tokens: make([]int32, blocks*size), size: size, next: Root + 1,
	}
}

func (x *index) holds(block int32) bool { return x.prefix[block] != Root }

func (x *index) content(block int32) []int32 { return x.tokens[int(block)*x.size:][:x.size] }

func (x *index) find(parent Prefix, tokens []int32) (block int32, p Prefix, ok bool) {
	block, ok = x.blocks[hash(parent, tokens)]
	if !ok || x.parent[block] != parent || !slices.Equal(x.content(block), tokens) {
		return 0, Root, false
	}
	return block, x.prefix[block], true
}

// add makes block known. Of two contents with the same hash the later one is found.
func (x *index) add(parent Prefix, tokens []int32, block int32) Prefix {
	x.remove(block)
	h := hash(parent, tokens)
	if other, ok := x.blocks[h]; ok {
		x.prefix[other] = Root
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
		x.prefix[block] = Root
	}
}

// hash is FNV-1a (Fowler, Noll and Vo, 1991) over 32-bit units.
func hash(parent Prefix, tokens []int32) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ uint64(parent)) * prime
	for _, t := range tokens {
		h = (h ^ uint64(uint32(t))) * prime
	}
	return h
}
