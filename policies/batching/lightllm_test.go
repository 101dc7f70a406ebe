package batching_test

import (
	"context"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// starts notes when requests got their first token, in steps, and how many were preempted.
type starts struct {
	sim.NopObserver
	first     map[int]sim.Time
	preempted int
}

func (s *starts) Finished(q *sim.Sequence) {
	s.first[q.Class] = q.FirstToken / step
	s.preempted += q.Preemptions
}

// serveInTokens serves requests with LightLLM over a memory of the given number of tokens.
func serveInTokens(t *rapid.T, jobs sim.List, tokens int64, waitSteps int) *starts {
	m, err := memory.NewPaged(tokens, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := &starts{first: map[int]sim.Time{}}
	if _, err := sim.Run(context.Background(), sim.Config{
		Source: &jobs, Router: &routing.RoundRobin{}, Observer: got,
		Replicas: []sim.ReplicaConfig{{Memory: m, Clock: server{step: step},
			Scheduler: build(t, "lightllm", 64, map[string]string{
				"token-budget": "1000", "wait-steps": strconv.Itoa(waitSteps)})}},
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// The second of two requests starts after the first step after which both fit until one ends, with
// what they hold written out step by step.
func TestLightLLMStartsWhenThePeakFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.IntRange(1, 60)
		a := [2]int{lengths.Draw(t, "prompt"), lengths.Draw(t, "output")}
		b := [2]int{lengths.Draw(t, "prompt"), lengths.Draw(t, "output")}
		alone := max(a[0]+a[1]-1, b[0]+b[1]-1)
		tokens := rapid.IntRange(alone, alone+80).Draw(t, "tokens")
		got := serveInTokens(t, sim.List{
			{Prompt: a[0], Output: a[1], Class: 0}, {Prompt: b[0], Output: b[1], Class: 1},
		}, int64(tokens), 0)
		// Both prompts are computed in the first step if they fit, and otherwise the second after
		// n tokens of the first.
		want := 1
		if a[0]+b[0] > tokens || !fits(a, b, min(1, a[1]-1), tokens) {
			for want = 2; !fits(a, b, want-1, tokens); want++ {
			}
		}
		if got.first[1] != sim.Time(want) || got.preempted > 0 {
			t.Fatalf("%v beside %v in %d tokens: the first token after step %d, want %d; %d "+
				"preempted", b, a, tokens, got.first[1], want, got.preempted)
		}
	})
}

// fits reports whether b, which starts when a has n tokens of its answer, fits beside a until the
// end. Requests are {prompt, output}. To make a token, all tokens before it are stored.
func fits(a, b [2]int, n, tokens int) bool {
	if n == a[1] {
		return true
	}
	for i := 0; n+i < a[1]; i++ {
		held := a[0] + n + i
		if 1+i < b[1] {
			held += b[0] + 1 + i
		} else if i == 0 {
			held += b[0] // its only token is made with its prompt
		}
		if held > tokens && 1+i <= b[1] {
			return false
		}
	}
	return true
}

// Nothing is evicted, whatever arrives, since the foreseen peak is never above the memory.
func TestLightLLMEvictsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawList(t)
		longest := 0
		for i := range jobs {
			longest = max(longest, jobs[i].Prompt+jobs[i].Output)
		}
		tokens := rapid.IntRange(longest, 3*longest).Draw(t, "tokens")
		got := serveInTokens(t, jobs, int64(tokens), rapid.IntRange(0, 5).Draw(t, "wait"))
		if got.preempted > 0 {
			t.Fatalf("%d requests were preempted", got.preempted)
		}
	})
}
