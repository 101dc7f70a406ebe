package sim_test

import (
	"fmt"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// oneReplica returns a server with room for 2^21 tokens.
func oneReplica(clock sim.StepClock) sim.Config {
	scheduler, err := batching.NewVLLMV1(8, 512, 0)
	if err != nil {
		panic(err)
	}
	blocks, err := memory.NewPaged(1<<17, 16)
	if err != nil {
		panic(err)
	}
	return sim.Config{
		Router:   &routing.RoundRobin{},
		Replicas: []sim.ReplicaConfig{{Scheduler: scheduler, Memory: blocks, Clock: clock}},
	}
}

// A simulation can be driven from outside: here two requests come, one of which is cancelled, and
// each token is shown.
func ExampleSimulation() {
	config := oneReplica(affineClock{base: 10 * sim.Millisecond})
	config.MaxLeap = 1
	config.Tokens = func(s *sim.Sequence, _ int, at sim.Time) {
		fmt.Printf("%v: token %d of request %d\n", at, s.Progress(), s.ID)
	}
	s, err := sim.New(config)
	if err != nil {
		panic(err)
	}
	first, _ := s.Push(sim.Request{Prompt: 100, Output: 1000})
	s.Push(sim.Request{Arrival: 15 * sim.Millisecond, Prompt: 100, Output: 2})
	for t := s.Next(); t < sim.Never; t = s.Next() {
		if t > 25*sim.Millisecond {
			s.Cancel(first)
		}
		s.Advance(t)
	}
	r := s.Result()
	fmt.Println(r.Completed, "completed,", r.Cancelled, "cancelled")
	// Output:
	// 10ms: token 1 of request 0
	// 20ms: token 2 of request 0
	// 30ms: token 3 of request 0
	// 30ms: token 1 of request 1
	// 40ms: token 2 of request 1
	// 1 completed, 1 cancelled
}
