package page_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// setups draws models on accelerators with what changes the operators of a step.
func setups(rng *rand.Rand) (model, accelerator string, set []string) {
	draw := func(list ...string) string { return list[rng.IntN(len(list))] }
	model = draw("llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "gemma-3-27b", "qwen3-8b")
	accelerator = draw("h100", "h200", "a100-80gb", "mi300x", "b200-sxm")
	set = []string{"engine.preset=" + draw("vllm-v1", "sglang", "ideal")}
	switch draw("one", "tensor", "stages", "naive", "drafts") {
	case "tensor":
		set = append(set, "parallelism.tensor=2")
	case "stages":
		set = append(set, "parallelism={tensor: 1, pipeline: "+draw("2", "3", "4")+"}")
	case "naive":
		set = append(set, "attention=naive")
	case "drafts":
		set = append(set, "speculation={method: eagle, tokens: "+draw("1", "3", "5")+
			", acceptance: 0.7}")
	}
	return model, accelerator, set
}

// Of 200 steps, roofline, explain and the charts of a report say the same: time, what it is spent
// on, and FLOP for each byte. Each sum is that of the operators listed.
func TestOneLedgerForAStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := 0
	for seen < 200 {
		model, accelerator, set := setups(rng)
		context := 1 + rng.IntN(4000)
		file, err := scenarios.Describe(model, accelerator, set...)
		testkit.OK(t, err)
		steps, err := file.Steps(policies.Default())
		if err != nil {
			continue // the model does not fit
		}
		prompt := 1 + rng.IntN(6000)
		r := report.NewRoofline(steps, []int{prompt}, []int{1, 64, 256}, context)
		var said strings.Builder
		lesson := report.NewLesson(steps, hardware.Accelerator{Bandwidth: 1}, prompt, context)
		testkit.OK(t, doc.Print(&said, lesson.Blocks()))
		decode := &scenarios.Phenomenon{Batch: 1, Context: int64(context) + 1}
		run := &scenarios.Result{Decode: decode}
		parts := page.StepParts(steps, run)
		for i := range r.Steps {
			s := &r.Steps[i]
			name := fmt.Sprint(model, accelerator, set, s.Name)
			sumsOfOperators(t, name, s)
			words := strings.Join(strings.Fields(said.String()), " ")
			if s.Phase == "prefill" {
				if want := fmt.Sprintf("do %s FLOP for each byte and take %s,",
					figure(s.Intensity), units.FormatDuration(s.Time)); !strings.Contains(words,
					want) {
					t.Errorf("%s: explain does not say %q", name, want)
				}
			} else if s.Fits {
				row := regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d +%s .* %s$`, s.Tokens,
					units.FormatDuration(s.Time), regexp.QuoteMeta(figure(s.Intensity))))
				if !row.MatchString(said.String()) {
					t.Errorf("%s: explain has no row %s in\n%s", name, row, said.String())
				}
				reported := 0.0
				for _, part := range parts {
					if part.Batch == s.Tokens {
						reported += part.Time / 1000
					}
				}
				if math.Abs(reported-s.Time) > 1e-9 {
					t.Errorf("%s: the report's parts are %g s, the step takes %g", name, reported,
						s.Time)
				}
			}
			seen++
		}
	}
}

// sumsOfOperators checks that a step is the sum of the operators listed.
func sumsOfOperators(t *testing.T, name string, s *report.RooflineStep) {
	t.Helper()
	var flops, bytes, seconds float64
	for _, o := range s.Operators {
		flops, bytes, seconds = flops+o.FLOPs, bytes+o.Bytes, seconds+o.Time
		if all := o.Weights + o.KV + o.Scores + o.Activations; math.Abs(all-o.Bytes) > 1e-9*all {
			t.Errorf("%s, %s: %g bytes, by kind %g", name, o.Name, o.Bytes, all)
		}
	}
	parts := 0.0
	for _, part := range s.Parts {
		parts += part
	}
	for _, sum := range [][2]float64{{flops, s.FLOPs}, {bytes, s.Bytes}, {seconds, s.Time},
		{parts, s.Time}} {
		if math.Abs(sum[0]-sum[1]) > 1e-9*sum[1] {
			t.Errorf("%s: operators sum to %g, the step has %g", name, sum[0], sum[1])
		}
	}
}

// figure writes a number as the terminal does.
func figure(x float64) string {
	if math.Abs(x) >= 999.5 {
		return units.Count(int64(math.Round(x)))
	}
	return units.Significant(x, 3)
}
