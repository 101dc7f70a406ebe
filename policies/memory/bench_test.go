package memory

import (
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// Prompts like those of the Mooncake conversation trace: 7,000 tokens in segments of 512, of which a few are shared.
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

// One operation is a request: found in the cache, stored, decoded to its end and released, with the cache full.
func BenchmarkRequest(b *testing.B) {
	prompts := mooncakePrompts(2000)
	for _, bc := range []struct {
		name string
		new  func() (sim.Memory, error)
	}{
		{"paged", func() (sim.Memory, error) { return NewPaged(28000, 16) }},
		{"prefix-cache", func() (sim.Memory, error) { return NewPrefixCache(28000, 16) }},
		{"radix", func() (sim.Memory, error) { return NewPrefixCache(28000*16, 1) }},
		{"contiguous-buddy", func() (sim.Memory, error) { return NewContiguous(28000*16, 0, ReserveExact, true) }},
		{"contiguous-first-fit", func() (sim.Memory, error) { return NewContiguous(28000*16, 0, ReserveExact, false) }},
		{"sliding-window", func() (sim.Memory, error) { return NewWindowed(28000, 16, Layers{Windowed: 32, Window: 4096}) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			m, err := bc.new()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var s sim.Sequence
			for i := range b.N {
				s = sim.Sequence{Request: prompts[i%len(prompts)]}
				s.Stored = m.Match(&s)
				for s.Remaining() > 0 {
					n := min(s.Remaining(), 2048)
					if !m.Extend(&s, n, 0) {
						b.Fatal("does not fit")
					}
					s.Stored += n
				}
				m.Join(0, &s)
				for left := int64(s.Output - 1); left > 0; {
					n := m.Headroom(0, left)
					m.Advance(0, n)
					left -= n
				}
				s.Stored += s.Output - 1
				s.Generated = s.Output
				m.Leave(0, &s)
				m.Release(&s, true)
			}
		})
	}
}
