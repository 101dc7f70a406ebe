package batching_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// Two ranks decode a long answer each. Of two newcomers, the first goes to the first rank and waits
// for the second, which goes to the other. Both start when the second comes, or the first does in
// the step that the period has reached, in which the second starts too if it is there.
func TestRanksWaitForEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.IntRange(1, 40).Draw(t, "period")
		arrival := sim.Time(rapid.IntRange(1, 50).Draw(t, "arrival"))
		gap := sim.Time(rapid.IntRange(0, 50).Draw(t, "gap"))
		jobs := sim.List{
			{Prompt: 40, Output: 500, Class: 0},
			{Prompt: 40, Output: 500, Class: 1},
			{Prompt: 40, Output: 400, Class: 2, Arrival: arrival * step},
			{Prompt: 40, Output: 400, Class: 3, Arrival: (arrival + gap) * step},
		}
		s, err := batching.NewTRTLLMNoEvict(8, 200, false, batching.BatchWait{
			Ranks: batching.RankWait{Ranks: 2, Steps: period}}, 0)
		testkit.OK(t, err)
		got := firsts{at: map[int]sim.Time{}}
		leap := rapid.SampledFrom([]int64{0, 1}).Draw(t, "leap")
		simulate(t, &jobs, s, server{step: step}, &got, leap)
		// The two long answers start in step 0, which is a start for every rank. The next are
		// every period steps, as long as no rank starts a prompt between.
		next := func(after sim.Time) sim.Time {
			p := sim.Time(period)
			return (after + p - 1) / p * p
		}
		first := min(next(arrival), arrival+gap)
		second := arrival + gap
		if first < second { // the second one waits alone
			second = first + (second-first+sim.Time(period)-1)/sim.Time(period)*sim.Time(period)
		}
		want := map[int]sim.Time{0: 1, 1: 1, 2: first + 1, 3: second + 1}
		for class, at := range want {
			if got.at[class] != at {
				t.Fatalf("request %d has its first token after step %d, want %d", class,
					got.at[class], at)
			}
		}
	})
}

// Prompts start at once while a rank decodes nothing.
func TestRanksDoNotWaitForNobody(t *testing.T) {
	jobs := sim.List{
		{Prompt: 40, Output: 500, Class: 0},
		{Prompt: 40, Output: 5, Class: 1, Arrival: 7 * step},
	}
	s, err := batching.NewTRTLLMNoEvict(8, 200, false, batching.BatchWait{
		Ranks: batching.RankWait{Ranks: 2, Steps: 60}}, 0)
	testkit.OK(t, err)
	got := firsts{at: map[int]sim.Time{}}
	simulate(t, &jobs, s, server{step: step}, &got, 0)
	if got.at[1] != 8 {
		t.Errorf("the first token came after step %d, want 8", got.at[1])
	}
}
