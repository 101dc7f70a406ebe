package validation

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/models"
)

// TestAcceptanceGivesTheTokensOfAStep has drafted tokens give as many tokens a step as were
// published, and more in answers that go on after their end.
func TestAcceptanceGivesTheTokensOfAStep(t *testing.T) {
	length := func(a float64) float64 { return 1 + a + a*a + a*a*a }
	if got, want := length(acceptanceOf(1024)), (2.46+2.61)/2; math.Abs(got-want) > 0.01 {
		t.Errorf("%g tokens a step, want %g", got, want)
	}
	want := (1.19/1.03 + 1.24/1.11) / 2
	if got := length(acceptanceOf(8192)) / length(acceptanceOf(1024)); math.Abs(got-want) > 0.01 {
		t.Errorf("long answers have %g times the tokens a step, want %g", got, want)
	}
	for _, want := range []float64{1.01, 2.46, 3.48, 3.99} {
		if got := length(acceptanceFor(3, want)); math.Abs(got-want) > 1e-6 {
			t.Errorf("%g tokens a step, want %g", got, want)
		}
	}
}

// TestDraftedTokens reads the numbers of drafted tokens as flags and pages write them.
func TestDraftedTokens(t *testing.T) {
	for flags, want := range map[string]int{
		"speculative=mtp;speculative-num-steps=2;speculative-num-draft-tokens=3": 2,
		"speculative=mtp;speculative_config.num_nextn_predict_layers=3":          3,
		"max-num-seqs=4": 0,
	} {
		if got := parseStartFlags(flags).drafted(); got != want {
			t.Errorf("%s: %d, want %d", flags, got, want)
		}
	}
	for text, want := range map[string]int{"EAGLE steps=3 topk=1 draft=4": 3, "yes": 0} {
		if got := draftedSteps(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	d := deployment{model: &models.Architecture{Name: "llama-3.1-8b"}}
	if d.draft(3, 0.7) {
		t.Error("Llama drafts, though nothing is known of its acceptance")
	}
}
