package memory_test

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

// A prefix cache computes text that prompts begin with once: of 100 tokens that the second prompt
// shares, six blocks of 16 are full and come from the cache.
func ExampleNewPrefixCache() {
	cache, err := memory.NewPrefixCache(1000, 16)
	if err != nil {
		log.Fatal(err)
	}
	scheduler, err := batching.NewVLLMV1(8, 512, 0)
	if err != nil {
		log.Fatal(err)
	}
	s, err := sim.New(sim.Config{
		Router:   &routing.RoundRobin{},
		Replicas: []sim.ReplicaConfig{{Scheduler: scheduler, Memory: cache, Clock: tokenClock{}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	system := []sim.Segment{{ID: 1, Tokens: 100}}
	s.Push(sim.Request{Prompt: 150, Output: 5, Content: system})
	s.Push(sim.Request{Arrival: sim.Second, Prompt: 130, Output: 5, Content: system})
	for t := s.Next(); t < sim.Never; t = s.Next() {
		s.Advance(t)
	}
	did := s.Result().Replicas[0]
	fmt.Println(did.PrefillTokens, "prompt tokens computed,", did.CachedTokens, "from the cache")
	// Output: 184 prompt tokens computed, 96 from the cache
}
