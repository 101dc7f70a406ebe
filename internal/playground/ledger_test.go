package playground_test

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// A step on the page is the step of the roofline: FLOP for each byte, rate, and what its time is
// spent on. The time of the weights is the same in all steps of a run.
func TestFramesAreOfTheRoofline(t *testing.T) {
	for name, settings := range map[string][]string{
		"flash":   {},
		"naive":   {"attention=naive"},
		"tensor":  {"parallelism.tensor=2"},
		"stages":  {"parallelism.pipeline=2", "parallelism.tensor=1"},
		"batched": {"workload.rate=40/s"},
	} {
		settings = append(settings, "workload.requests=30", "workload.prompt=700",
			"workload.output=40")
		file, err := playground.Load(settings)
		testkit.OK(t, err)
		steps, err := file.Steps(policies.Default())
		testkit.OK(t, err)
		low, high, compared := math.Inf(1), 0.0, 0
		for _, f := range play(t, settings...) {
			low, high = min(low, f.Parts.Weights), max(high, f.Parts.Weights)
			var prompts []int
			context := 0
			for _, r := range f.Running {
				switch r.Does {
				case "prefill":
					prompts = append(prompts, r.New)
				case "decode":
					context = r.Stored - 1
				}
			}
			var want *report.RooflineStep
			switch {
			case len(prompts) == 1 && f.Decoding == 0:
				want = &report.NewRoofline(steps, prompts, nil, 1).Steps[0]
			case len(prompts) == 0 && f.Decoding == 1 && context > 0:
				want = &report.NewRoofline(steps, nil, []int{1}, context).Steps[0]
			default:
				continue
			}
			compared++
			for _, pair := range [][2]float64{{f.Intensity, want.Intensity}, {f.Rate, want.Rate},
				{f.Parts.Weights / 1000, want.Parts["weights"]},
				{f.Parts.Scores / 1000, want.Parts["scores"]},
				{f.Parts.Arithmetic / 1000, want.Parts["arithmetic"]}} {
				if math.Abs(pair[0]-pair[1]) > 1e-9*pair[1] {
					t.Fatalf("%s, step %d: the page says %g, the roofline %g (%s)", name, f.Step,
						pair[0], pair[1], want.Name)
				}
			}
			if f.Bound != want.Bound {
				t.Fatalf("%s, step %d: bound by %s, by the roofline %s", name, f.Step, f.Bound,
					want.Bound)
			}
		}
		if compared == 0 || high > 1.25*low {
			t.Errorf("%s: %d steps compared; weights take %g to %g ms", name, compared, low, high)
		}
	}
}

// After a failure, frames show the steps that ran, however many were in the pipeline: no part of
// their time is below 0.
func TestFramesAfterAFailure(t *testing.T) {
	for _, retries := range []string{"0", "2"} {
		for _, stages := range []string{"1", "2", "4"} {
			for _, f := range play(t, "model=deepseek-v2-lite", "parallelism.pipeline="+stages,
				"parallelism.tensor=1", "workload.requests=40", "workload.rate=20/s",
				"fleet.retries="+retries, "fleet.outages=[{at: 1s, for: 70ms}]") {
				if f.Parts.Rest < -1e-6 {
					t.Errorf("%s stages, %s retries: step %d has parts %+v of %g ms", stages,
						retries, f.Step, f.Parts, f.To-f.From)
				}
			}
		}
	}
}
