package answer

import (
	"slices"
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
