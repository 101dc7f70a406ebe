package metrics

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// Shares are means over the points kept, each of all the memory at that moment, however much the
// series was thinned.
func TestSharesAreMeansOverTime(t *testing.T) {
	s := newSeries(10)
	asked := 0
	for i := range int64(1000) {
		for replica := range 2 {
			s.add(sim.Time(i), replica, sim.State{Slots: func() sim.Slots {
				asked++
				return sim.Slots{Tokens: i, Reserved: 1000 - i, Internal: 1000, External: 2000}
			}})
		}
	}
	s.close()
	got := sharesOf(s.points)
	if math.Abs(got.Tokens-0.125) > 0.02 || math.Abs(got.Tokens+got.Reserved-0.25) > 1e-9 ||
		got.Internal != 0.25 || got.External != 0.5 {
		t.Errorf("shares %+v", got)
	}
	if asked > 2*100 {
		t.Errorf("the memory was asked %d times for %d points", asked, len(s.points))
	}
	// A moment at which no memory reports its content takes nothing from the shares.
	s.points = append(s.points, make([]Point, len(s.points))...)
	if both := sharesOf(s.points); both != got {
		t.Errorf("beside memory without a report: %+v, want %+v", both, got)
	}
	if got := sharesOf(nil); got != (KVShares{}) {
		t.Errorf("shares of nothing are %+v", got)
	}
}
