package playground_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/testkit"
)

// result is what a run adds up to.
type result struct {
	Completed    int64 `json:"completed"`
	Steps        int64 `json:"steps"`
	Preemptions  int64 `json:"preemptions"`
	InputTokens  int64 `json:"total_input_tokens"`
	OutputTokens int64 `json:"total_output_tokens"`
	CachedTokens int64 `json:"cached_tokens"`
}

// figures runs the scenario of the settings.
func figures(t *testing.T, settings ...string) result {
	t.Helper()
	text, err := playground.Result(t.Context(), settings)
	testkit.OK(t, err)
	var r result
	testkit.OK(t, json.Unmarshal(text, &r))
	return r
}

// play returns all frames of the settings' stage.
func play(t *testing.T, settings ...string) []playground.Frame {
	t.Helper()
	stage, err := playground.NewStage(settings, nil)
	testkit.OK(t, err)
	var all []playground.Frame
	for {
		frames, err := stage.Next(100)
		testkit.OK(t, err)
		if all = append(all, frames...); len(frames) < 100 {
			return all
		}
	}
}

// The steps that a stage shows are those of the run: as many, and what they do adds up to all
// prompts and answers. The parts of each step add up to its length.
func TestStageShowsTheRun(t *testing.T) {
	short := []string{"workload.requests=60", "workload.prompt.max=2000"}
	for name, settings := range map[string][]string{
		"default":    {},
		"static":     {"batching=static", "batching.batch-size=4"},
		"orca":       {"batching=orca", "batching.max-batch=4", "workload.rate=40/s"},
		"chunks":     {"batching=sarathi", "batching.token-budget=128", "workload.rate=40/s"},
		"preemption": {"memory.tokens=4000", "workload.rate=40/s", "workload.output.mean=400"},
		"contiguous": {"memory.policy=contiguous", "engine.max-model-len=4096"},
		"speculation": {"speculation.method=eagle", "speculation.tokens=3",
			"speculation.acceptance=0.6"},
		"two GPUs": {"parallelism.tensor=2"},
		"prefix":   {"workload.prefix.groups=1", "workload.prefix.tokens=400"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := append(short, settings...)
			want, frames := figures(t, settings...), play(t, settings...)
			if int64(len(frames)) != want.Steps {
				t.Errorf("%d frames, want %d steps", len(frames), want.Steps)
			}
			ended, evicted, computed, last := 0, 0, 0, 0.0
			given := map[int64]int{}
			for i, f := range frames {
				if math.Abs(f.Parts.Sum()-(f.To-f.From)) > 1e-6*f.To || f.From < last-1e-9 {
					t.Fatalf("frame %d lasts from %v to %v, after %v; its parts %+v", i, f.From,
						f.To, last, f.Parts)
				}
				last = f.To
				for _, r := range f.Running {
					computed += r.New
					given[r.ID] = r.Tokens
					if r.Tokens > r.Output || int64(r.Stored) > r.Room {
						t.Fatalf("frame %d: request %+v", i, r)
					}
					if r.Does == "evicted" {
						evicted++
					}
					if r.Done {
						ended++
					}
				}
			}
			tokens := 0
			for _, n := range given {
				tokens += n
			}
			if int64(ended) != want.Completed || int64(tokens) != want.OutputTokens {
				t.Errorf("%d requests ended with %d tokens, want %d with %d", ended, tokens,
					want.Completed, want.OutputTokens)
			}
			if preempted := want.Preemptions > 0; preempted != (evicted > 0) || computed+
				int(want.CachedTokens) < int(want.InputTokens) {
				t.Errorf("%d places lost, %d prompt tokens computed; want %d preemptions, "+
					"%d tokens", evicted, computed, want.Preemptions, want.InputTokens)
			}
		})
	}
}
