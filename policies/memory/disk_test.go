package memory_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// A prompt finds nothing on disk until its blocks are brought. Then it finds all that is stored,
// where host memory has room for its text, and the bytes that came are those of the blocks that are
// found in addition. Of a read that ends early it finds the whole blocks. With less room it never
// finds fewer blocks than before.
func TestDiskIsPrefetched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.Int64Range(1, 12).Draw(t, "host")
		m, err := memory.NewTiered(8, tierBlock, memory.Tiering{Prefetch: true},
			memory.Tier{Blocks: host}, memory.Tier{Blocks: 1000})
		testkit.OK(t, err)
		disk, err := memory.NewDisk(m, 10, sim.Microsecond)
		testkit.OK(t, err)
		var all stack
		for id, blocks := range branches(t) {
			q := &sim.Sequence{Request: sim.Request{ID: int64(id), Output: 1}}
			for _, b := range blocks {
				q.Content = append(q.Content, sim.Segment{ID: b, Tokens: tierBlock})
			}
			q.Prompt = tierBlock * len(blocks)
			there, want := m.Match(q)/tierBlock, hits(all.serve(blocks), 1000)
			bytes, found := int64(0), there
			if rapid.Bool().Draw(t, "bring") {
				bytes = disk.Wanted(q)
				left := rapid.Int64Range(0, bytes).Draw(t, "left")
				disk.BringPart(q, bytes-left)
				bytes, left = (bytes-left)/10*10, (left+9)/10*10
				if found = m.Match(q) / tierBlock; disk.Wanted(q) != left && host >= 5 {
					t.Fatalf("request %d wants %d bytes, not %d", id, disk.Wanted(q), left)
				}
				if found < there || found > want || host >= 5 && found < want-int(left/10) {
					t.Fatalf("request %d finds %d blocks, want %d; %d were there", id, found, want,
						there)
				}
			}
			if host >= 5 && bytes != int64(10*(found-there)) || bytes < int64(10*(found-there)) {
				t.Fatalf("%d bytes came with %d blocks", bytes, found-there)
			}
			if served := serveOne(t, m, id, blocks); served != found {
				t.Fatalf("request %d begins with %d blocks, found %d", id, served, found)
			}
		}
		if m.Forget(); m.Used() != 0 {
			t.Fatalf("%d blocks are in use", m.Used())
		}
	})
}

// Blocks come from disk only where that takes less time than to compute them.
func TestDiskOrCompute(t *testing.T) {
	for read, want := range map[sim.Time]int64{1: 40, 1000: 0} {
		m, err := memory.NewTiered(4, tierBlock, memory.Tiering{Prefetch: true,
			Compute: func(_, tokens int) sim.Time { return 10 * sim.Time(tokens) }},
			memory.Tier{Blocks: 4}, memory.Tier{Blocks: 100})
		testkit.OK(t, err)
		disk, err := memory.NewDisk(m, 10, read)
		testkit.OK(t, err)
		rapid.Check(t, func(t *rapid.T) {
			m.Forget()
			for id := range 3 {
				n := uint64(10 * id)
				serveOne(t, m, id, []uint64{n + 1, n + 2, n + 3, n + 4})
			}
			q := &sim.Sequence{Request: sim.Request{ID: 9, Output: 1, Prompt: 5 * tierBlock}}
			for _, b := range []uint64{1, 2, 3, 4, 99} {
				q.Content = append(q.Content, sim.Segment{ID: b, Tokens: tierBlock})
			}
			if got := disk.Wanted(q); got != want {
				t.Fatalf("%v a block: %d bytes are wanted, want %d", read, got, want)
			}
		})
	}
}
