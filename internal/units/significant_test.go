package units

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A figure for people has no exponent, is off by half of its last digit at most, has the sign of
// the number, and is 0 where the number is a rounding error.
func TestSignificant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SampledFrom([]float64{-1, 1}).Draw(t, "sign") *
			math.Pow(10, rapid.Float64Range(-20, 20).Draw(t, "magnitude"))
		digits := rapid.IntRange(1, 6).Draw(t, "digits")
		text := Significant(x, digits)
		back, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || strings.ContainsAny(text, "eE+"):
			t.Fatalf("%g is printed %q", x, text)
		case math.Abs(x) < least:
			if text != "0" {
				t.Fatalf("%g is printed %q, want 0", x, text)
			}
		case math.Abs(back-x) > 0.5000001*math.Pow(10, float64(1-digits))*math.Abs(x):
			t.Fatalf("%g is printed %q with %d digits", x, text, digits)
		}
		if signed := Signed(x, digits); strings.TrimPrefix(signed, "+") != text {
			t.Fatalf("%g is printed %q, and %q with its sign", x, text, signed)
		}
	})
}
