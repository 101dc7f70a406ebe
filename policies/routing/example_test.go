package routing_test

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

// Of prompts that are long and short in turn, taking turns gives one replica all that are long;
// counting the tokens that wait does not.
func ExampleLeastTokens() {
	for _, router := range []sim.Router{&routing.RoundRobin{}, routing.LeastTokens{}} {
		config := sim.Config{Router: router}
		for range 2 {
			scheduler, err := batching.NewVLLMV1(8, 512, 0)
			if err != nil {
				log.Fatal(err)
			}
			blocks, err := memory.NewPaged(10000, 16)
			if err != nil {
				log.Fatal(err)
			}
			config.Replicas = append(config.Replicas,
				sim.ReplicaConfig{Scheduler: scheduler, Memory: blocks, Clock: tokenClock{}})
		}
		s, err := sim.New(config)
		if err != nil {
			log.Fatal(err)
		}
		for i := range sim.Time(10) {
			s.Push(sim.Request{Arrival: i * sim.Millisecond, Prompt: 1000 - int(i%2)*900,
				Output: 1})
		}
		for t := s.Next(); t < sim.Never; t = s.Next() {
			s.Advance(t)
		}
		r := s.Result()
		fmt.Printf("%T: %d and %d prompt tokens, done after %v\n",
			router, r.Replicas[0].PrefillTokens, r.Replicas[1].PrefillTokens, r.End)
	}
	// Output:
	// *routing.RoundRobin: 5000 and 500 prompt tokens, done after 5s
	// routing.LeastTokens: 3200 and 2300 prompt tokens, done after 3.2s
}
