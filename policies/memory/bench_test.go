package memory

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// Prompts like those of the Mooncake conversation trace: 7,000 tokens in segments of 512, of which
// a few are shared.
func mooncakePrompts(n int) []sim.Request {
	requests := make([]sim.Request, n)
	for i := range requests {
		r := sim.Request{ID: int64(i), Prompt: 7000, Output: 350}
		for left := r.Prompt; left > 0; left -= 512 {
			id := uint64(len(r.Content))
			if len(r.Content) >= i%14 {
				id += 1000 * uint64(i+1)
			}
			r.Content = append(r.Content, sim.Segment{ID: id, Tokens: min(512, left)})
		}
		requests[i] = r
	}
	return requests
}

// every lists the memories under test, for 28,000 blocks of 16 tokens.
func every(t testing.TB) map[string]sim.Memory {
	list := map[string]sim.Memory{}
	add := func(name string, m sim.Memory, err error) {
		testkit.OK(t, err)
		list[name] = m
	}
	const blocks, tokens = 28_000, 28_000 * 16
	paged, err := NewPaged(blocks, 16)
	add("paged", paged, err)
	prefix, err := NewPrefixCache(blocks, 16)
	add("prefix-cache", prefix, err)
	radix, err := NewPrefixCache(tokens, 1)
	add("radix", radix, err)
	offload, err := NewPrefixCache(blocks, 16, Tier{Blocks: 2 * blocks, Fetch: 1})
	add("offload", offload, err)
	windowed, err := NewWindowed(blocks, 16, Layers{Windowed: 32, Window: 4096})
	add("sliding-window", windowed, err)
	buddy, err := NewContiguous(tokens, 0, ReserveExact, true)
	add("contiguous-buddy", buddy, err)
	firstFit, err := NewContiguous(tokens, 0, ReserveExact, false)
	add("contiguous-first-fit", firstFit, err)
	return list
}

// serve takes a request through its life: found in the cache, stored in chunks, decoded to its end
// and released.
func serve(t testing.TB, m sim.Memory, s *sim.Sequence, r sim.Request) {
	*s = sim.Sequence{Request: r}
	s.Stored = m.Match(s)
	for s.Remaining() > 0 {
		n := min(s.Remaining(), 2048)
		if !m.Extend(s, n, 0) {
			t.Fatal("does not fit")
		}
		s.Stored += n
	}
	m.Join(0, s)
	for left := int64(s.Output - 1); left > 0; {
		n := m.Headroom(0, left)
		m.Advance(0, n)
		left -= n
	}
	s.Stored += s.Output - 1
	s.Generated = s.Output
	m.Leave(0, s)
	m.Release(s, true)
}

// One operation is a request, with the cache full.
func BenchmarkRequest(b *testing.B) {
	prompts := mooncakePrompts(2000)
	for name, m := range every(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var s sim.Sequence
			for i := range b.N {
				serve(b, m, &s, prompts[i%len(prompts)])
			}
		})
	}
}

// Once they are warm, memories allocate nothing.
func TestServingAllocatesNothing(t *testing.T) {
	prompts := mooncakePrompts(2000)
	for name, m := range every(t) {
		var s sim.Sequence
		next := 0
		one := func() {
			serve(t, m, &s, prompts[next%len(prompts)])
			next++
		}
		for range 2 * len(prompts) {
			one()
		}
		if n := testing.AllocsPerRun(len(prompts), one); n > 0 {
			t.Errorf("%s: %v allocations a request", name, n)
		}
	}
}
