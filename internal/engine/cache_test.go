package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const size = 2 // tokens in a block

// holder is a sequence in the model: its tokens, in whole blocks, and the blocks that hold them.
type holder struct {
	tokens []int32
	blocks []int32
}

// TestCache runs random sequences against a model that remembers what each block holds. Blocks in
// use are never given out again, a matched block holds exactly the tokens asked for, and every
// block is free, idle or in use.
func TestCache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newBlockCache(rapid.IntRange(1, 12).Draw(t, "blocks"), size)
		// of each block: all tokens from the start of the sequence to its end
		content := map[int32][]int32{}
		var holders []*holder
		for range rapid.IntRange(1, 60).Draw(t, "actions") {
			switch action := rapid.IntRange(0, 2).Draw(t, "action"); {
			case action == 0:
				tokens := rapid.SliceOfN(rapid.Int32Range(0, 1), 0, 5*size).Draw(t, "tokens")
				if h := startSequence(t, c, tokens, content); h != nil {
					holders = append(holders, h)
				}
			case action == 1 && len(holders) > 0:
				i := rapid.IntRange(0, len(holders)-1).Draw(t, "who leaves")
				for _, b := range slices.Backward(holders[i].blocks) {
					c.Release(b)
				}
				holders = slices.Delete(holders, i, i+1)
			case action == 2 && len(holders) > 0:
				h := holders[rapid.IntRange(0, len(holders)-1).Draw(t, "who overwrites")]
				if n := len(h.blocks); n > 0 && !c.Shared(h.blocks[n-1]) {
					c.Forget(h.blocks[n-1])
					content[h.blocks[n-1]] = nil
					h.tokens = nil
				}
			}
			checkAccount(t, c, holders)
		}
	})
}

// start begins a sequence: what is known is reused, the rest allocated and made known.
func startSequence(t *rapid.T, c *blockCache, tokens []int32, content map[int32][]int32) *holder {
	h := &holder{tokens: tokens[:len(tokens)/size*size]}
	available := c.Available()
	var prefix prefixHash
	h.blocks, prefix = c.Match(tokens, nil)
	for i, b := range h.blocks {
		if !slices.Equal(content[b], tokens[:(i+1)*size]) {
			t.Fatalf("block %d was matched for %v but holds %v", b, tokens[:(i+1)*size], content[b])
		}
	}
	for end := (len(h.blocks) + 1) * size; end <= len(tokens); end += size {
		b, ok := c.Allocate()
		if !ok {
			if c.Available() != 0 {
				t.Fatalf("Allocate failed with %d of %d blocks available", c.Available(), available)
			}
			for _, b := range h.blocks {
				c.Release(b)
			}
			return nil
		}
		h.blocks = append(h.blocks, b)
		content[b] = slices.Clone(tokens[:end])
		prefix = c.Index(prefix, tokens[end-size:end], b)
	}
	return h
}

func checkAccount(t *rapid.T, c *blockCache, holders []*holder) {
	users := map[int32]int32{}
	for _, h := range holders {
		for _, b := range h.blocks {
			users[b]++
		}
	}
	for b := range int32(c.Blocks()) {
		if users[b] != c.users[b] {
			t.Fatalf("block %d has %d users, the account says %d", b, users[b], c.users[b])
		}
	}
	if c.Available() != c.Blocks()-len(users) {
		t.Fatalf("%d available and %d in use of %d", c.Available(), len(users), c.Blocks())
	}
}

// TestLongestIdleGoesFirst checks the order in which known blocks are sacrificed.
func TestLongestIdleGoesFirst(t *testing.T) {
	c := newBlockCache(3, size)
	for i := range int32(3) {
		b, _ := c.Allocate()
		c.Index(rootPrefix, []int32{i, i}, b)
	}
	for _, b := range []int32{1, 2, 0} {
		c.Release(b)
	}
	for _, want := range []int32{1, 2, 0} {
		if got, _ := c.Allocate(); got != want {
			t.Errorf("block %d was reused, want %d", got, want)
		}
	}
}

func TestReleaseTwicePanics(t *testing.T) {
	c := newBlockCache(1, size)
	b, _ := c.Allocate()
	c.Release(b)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	c.Release(b)
}

// TestSameContentTwice checks that a second block with known content goes back to the free ones.
func TestSameContentTwice(t *testing.T) {
	c := newBlockCache(2, size)
	a, _ := c.Allocate()
	b, _ := c.Allocate()
	p := c.Index(rootPrefix, []int32{1, 2}, a)
	if q := c.Index(rootPrefix, []int32{1, 2}, b); p != q {
		t.Errorf("two prefixes %d and %d for the same tokens", p, q)
	}
	c.Release(b)
	if len(c.free) != 1 {
		t.Error("the second block is not free")
	}
}

// TestScatter gives out every block once, in another order than that of memory, which the seed
// determines.
func TestScatter(t *testing.T) {
	take := func(seed uint64) []int32 {
		c := newBlockCache(50, 4)
		c.Scatter(seed)
		var blocks []int32
		for {
			b, ok := c.Allocate()
			if !ok {
				return blocks
			}
			blocks = append(blocks, b)
		}
	}
	a, b := take(1), take(2)
	if slices.IsSorted(a) || slices.Equal(a, b) || !slices.Equal(a, take(1)) {
		t.Errorf("blocks %v with one seed, %v with another", a, b)
	}
	slices.Sort(a)
	for i, block := range a {
		if block != int32(i) || len(a) != 50 {
			t.Fatalf("blocks %v", a)
		}
	}
}
