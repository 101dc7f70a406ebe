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

// TestOnlyKnownModelsDraft has no model draft of whose acceptance nothing is known.
func TestOnlyKnownModelsDraft(t *testing.T) {
	for name, want := range map[string]bool{"llama-3.1-8b": false, "deepseek-v3": true} {
		d := deployment{model: &models.Architecture{Name: name}}
		if got := d.draft(3, 0.7); got != want {
			t.Errorf("%s drafts: %v, want %v", name, got, want)
		}
	}
}
