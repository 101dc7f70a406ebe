package capacity

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// The first answer is the answer at the settings of the menu: the same fleet with the same figures,
// in fewer simulations, and it says that it looked no further.
func TestTheFirstAnswerIsTheMenus(t *testing.T) {
	text := `
model: llama-3.1-8b
workload: {rate: 30/s, prompt: 300, output: 60}
slo: {ttft: 1s, tpot: 50ms}
menu: {hardware: [h100-sxm, l40s], tensor: [1, 2], disaggregated: [{prefill: 1, decode: 1}]}
effort: {requests: 100, most-requests: 400}
`
	solve := func(overrides ...string) *answer.Answer {
		f, err := asked.Parse("plan.yaml", []byte(text), overrides...)
		testkit.OK(t, err)
		answers, err := Solve(t.Context(), f, Options{})
		testkit.OK(t, err)
		return answers.Models[0]
	}
	normal, first := solve("menu.tune=none", "effort.level=normal"), solve("effort.level=first")
	if first.Chosen == nil || first.Chosen.Scenario != normal.Chosen.Scenario ||
		first.Chosen.Hourly != normal.Chosen.Hourly ||
		len(first.Chosen.Chances) != 1 ||
		!slices.Contains(normal.Chosen.Chances, first.Chosen.Chances[0]) {
		t.Errorf("the first answer is %+v, want %+v", first.Chosen, normal.Chosen)
	}
	if first.Simulations > normal.Simulations || 2*first.Further > normal.Further {
		t.Errorf("%d and %d simulations for the first answer, %d and %d for the whole",
			first.Simulations, first.Further, normal.Simulations, normal.Further)
	}
	if first.Shapes != nil || first.Sensitivity != nil || first.Tuned != nil ||
		!slices.ContainsFunc(first.Warnings, func(words string) bool {
			return strings.HasPrefix(words, "This is the first answer")
		}) {
		t.Errorf("the first answer has more than itself, or does not say so: %q", first.Warnings)
	}
}

// A plan, the scenario that it answers with, the page of that and a comparison with it all have one
// price for a million output tokens, though their runs draw different requests.
func TestOneSystemHasOnePrice(t *testing.T) {
	plan, err := asked.Parse("plan.yaml", []byte(`
model: llama-3.1-8b
workload: {rate: 8/s, prompt: 300, output: {distribution: lognormal, mean: 120, cv: 0.8, max: 1000}}
slo: {ttft: 1s, tpot: 50ms}
menu: {hardware: [h100-sxm], tensor: [1]}
fleet: {spare: 1}
`))
	testkit.OK(t, err)
	answers, err := Solve(context.Background(), plan, Options{})
	testkit.OK(t, err)
	a := answers.Models[0]
	load := func() (*scenarios.File, error) {
		return scenarios.Parse("answer.yaml", []byte(a.Chosen.Scenario))
	}
	f, err := load()
	testkit.OK(t, err)
	simulation, err := f.Build(policies.Default())
	testkit.OK(t, err)
	sample := page.NewSample(page.SampleSize)
	result, err := simulation.Run(context.Background(), sample)
	testkit.OK(t, err)
	var html, terminal bytes.Buffer
	testkit.OK(t, page.Write(&html,
		page.Run{Result: result, Sample: sample, Steps: simulation.Steps()}))
	testkit.OK(t, doc.Print(&terminal, diagnosis.Summary(result)))
	variant := compare.Variant{Label: "answer", Name: "answer.yaml", Load: load}
	c, err := compare.Run(context.Background(), []compare.Variant{variant, variant},
		compare.Options{
			Replications: 2, Confidence: 0.95, Workers: 2, NoInterval: true,
		})
	testkit.OK(t, err)
	compared := 0.0
	for _, figure := range c.Variants[0].Figures {
		if figure.Name == "cost_per_million_output_tokens" {
			compared = figure.Value.Mean
		}
	}
	want := a.Chosen.PerMillion
	for name, got := range map[string]float64{"scenario": result.CostPerMillion,
		"comparison": compared} {
		if want == 0 || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("the %s has $%.6g for a million output tokens, the plan $%.6g", name, got,
				want)
		}
	}
	onPage := regexp.MustCompile("</?span[^>]*>").ReplaceAll(html.Bytes(), nil)
	words := fmt.Sprintf("$%s for a million output tokens at the offered", units.Figure(want))
	for medium, text := range map[string][]byte{"terminal": terminal.Bytes(), "page": onPage} {
		if !bytes.Contains(text, []byte(words)) {
			t.Errorf("the %s does not have %q", medium, words)
		}
	}
}
