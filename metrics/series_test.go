package metrics

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// In a large fleet, replicas take turns in having their slots counted: few a moment, all as often
// as each other, so that the shares are those of the whole fleet.
func TestReplicasTakeTurnsWithSlots(t *testing.T) {
	const replicas, moments = 100, 1300
	s := newSeries(2 * moments)
	counted := make([]int, replicas)
	for m := range moments {
		now := 0
		for i := range replicas {
			s.add(sim.Time(m), i, sim.State{Slots: func() sim.Slots {
				now++
				if m > 0 {
					counted[i]++
				}
				return sim.Slots{Tokens: int64(i), External: int64(replicas - i)}
			}})
		}
		if m > 0 && now > slotReplicas {
			t.Fatalf("the slots of %d replicas are counted at moment %d", now, m)
		}
	}
	s.close()
	for i, n := range counted {
		if want := moments * slotReplicas / replicas; n < want-1 || n > want+1 {
			t.Errorf("the slots of replica %d are counted %d times in %d moments", i, n, moments)
		}
	}
	if got, want := sharesOf(s.points).Tokens,
		(replicas-1)/2.0/replicas; math.Abs(got-want) > 0.01 {
		t.Errorf("tokens have %g of the memory, want %g", got, want)
	}
}
