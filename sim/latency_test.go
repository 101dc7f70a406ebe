package sim_test

import (
	"context"
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// delays collects TTFT and E2E latency by request.
type delays struct {
	sim.NopObserver
	ttft, e2e map[int64]sim.Time
	prompt    map[int64]int
}

// Finished implements sim.Observer.
func (d *delays) Finished(s *sim.Sequence) {
	d.ttft[s.ID], d.e2e[s.ID], d.prompt[s.ID] = s.TTFT(), s.E2E(), s.Prompt
}

// A latency a token of the prompt delays all tokens of a request in proportion to its prompt, and
// no step.
func TestLatencyGrowsWithThePrompt(t *testing.T) {
	const perToken = 3 * sim.Microsecond
	run := func(latency sim.Time) *delays {
		config := oneReplica(affineClock{base: 10 * sim.Millisecond})
		config.Replicas[0].PromptLatency = latency
		config.Source = &sim.List{{Prompt: 100, Output: 20}, {Prompt: 1, Output: 5},
			{Arrival: sim.Second, Prompt: 5000, Output: 2}}
		d := &delays{ttft: map[int64]sim.Time{}, e2e: map[int64]sim.Time{},
			prompt: map[int64]int{}}
		config.Observer = d
		if _, err := sim.Run(context.Background(), config); err != nil {
			t.Fatal(err)
		}
		return d
	}
	without, with := run(0), run(perToken)
	if len(with.prompt) != 3 {
		t.Fatalf("%d requests ended, want 3", len(with.prompt))
	}
	for id, prompt := range with.prompt {
		want := perToken * sim.Time(prompt)
		if more := with.ttft[id] - without.ttft[id]; more != want {
			t.Errorf("%d tokens have their first token %v later, want %v", prompt, more, want)
		}
		if more := with.e2e[id] - without.e2e[id]; more != want {
			t.Errorf("%d tokens end %v later, want %v", prompt, more, want)
		}
	}
}
