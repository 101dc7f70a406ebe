package batching_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// tokenClock takes a millisecond a token.
type tokenClock struct{}

func (tokenClock) Duration(s *sim.Step) sim.Time { return sim.Time(s.Tokens()) * sim.Millisecond }

// With a token budget, a long prompt is computed in chunks beside the answers of others, which wait
// for no more than a step of 64 tokens.
func ExampleNewSarathi() {
	scheduler, err := batching.NewSarathi(8, 64)
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := memory.NewPaged(1000, 16)
	if err != nil {
		log.Fatal(err)
	}
	s, err := sim.New(sim.Config{
		Router:   &routing.RoundRobin{},
		Replicas: []sim.ReplicaConfig{{Scheduler: scheduler, Memory: blocks, Clock: tokenClock{}}},
		MaxLeap:  1,
		Tokens: func(q *sim.Sequence, _ int, at sim.Time) {
			fmt.Printf("%v: token %d of request %d\n", at, q.Progress(), q.ID)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	s.Push(sim.Request{Prompt: 10, Output: 4})
	s.Push(sim.Request{Arrival: sim.Millisecond, Prompt: 120, Output: 1})
	for t := s.Next(); t < sim.Never; t = s.Next() {
		s.Advance(t)
	}
	// Output:
	// 10ms: token 1 of request 0
	// 74ms: token 2 of request 0
	// 132ms: token 3 of request 0
	// 132ms: token 1 of request 1
	// 133ms: token 4 of request 0
}
