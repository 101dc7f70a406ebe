package batching_test

import (
	"maps"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// vain drafts one token for each sequence, none of which is accepted, in no time.
type vain struct{}

func (vain) Plan(*sim.Batch)                                { /* nothing depends on the step */ }
func (vain) Draft(*sim.Sequence) int                        { return 1 }
func (vain) Duration(_ *sim.Step, verify sim.Time) sim.Time { return verify }
func (vain) Accept(*sim.Sequence, int) int                  { return 0 }

// Prompts that wait for a number of steps, be it for each other, for those of other ranks or until
// the scheduler looks, wait for as many steps with drafts, of which none is accepted, as without.
func TestPromptsWaitWithDraftsAsWithout(t *testing.T) {
	waiting := map[string]func(t *rapid.T, steps int) sim.Scheduler{
		"newcomers": func(t *rapid.T, steps int) sim.Scheduler {
			return build(t, "trtllm", 8, map[string]string{"wait-steps": strconv.Itoa(steps),
				"wait-tokens": "1", "token-budget": "100000"})
		},
		"ranks": func(t *rapid.T, steps int) sim.Scheduler {
			s, err := batching.NewTRTLLMNoEvict(8, 100000, false, batching.BatchWait{
				Ranks: batching.RankWait{Ranks: 2, Steps: steps}}, 0)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		"interval": func(t *rapid.T, steps int) sim.Scheduler {
			return build(t, "sglang", 8, map[string]string{
				"receive-interval": strconv.Itoa(steps)})
		},
	}
	for name, policy := range waiting {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				steps := rapid.IntRange(1, 40).Draw(t, "steps")
				jobs := sim.List{{Prompt: 40, Output: 400}, {Prompt: 40, Output: 400, Class: 1}}
				at := sim.Time(0)
				for class := range rapid.IntRange(1, 4).Draw(t, "newcomers") {
					at += sim.Time(rapid.IntRange(1, 30).Draw(t, "gap"))
					jobs = append(jobs, sim.Request{Prompt: 40, Output: 200, Class: class + 2,
						Arrival: at * step})
				}
				plain, drafted := firsts{at: map[int]sim.Time{}}, firsts{at: map[int]sim.Time{}}
				again := append(sim.List{}, jobs...)
				simulate(t, &jobs, policy(t, steps), server{step: step}, &plain, 0)
				simulateDrafts(t, &again, policy(t, steps), server{step: step}, vain{},
					&drafted, 0)
				if !maps.Equal(plain.at, drafted.at) {
					t.Fatalf("first tokens come after steps %v without drafts, %v with drafts",
						plain.at, drafted.at)
				}
			})
		})
	}
}
