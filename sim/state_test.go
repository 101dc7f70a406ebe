package sim_test

import (
	"context"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
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

// divided notes how the memory of the only replica is divided.
type divided struct {
	sim.NopObserver
	at    []sim.Time
	slots []sim.Slots
}

func (d *divided) Sampled(at sim.Time, _ int, state sim.State) {
	d.at, d.slots = append(d.at, at), append(d.slots, state.Slots())
}

// Of a request that runs alone, each step stores one more token, in blocks of which the rest is
// kept for it: reserved as far as it will store tokens, and lost beyond. All else is external.
func TestSlotsOfARequest(t *testing.T) {
	const block, blocks, prompt, output = 16, 10, 20, 30
	for _, maxLeap := range []int64{1, math.MaxInt64} {
		s, err := batching.NewVLLMV1(1, 1000, 0)
		testkit.OK(t, err)
		m, err := memory.NewPaged(blocks, block)
		testkit.OK(t, err)
		seen := &divided{}
		_, err = sim.Run(context.Background(), sim.Config{Router: &routing.RoundRobin{},
			Source: &sim.List{{Arrival: sim.Second / 2, Prompt: prompt, Output: output}},
			Replicas: []sim.ReplicaConfig{{Scheduler: s, Memory: m,
				Clock: affineClock{base: sim.Second}}},
			Observer: seen, SampleEvery: sim.Second, MaxLeap: maxLeap})
		testkit.OK(t, err)
		for i, at := range seen.at {
			want := sim.Slots{External: block * blocks}
			if step := int64(at / sim.Second); step >= 1 && step <= output {
				want.Tokens = prompt + step - 1
				room := (want.Tokens + block - 1) / block * block
				want.Reserved = min(room, prompt+output-1) - want.Tokens
				want.Internal = room - want.Reserved - want.Tokens
				want.External -= room
			}
			if seen.slots[i] != want {
				t.Errorf("leaps of %d: slots at %v are %+v, want %+v", maxLeap, at, seen.slots[i],
					want)
			}
		}
		if len(seen.at) < output {
			t.Errorf("%d samples", len(seen.at))
		}
	}
}
