package batching_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/sim"
)

// firsts notes when requests got their first token, in steps, by class.
type firsts struct {
	sojourns
	at map[int]sim.Time
}

func (f *firsts) Finished(s *sim.Sequence) { f.at[s.Class] = s.FirstToken / step }

// One newcomer waits the number of steps beside a sequence that decodes. Two start as soon as they
// fill the step, and whoever comes while nobody decodes starts at once.
func TestNewcomersWaitForEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arrival := sim.Time(rapid.IntRange(1, 50).Draw(t, "arrival"))
		gap := sim.Time(rapid.IntRange(0, 40).Draw(t, "gap"))
		jobs := sim.List{
			{Prompt: 40, Output: 200, Class: 0},
			{Prompt: 40, Output: 1, Class: 1, Arrival: arrival * step},
			{Prompt: 40, Output: 1, Class: 2, Arrival: (arrival + gap) * step},
		}
		params := map[string]string{"wait-steps": "20", "wait-tokens": "0.8",
			"token-budget": "100"}
		got := firsts{at: map[int]sim.Time{}}
		leap := rapid.SampledFrom([]int64{0, 1}).Draw(t, "leap")
		simulate(t, &jobs, build(t, "trtllm", 8, params), server{step: step}, &got, leap)
		first, second := arrival+20, arrival+gap+20
		if gap <= 20 { // both fill the step
			first, second = arrival+min(gap, 20), arrival+gap
		}
		want := map[int]sim.Time{0: 1, 1: first + 1, 2: second + 1}
		for class, at := range want {
			if got.at[class] != at {
				t.Fatalf("request %d has its first token after step %d, want %d", class,
					got.at[class], at)
			}
		}
	})
}

// Two newcomers and a sequence that decodes fill a step exactly, and start without further wait. If
// the newcomers had one token fewer, they would wait.
func TestNewcomersThatFillTheStepExactlyStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const budget, patience = 100, 20
		prompt := rapid.IntRange(1, budget-2).Draw(t, "prompt")
		missing := rapid.IntRange(0, 1).Draw(t, "missing")
		other := budget - 1 - prompt - missing
		if other < 1 {
			t.Skip("the second prompt has no tokens")
		}
		jobs := sim.List{
			{Prompt: 1, Output: 200, Class: 0},
			{Prompt: prompt, Output: 1, Class: 1, Arrival: 5 * step},
			{Prompt: other, Output: 1, Class: 2, Arrival: 5 * step},
		}
		got := firsts{at: map[int]sim.Time{}}
		simulate(t, &jobs, build(t, "trtllm", 8, map[string]string{"wait-tokens": "1",
			"wait-steps": fmt.Sprint(patience), "token-budget": fmt.Sprint(budget)}),
			server{step: step}, &got, 0)
		want := sim.Time(5 + missing*patience + 1)
		if got.at[1] != want || got.at[2] != want {
			t.Fatalf("with %d tokens missing, first tokens come after steps %d and %d, want %d",
				missing, got.at[1], got.at[2], want)
		}
	})
}

// Only newcomers that find a place count: with two places, one of which decodes, the second
// newcomer does not help to fill the step, and the first waits as long as it may.
func TestNewcomersWithoutAPlaceFillNoStep(t *testing.T) {
	const patience = 20
	for places, waits := range map[int]sim.Time{2: patience, 3: 0} {
		jobs := sim.List{
			{Prompt: 1, Output: 200, Class: 0},
			{Prompt: 49, Output: 1, Class: 1, Arrival: 5 * step},
			{Prompt: 50, Output: 1, Class: 2, Arrival: 5 * step},
		}
		got := firsts{at: map[int]sim.Time{}}
		simulate(t, &jobs, build(t, "trtllm", places, map[string]string{"wait-tokens": "1",
			"wait-steps": fmt.Sprint(patience), "token-budget": "100"}),
			server{step: step}, &got, 0)
		if want := 5 + waits + 1; got.at[1] != want {
			t.Errorf("with %d places, the first newcomer has its token after step %d, want %d",
				places, got.at[1], want)
		}
	}
}

// ends notes when requests end, in order.
type ends struct {
	sojourns
	at []sim.Time
}

func (e *ends) Finished(s *sim.Sequence) { e.at = append(e.at, s.LastToken) }

// Newcomers that have waited and find no memory start at the same step, whether the steps until
// then are taken one by one or at once.
func TestNewcomersWaitForMemoryInLeaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs sim.List
		for range rapid.IntRange(3, 40).Draw(t, "jobs") {
			jobs = append(jobs, sim.Request{
				Prompt: rapid.SampledFrom([]int{1, 1, 1, 8, 30}).Draw(t, "prompt"),
				Output: rapid.SampledFrom([]int{1, 1, 5, 14, 40}).Draw(t, "output")},
			)
		}
		blocks := rapid.Int64Range(70, 120).Draw(t, "blocks")
		params := map[string]string{
			"capacity": "max-utilization", "token-budget": "40", "wait-tokens": "0.5",
			"wait-steps": fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "wait")),
		}
		times := func(maxLeap int64) []sim.Time {
			m, err := memory.NewPaged(blocks, 1)
			testkit.OK(t, err)
			e, source := &ends{}, slices.Clone(jobs)
			if _, err := sim.Run(context.Background(), sim.Config{
				Source: &source, Router: &routing.RoundRobin{}, Observer: e, MaxLeap: maxLeap,
				Replicas: []sim.ReplicaConfig{{Scheduler: build(t, "trtllm", 12, params),
					Memory: m, Clock: server{step: step}}},
			}); err != nil {
				t.Fatal(err)
			}
			return e.at
		}
		if leaps, steps := times(0), times(1); !slices.Equal(leaps, steps) {
			t.Fatalf("requests end at %v in leaps, at %v in steps", leaps, steps)
		}
	})
}
