package crosscheck

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

const tinyModel = "../../engine/testdata/tiny"

// crowded is a scenario in which sequences queue, are cut into chunks, share prefixes and run out
// of KV memory.
const crowded = `
model: %s
hardware: {accelerator: small, file: %s}
engine: {preset: ideal}
batching: {policy: %s}
memory: {policy: %s, utilization: 1}
workload:
  requests: 40
  rate: 3000/s
  prompt: {distribution: uniform, min: 4, max: 40}
  output: {distribution: uniform, min: 2, max: 30}
  prefix: {groups: 2, tokens: 24}
`

// replayed returns times that another clock took, one a step.
type replayed struct {
	steps []Step
	at    int
}

func (r *replayed) Duration(*sim.Step) sim.Time {
	if r.at == len(r.steps) {
		return sim.Tick
	}
	r.at++
	return r.steps[r.at-1].Took
}

// plain hides that a clock can be leaped.
type plain struct{ sim.StepClock }

// simulate builds and runs the scenario with the given clock in place of the predicting one.
func simulate(t *testing.T, f *scenarios.File, replace func(predicted sim.StepClock) sim.StepClock,
	observers ...sim.Observer) string {
	t.Helper()
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	s.ReplaceClocks(replace)
	result, err := s.Run(context.Background(), observers...)
	testkit.OK(t, err)
	// sums of floating-point numbers, whose order differs between leaps and steps
	result.MFU, result.MBU = 0, 0
	text, err := json.MarshalIndent(result, "", " ")
	testkit.OK(t, err)
	return string(text)
}

// crowdedScenario returns the scenario with KV memory for 400 tokens, a fifth of what its requests
// need together.
func crowdedScenario(t *testing.T, batching, memory string) *scenarios.File {
	t.Helper()
	own := filepath.Join(t.TempDir(), "small.yaml")
	var f *scenarios.File
	for size := 1e9; ; {
		entry := fmt.Sprintf("accelerators:\n  small: {like: desktop-50gbs, memory: %.0fB}\n", size)
		testkit.OK(t, os.WriteFile(own, []byte(entry), 0o666))
		var err error
		if f, err = scenarios.Parse("crowded.yaml",
			fmt.Appendf(nil, crowded, tinyModel, own, batching, memory)); err != nil {
			t.Fatal(err)
		}
		if size < 1e9 {
			return f
		}
		m, err := f.Memory(policies.Default())
		testkit.OK(t, err)
		size = m.Plan.Weights + m.Plan.Activations + 400*m.Plan.KVBytesPerToken + 1
	}
}

// TestSchedulesDependOnTimesAlone executes scenarios under every policy, then feeds the executed
// times back as if they were predicted: steps and result must be the same. Predicted times must
// give the same result whether decode steps are leaped or not.
func TestSchedulesDependOnTimesAlone(t *testing.T) {
	model, err := gpt2.Load(tinyModel, gpt2.Options{})
	testkit.OK(t, err)
	defer model.Close()
	e, err := engine.New(model, engine.Options{Blocks: 60, Threads: 1, PrefixCaching: true})
	testkit.OK(t, err)
	defer e.Close()
	registry := policies.Default()
	preempted := false
	for _, batching := range registry.Batching.Policies {
		for _, memory := range []string{"paged", "prefix-cache", "radix"} {
			t.Run(batching.Name+"/"+memory, func(t *testing.T) {
				f := crowdedScenario(t, batching.Name, memory)
				clock := engine.NewClock(e)
				defer clock.Reset()
				var executed, fedBack *stepLog
				first := simulate(t, f, func(sim.StepClock) sim.StepClock {
					executed = &stepLog{clock: clock}
					return executed
				})
				if clock.Err() != nil {
					t.Fatal(clock.Err())
				}
				second := simulate(t, f, func(sim.StepClock) sim.StepClock {
					fedBack = &stepLog{clock: &replayed{steps: executed.steps}}
					return fedBack
				})
				if diff := cmp.Diff(executed.steps, fedBack.steps); diff != "" {
					t.Errorf("steps differ when executed times are fed back (-executed +fed "+
						"back):\n%s", diff)
				}
				if first != second {
					t.Errorf("results differ when executed times are fed back (-executed +fed "+
						"back):\n%s", cmp.Diff(first, second))
				}
				leaped := simulate(t, f, func(predicted sim.StepClock) sim.StepClock {
					return predicted
				})
				stepped := simulate(t, f, func(predicted sim.StepClock) sim.StepClock {
					return plain{predicted}
				})
				if leaped != stepped {
					t.Errorf("results differ between leaps and steps (-leaped +stepped):\n%s",
						cmp.Diff(leaped, stepped))
				}
				var counts struct{ Preemptions int }
				testkit.OK(t, json.Unmarshal([]byte(first), &counts))
				preempted = preempted || counts.Preemptions > 0
			})
		}
	}
	if !preempted {
		t.Error("no sequence was preempted: the scenario has too much memory to show anything")
	}
}
