package sim_test

import (
	"context"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// waking asks to be woken at a time, and counts how often it is asked.
type waking struct {
	sim.Scheduler
	at    sim.Time
	asked int
}

func (w *waking) Schedule(b *sim.Batch) sim.Decision {
	w.asked++
	d := w.Scheduler.Schedule(b)
	d.Wake = w.at
	return d
}

// A prompt, then 99 decode steps of 10 ms each, then nothing: three decisions at least. One stands
// until the first step that ends at Wake or later, which is the next one where Wake is over
// already.
func TestWakeEndsDecisions(t *testing.T) {
	for _, c := range []struct {
		at    sim.Time
		asked int
	}{
		{0, 3},
		{sim.Never, 3},
		{1, 101},
		{990 * sim.Millisecond, 4},
	} {
		v1, err := batching.NewVLLMV1(8, 512, 0)
		testkit.OK(t, err)
		blocks, err := memory.NewPaged(100, 16)
		testkit.OK(t, err)
		scheduler := &waking{Scheduler: v1, at: c.at}
		_, err = sim.Run(context.Background(), sim.Config{
			Router: &routing.RoundRobin{},
			Source: &listSource{requests: []sim.Request{{Prompt: 10, Output: 100}}},
			Replicas: []sim.ReplicaConfig{
				{Scheduler: scheduler, Memory: blocks,
					Clock: affineClock{base: 10 * sim.Millisecond}}},
		})
		if err != nil || scheduler.asked != c.asked {
			t.Errorf("waking at %v: asked %d times, want %d (%v)", c.at, scheduler.asked, c.asked,
				err)
		}
	}
}
