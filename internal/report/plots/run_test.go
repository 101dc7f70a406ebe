package plots

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// run runs a shipped scenario.
func run(t *testing.T, name string, set ...string) (*scenarios.Result, *page.Sample,
	*scenarios.Steps) {
	t.Helper()
	file, err := scenarios.Load(name, set...)
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	sample := page.NewSample(page.SampleSize)
	result, err := s.Run(context.Background(), sample)
	testkit.OK(t, err)
	return result, sample, s.Steps()
}

// The parts of a bar add up to the step; a batch of one and a mixture of experts have parts of
// their own.
func TestPartsAddUp(t *testing.T) {
	for _, model := range []string{"llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite"} {
		result, _, steps := run(t, "chat", "workload.requests=20", "model="+model, "hardware=h200")
		sums := map[int]float64{}
		for _, part := range page.StepParts(steps, result) {
			if page.Rank(part.Name) < 0 || part.Rank != page.Rank(part.Name) {
				t.Errorf("%s: part %q has rank %d", model, part.Name, part.Rank)
			}
			sums[part.Batch] += part.Time
		}
		context := result.Decode.Context / int64(result.Decode.Batch)
		for batch, sum := range sums {
			step := sim.Step{Decodes: batch, DecodeTokens: batch, Context: int64(batch) * context}
			if want := steps.Clock.Duration(&step).Milliseconds(); math.Abs(sum-want) > 1e-6*want {
				t.Errorf("%s, batch %d: parts of %g ms, want %g", model, batch, sum, want)
			}
		}
		if len(sums) != page.StepBatches {
			t.Errorf("%s: %d batches, want %d", model, len(sums), page.StepBatches)
		}
	}
}

// Pictures of a run are written, also of one whose answers have a single token and so no time per
// output token, of one in which nobody decodes in a memory that no batch of the picture of steps
// fits into, and of one in which no request is completed.
func TestSaveRun(t *testing.T) {
	line := regexp.MustCompile(`</text>\s*<text[^>]*>`) // where a title goes on
	for _, set := range [][]string{nil, {"workload.output=1"}, {"workload.patience=1us"},
		{"workload.rate=1000/s"},
		{"memory.tokens=1000", "engine.max-model-len=500", "workload.prompt=100",
			"workload.output=1"}} {
		result, sample, steps := run(t, "chat", append(set, "workload.requests=30")...)
		dir := t.TempDir()
		testkit.OK(t, Print.SaveRun(dir, &page.Run{Result: result, Sample: sample, Steps: steps}))
		for _, name := range []string{"latencies", "queue", "memory", "steps"} {
			text := string(testkit.Read(t, filepath.Join(dir, name+".svg")))
			svg := line.ReplaceAllString(text, " ")
			overloaded := result.Diagnosis != nil && result.Diagnosis.Load ==
				scenarios.Overloaded && name != "steps"
			if !strings.Contains(svg, ": "+result.Name) ||
				strings.Contains(svg, "OVERLOADED") != overloaded {
				t.Errorf("%v: the title of %s lacks the scenario or its load", set, name)
			}
			for _, format := range []string{"svg", "png"} {
				if info, err := os.Stat(filepath.Join(dir, name+"."+format)); err != nil ||
					info.Size() < 1000 {
					t.Errorf("%v: %s.%s: %v", set, name, format, err)
				}
			}
		}
	}
}
