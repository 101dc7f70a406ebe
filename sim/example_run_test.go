package sim_test

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Two requests, served until both are complete.
func ExampleRun() {
	config := oneReplica(affineClock{base: 10 * sim.Millisecond})
	config.Source = &sim.List{{Prompt: 100, Output: 20},
		{Arrival: sim.Second, Prompt: 50, Output: 5}}
	r, err := sim.Run(context.Background(), config)
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Completed, "completed after", r.Ended)
	// Output: 2 completed after 1.05s
}

// firstTokens prints when requests have their first token.
type firstTokens struct{ sim.NopObserver }

// Finished implements sim.Observer.
func (firstTokens) Finished(s *sim.Sequence) {
	fmt.Printf("request %d: first token after %v, last after %v\n", s.ID, s.TTFT(), s.E2E())
}

// An observer implements the methods of the events that it wants, and has the others from
// NopObserver.
func ExampleNopObserver() {
	config := oneReplica(affineClock{base: 10 * sim.Millisecond})
	config.Observer = firstTokens{}
	config.Source = &sim.List{{Prompt: 100, Output: 20}, {Prompt: 50, Output: 5}}
	if _, err := sim.Run(context.Background(), config); err != nil {
		panic(err)
	}
	// Output:
	// request 1: first token after 10ms, last after 50ms
	// request 0: first token after 10ms, last after 200ms
}
