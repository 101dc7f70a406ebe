package sim_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// alwaysStored is a disk that has the same number of bytes of every prompt, and sums up what came.
type alwaysStored struct{ size, brought int64 }

func (b *alwaysStored) Wanted(*sim.Sequence) int64             { return b.size }
func (b *alwaysStored) Bring(*sim.Sequence)                    { b.brought += b.size }
func (b *alwaysStored) BringPart(_ *sim.Sequence, bytes int64) { b.brought += bytes }

// starts notes when requests take their first step.
type starts struct {
	sim.NopObserver
	first []sim.Time
}

func (s *starts) Finished(q *sim.Sequence) { s.first = append(s.first, q.Scheduled) }

// At an idle replica, the next turn of a session begins when it comes, or when its blocks have been
// read, which begins when the turn is announced, or when its patience is over. No transfer is
// faster than the disk. What does not go on with a session is not announced.
func TestTurnsBeginWhenTheirBlocksAreThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		announce := sim.Time(rapid.Int64Range(0, int64(20*sim.Second)).Draw(t, "announce"))
		const rate = 1000
		size := rapid.Int64Range(1, 10*rate).Draw(t, "bytes")
		read, whole := sim.Seconds(float64(size)/rate), true
		config := oneReplica(affineClock{base: sim.Millisecond})
		config.Announce, config.Wires = announce, []float64{rate}
		disk := &alwaysStored{size: size}
		config.Replicas[0].Disk = sim.Disk{Memory: disk, Reads: []int{0}}
		if rapid.Bool().Draw(t, "impatient") {
			patience := sim.Time(rapid.Int64Range(0, int64(10*sim.Second)).Draw(t, "patience"))
			config.Replicas[0].Disk.Patience = func(int64) sim.Time { return patience }
			whole, read = read < patience, min(read, patience)
		}
		seen := &starts{}
		config.Observer = seen
		var list sim.List
		var want []sim.Time
		for i := range rapid.IntRange(1, 5).Draw(t, "requests") {
			turn := int32(rapid.IntRange(0, 1).Draw(t, "turn"))
			at := sim.Time(i+1) * 60 * sim.Second
			list = append(list, sim.Request{Arrival: at, Prompt: 8, Output: 1,
				Call: sim.Call{Number: turn + 1, Turn: turn, Of: 2}})
			if turn == 0 {
				want = append(want, at+read)
			} else {
				want = append(want, max(at, at-announce+read))
			}
		}
		config.Source = &list
		result, err := sim.Run(t.Context(), config)
		testkit.OK(t, err)
		for i, at := range seen.first {
			if d := at - want[i]; d < 0 || d > 1 { // times are rounded up to ticks
				t.Fatalf("request %d begins at %v, want %v", i, at, want[i])
			}
		}
		least, most := size, size
		if !whole {
			came := rate * read.Seconds()
			least, most = int64(came-1e-6), int64(came+1e-6)
		}
		n, got := int64(len(want)), result.Replicas[0].PrefetchedBytes
		if got < n*least || got > n*most || got != disk.brought || len(seen.first) != len(want) {
			t.Fatalf("%d bytes, of which %d were brought, for %d requests of %d, each of %d to %d",
				got, disk.brought, len(seen.first), n, least, most)
		}
	})
}

// A read that is given up leaves its part of the disk to others at once: of two that share it, one
// is given up half way, and the other is through after one and a half times what it takes alone.
func TestReadsThatEndLeaveTheirRate(t *testing.T) {
	for _, patient := range []bool{false, true} {
		config := oneReplica(affineClock{base: sim.Millisecond})
		config.Wires = []float64{1000}
		disk := &alwaysStored{size: 1000}
		config.Replicas[0].Disk = sim.Disk{Memory: disk, Reads: []int{0}}
		asked, want := 0, []sim.Time{2 * sim.Second, 2 * sim.Second}
		if !patient {
			want = []sim.Time{sim.Second, 1500 * sim.Millisecond}
			config.Replicas[0].Disk.Patience = func(int64) sim.Time {
				asked++
				return sim.Time(asked*asked) * sim.Second // 1 s, then 4 s
			}
		}
		seen := &starts{}
		config.Observer = seen
		config.Source = &sim.List{{Prompt: 8, Output: 1}, {Prompt: 8, Output: 1}}
		r, err := sim.Run(t.Context(), config)
		testkit.OK(t, err)
		if !slices.Equal(seen.first, want) {
			t.Errorf("patient %v: requests start at %v, want %v", patient, seen.first, want)
		}
		if got := r.Replicas[0].PrefetchedBytes; got != disk.brought {
			t.Errorf("%d bytes count as read, %d came", got, disk.brought)
		}
	}
}
