package validation

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/models"
)

// TestAcceptanceGivesTheTokensOfAStep has three drafted tokens give as many tokens a step as were
// published.
func TestAcceptanceGivesTheTokensOfAStep(t *testing.T) {
	for model, lengths := range map[string][2]float64{"deepseek": {2.46, 2.61},
		"qwen3.5": {3.12, 3.31}} {
		a := acceptance[model]
		want := (lengths[0] + lengths[1]) / 2
		if got := 1 + a + a*a + a*a*a; math.Abs(got-want) > 0.01 {
			t.Errorf("%s: %g tokens a step, want %g", model, got, want)
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
	if d.draft(3) {
		t.Error("Llama drafts, though nothing is known of its acceptance")
	}
}
