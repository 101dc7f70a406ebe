package answer

import (
	"slices"
	"strings"
	"testing"
)

// A brief answer names the next fleets in order, at most two, and none that costs more than four
// times as much.
func TestNextIsWithinReach(t *testing.T) {
	a := Answer{Chosen: &Deployment{Label: "a", Hourly: 10}, Shapes: []Shape{
		{Label: "a", Replicas: 2, Hourly: 10, Grade: "measured"},
		{Label: "b", Replicas: 3, Hourly: 40, Grade: "measured"},
		{Label: "c", Replicas: 192, Hourly: 41, Grade: "measured"},
		{Label: "d", Hourly: 0, Grade: "measured"},
	}}
	want := []string{"3 replicas of b, $40.00 an hour (measured)"}
	if got := a.next(); !slices.Equal(got, want) {
		t.Errorf("next: %q, want %q", got, want)
	}
}

// Beside an answer that was decided at 95 %, a lower chance of it is explained, and none of another
// fleet.
func TestALowerChanceIsExplained(t *testing.T) {
	for kept, want := range map[float64]bool{0.88: true, 0.95: false} {
		d := Deployment{Chances: []Chance{{Replicas: 1, Probability: 0.2},
			{Replicas: 2, Probability: kept, Low: 0.58, High: 1}, {Replicas: 3, Probability: 1}},
			Certainty: &Certainty{Predicted: 2, Needed: 2}}
		words := d.odds(&Answer{Confidence: 0.95})
		if got := strings.Contains(words, "95% quantiles at once"); got != want {
			t.Errorf("%g: %s", kept, words)
		}
	}
}
