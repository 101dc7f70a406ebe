package scaling

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// Weights of a forecast are above 0 and at most 1, both of them, and spans of time not negative;
// nor is anything of a cold start.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		ahead        sim.Time
		level, trend float64
		allowed      bool
	}{
		{0, 1, 1, true}, {1, 0.1, 0.1, true}, {-1, 1, 1, false}, {0, 0, 1, false},
		{0, 1, 0, false}, {0, 1.1, 1, false}, {0, 1, 1.1, false}, {0, math.NaN(), 1, false},
	} {
		if _, err := NewForecast(1, c.ahead, 0, c.level, c.trend); (err == nil) != c.allowed {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []struct {
		start   ColdStart
		allowed bool
	}{
		{ColdStart{}, true}, {ColdStart{Boot: -1}, false}, {ColdStart{Boot: 1}, true},
		{ColdStart{Weights: -1, Disk: 1}, false}, {ColdStart{Weights: 1}, false},
		{ColdStart{Weights: math.Inf(1), Disk: 1}, false}, {ColdStart{Disk: -1}, false},
		{ColdStart{Weights: 1, Network: 1}, true},
	} {
		if _, err := c.start.Time(); (err == nil) != c.allowed {
			t.Errorf("%+v: %v", c.start, err)
		}
	}
}
