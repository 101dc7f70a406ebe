package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/sim"
)

// alwaysStored is a disk that has the same number of bytes of every prompt.
type alwaysStored int64

func (b alwaysStored) Wanted(*sim.Sequence) int64 { return int64(b) }
func (alwaysStored) Bring(*sim.Sequence)          {}

// starts notes when requests take their first step.
type starts struct {
	sim.NopObserver
	first []sim.Time
}

func (s *starts) Finished(q *sim.Sequence) { s.first = append(s.first, q.Scheduled) }

// At an idle replica, the next turn of a session begins when it comes, or when its blocks have been
// read, which begins when the turn is announced. No transfer is faster than the disk. What does not
// go on with a session is not announced.
func TestTurnsBeginWhenTheirBlocksAreThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		announce := sim.Time(rapid.Int64Range(0, int64(20*sim.Second)).Draw(t, "announce"))
		const rate = 1000
		size := rapid.Int64Range(1, 10*rate).Draw(t, "bytes")
		read := sim.Seconds(float64(size) / rate)
		config := oneReplica(affineClock{base: sim.Millisecond})
		config.Announce, config.Wires = announce, []float64{rate}
		config.Replicas[0].Disk = sim.Disk{Memory: alwaysStored(size), Reads: []int{0}}
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
		must.OK(t, err)
		for i, at := range seen.first {
			if d := at - want[i]; d < 0 || d > 1 { // times are rounded up to ticks
				t.Fatalf("request %d begins at %v, want %v", i, at, want[i])
			}
		}
		if got := result.Replicas[0].PrefetchedBytes; got != size*int64(len(want)) ||
			len(seen.first) != len(want) {
			t.Fatalf("%d bytes for %d requests of %d, each of %d", got, len(seen.first),
				len(want), size)
		}
	})
}
