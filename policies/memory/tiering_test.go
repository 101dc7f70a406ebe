package memory_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// branches draws texts that are paths in a tree, each with a last block of its own, as blocks.
func branches(t *rapid.T) (texts [][]uint64) {
	for id := range rapid.IntRange(1, 60).Draw(t, "requests") {
		name, blocks := uint64(1), []uint64(nil)
		for range rapid.IntRange(0, 4).Draw(t, "shared") {
			name = name*4 + rapid.Uint64Range(0, 2).Draw(t, "branch")
			blocks = append(blocks, name)
		}
		texts = append(texts, append(blocks, uint64(id+1)<<32))
	}
	return texts
}

// serveOne serves a text by itself, and returns how many of its blocks were found.
func serveOne(t *rapid.T, m *memory.PrefixCache, id int, blocks []uint64) (found int) {
	q := &sim.Sequence{Request: sim.Request{ID: int64(id), Output: 1}}
	for _, b := range blocks {
		q.Content = append(q.Content, sim.Segment{ID: b, Tokens: tierBlock})
	}
	q.Prompt = tierBlock * len(blocks)
	q.Stored = m.Match(q)
	found = q.Stored / tierBlock
	if !m.Extend(q, q.Prompt-q.Stored, 0) {
		t.Fatalf("request %d has no room", id)
	}
	q.Stored = q.Prompt
	m.Release(q, true)
	return found
}

const tierBlock = 16

// kept is a cache in the plainest form: blocks with what decides about their place, in which the
// one with the lowest rank goes first, and of equal ones the one that was left first.
type kept map[uint64]*keptBlock

type keptBlock struct{ rank, turn, uses int }

// serve returns the leading blocks that are there, makes room, and uses all blocks, the last first.
func (k kept) serve(blocks []uint64, size, at int, rank func(b uint64, uses int) int) (found int) {
	for found < len(blocks) && k[blocks[found]] != nil {
		found++
	}
	for missing := len(blocks) - found; len(k)+missing > size; {
		var first uint64
		for b, of := range k {
			if slices.Contains(blocks[:found], b) {
				continue
			}
			if v := k[first]; v == nil || cmp.Or(cmp.Compare(of.rank, v.rank),
				cmp.Compare(of.turn, v.turn)) < 0 {
				first = b
			}
		}
		delete(k, first)
	}
	for i, b := range slices.Backward(blocks) {
		of := k[b]
		if of == nil {
			of = &keptBlock{}
			k[b] = of
		}
		of.uses++
		of.rank, of.turn = rank(b, of.uses), at*16-i
	}
	return found
}

// Every order of eviction finds exactly what the plainest cache finds, and none finds more than the
// one that knows the future.
func TestEvictionOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(5, 20).Draw(t, "blocks")
		texts := branches(t)
		now := 0
		next := func(b uint64) int {
			after := slices.IndexFunc(texts[now+1:], func(o []uint64) bool {
				return slices.Contains(o, b)
			})
			if after < 0 {
				return 1000
			}
			return now + 1 + after
		}
		byName := map[uint64]uint64{} // what the memory calls a block that begins a run
		total := map[string]int{}
		for name, c := range map[string]struct {
			tiering memory.Tiering
			rank    func(b uint64, uses int) int
		}{
			"lru": {memory.Tiering{}, func(uint64, int) int { return 0 }},
			"lfu": {memory.Tiering{Frequent: true}, func(_ uint64, uses int) int { return uses }},
			"belady": {memory.Tiering{Next: func(b uint64) int64 { return int64(next(byName[b])) }},
				func(b uint64, _ int) int { return -next(b) }},
		} {
			m, err := memory.NewTiered(int64(size), tierBlock, c.tiering)
			testkit.OK(t, err)
			for _, blocks := range texts {
				memory.NameBlocks(blocks, tierBlock, byName)
			}
			plain := kept{}
			for id, blocks := range texts {
				now = id
				want := plain.serve(blocks, size, id, c.rank)
				found := serveOne(t, m, id, blocks)
				if found != want {
					t.Fatalf("%s: request %d finds %d blocks, want %d", name, id, found, want)
				}
				total[name] += found
			}
		}
		if total["belady"] < max(total["lru"], total["lfu"]) {
			t.Fatalf("blocks found: %v", total)
		}
	})
}

// Requests find no more in any tiers, with any order of eviction, than in one memory of the same
// size that knows the future.
func TestBeladyBoundsTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.IntRange(5, 12).Draw(t, "blocks")
		size, lower := top, []memory.Tier(nil)
		for range rapid.IntRange(1, 3).Draw(t, "tiers") {
			n := rapid.IntRange(1, 8).Draw(t, "tier")
			size, lower = size+n, append(lower, memory.Tier{Blocks: int64(n)})
		}
		texts := branches(t)
		now, byName := 0, map[uint64]uint64{}
		for _, blocks := range texts {
			memory.NameBlocks(blocks, tierBlock, byName)
		}
		next := func(name uint64) int64 {
			for after := now + 1; after < len(texts); after++ {
				if slices.Contains(texts[after], byName[name]) {
					return int64(after)
				}
			}
			return 1000
		}
		found := func(blocks int, order memory.Tiering, lower ...memory.Tier) (sum int) {
			m, err := memory.NewTiered(int64(blocks), tierBlock, order, lower...)
			testkit.OK(t, err)
			for id := range texts {
				now = id
				sum += serveOne(t, m, id, texts[id])
			}
			return sum
		}
		bound := found(size, memory.Tiering{Next: next})
		for name, order := range map[string]memory.Tiering{"lru": {}, "lfu": {Frequent: true},
			"through": {Through: true}} {
			if n := found(top, order, lower...); n > bound {
				t.Fatalf("%s finds %d blocks, with the future known %d", name, n, bound)
			}
		}
	})
}

// With write-through, the accelerator and host memory together hold the last used blocks up to the
// size of the larger of them, and all copies survive a failure.
func TestWriteThroughHoldsCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.IntRange(6, 20).Draw(t, "blocks")
		host := rapid.IntRange(1, 40).Draw(t, "host")
		disk := rapid.IntRange(1, 20).Draw(t, "disk")
		m, err := memory.NewTiered(int64(top), tierBlock,
			memory.Tiering{Through: true, Survives: true},
			memory.Tier{Blocks: int64(host)}, memory.Tier{Blocks: int64(disk)})
		testkit.OK(t, err)
		var order stack
		texts := branches(t)
		for id, blocks := range texts {
			depths := order.serve(blocks)
			want := hits(depths, max(top, host)+disk)
			if found := serveOne(t, m, id, blocks); found != want {
				t.Fatalf("request %d finds %d blocks, want %d: depths %v", id, found, want, depths)
			}
		}
		m.Forget()
		q := &sim.Sequence{Request: sim.Request{ID: 1000, Output: 1}}
		last := append(slices.Clone(texts[len(texts)-1]), 1)
		for _, b := range last {
			q.Content = append(q.Content, sim.Segment{ID: b, Tokens: tierBlock})
		}
		q.Prompt = tierBlock * len(last)
		want := hits(order.serve(last), host+disk) * tierBlock
		if found := m.Match(q); found != want || m.Used() != 0 {
			t.Fatalf("after a failure %d tokens are found, want %d; %d in use", found, want,
				m.Used())
		}
	})
}

// A block is found until its time is over, and no longer.
func TestBlocksLiveForATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ttl := sim.Time(rapid.IntRange(1, 20).Draw(t, "ttl"))
		m, err := memory.NewTiered(1000, tierBlock, memory.Tiering{TTL: ttl},
			memory.Tier{Blocks: 1000})
		testkit.OK(t, err)
		now := sim.Time(0)
		m.Clock(func() sim.Time { return now })
		used := map[uint64]sim.Time{}
		for id, blocks := range branches(t) {
			now += sim.Time(rapid.IntRange(0, 8).Draw(t, "later"))
			want := 0
			for want < len(blocks) {
				if at, there := used[blocks[want]]; !there || now-at > ttl {
					break
				}
				want++
			}
			if found := serveOne(t, m, id, blocks); found != want {
				t.Fatalf("request %d finds %d blocks, want %d", id, found, want)
			}
			for _, b := range blocks {
				used[b] = now
			}
		}
		if all, _ := m.Slots(); all != 1000*tierBlock || m.Used() != 0 {
			t.Fatalf("%d slots, %d in use", all, m.Used())
		}
	})
}

// Blocks of a tier are fetched exactly where that is quicker than computing them.
func TestFetchOrCompute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fetch := sim.Time(rapid.IntRange(1, 100).Draw(t, "fetch"))
		token := sim.Time(rapid.IntRange(0, 8).Draw(t, "token"))
		m, err := memory.NewTiered(10, tierBlock, memory.Tiering{
			Compute: func(_, tokens int) sim.Time { return token * sim.Time(tokens) },
		}, memory.Tier{Blocks: 100, Fetch: fetch})
		testkit.OK(t, err)
		first := []uint64{1, 2, 3, 4, 5, 6}
		serveOne(t, m, 0, first)
		serveOne(t, m, 1, []uint64{11, 12, 13, 14, 15, 16, 17, 18})
		want := 2 // the others were moved down, the last first
		if fetch <= token*tierBlock {
			want = 6
		}
		if found := serveOne(t, m, 2, append(first, 7)); found != want {
			t.Fatalf("%d blocks are used, want %d", found, want)
		}
	})
}
