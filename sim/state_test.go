package sim_test

import (
	"context"
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// shown counts how often the slots of each replica are shown, and how many at most in a sample but
// the first.
type shown struct {
	sim.Observers
	times   []int
	moments int
	now     int
	most    int
}

func (s *shown) Sampled(_ sim.Time, replica int, state sim.State) {
	if replica == 0 {
		s.moments++
		s.now = 0
	}
	if state.Slots != nil {
		s.times[replica]++
		s.now++
	}
	if s.moments > 1 {
		s.most = max(s.most, s.now)
	}
}

// In a large fleet, replicas take turns in having their slots counted: few in a sample, all as
// often as each other.
func TestReplicasTakeTurns(t *testing.T) {
	for replicas, most := range map[int]int{1: 1, 8: 8, 9: 2, 64: 2} {
		s := &shown{times: make([]int, replicas)}
		c := benchmarkConfig(t, 500, float64(replicas), replicas, 28000, 25)
		c.Observer, c.SampleEvery = s, 10*sim.Millisecond
		if _, err := sim.Run(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		want := s.moments / ((replicas + most - 1) / most)
		for i, n := range s.times {
			if n < want-1 || n > want+2 || s.most > most {
				t.Errorf("replica %d of %d: shown %d times in %d samples, at most %d at once", i,
					replicas, n, s.moments, s.most)
			}
		}
	}
}
