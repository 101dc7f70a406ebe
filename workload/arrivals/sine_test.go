package arrivals

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The sine is that of package math up to rounding.
func TestSine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := rapid.Float64Range(-3, 3).Draw(t, "turns")
		if got, want := sine(turns), math.Sin(2*math.Pi*turns); math.Abs(got-want) > 4e-15 {
			t.Fatalf("sine of %v turns is %v, want %v", turns, got, want)
		}
		if got, want := cosine(turns), math.Cos(2*math.Pi*turns); math.Abs(got-want) > 4e-15 {
			t.Fatalf("cosine of %v turns is %v, want %v", turns, got, want)
		}
	})
}
