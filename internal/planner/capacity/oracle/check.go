package oracle

import (
	"fmt"
	"math"
)

// rounding is how far above 1 the mean of shares may come by adding them up.
const rounding = 1e-9

// Check refuses results that no simulation gives: shares outside 0 to 1, and figures that are
// negative or not finite.
func (t *Trial) Check() error {
	for name, share := range map[string]float64{"the mean share": t.Kept.Mean,
		"the target": t.Target, "the share of all": t.All} {
		if !(share >= 0 && share <= 1+rounding) {
			return fmt.Errorf("%s: found %g, want 0 to 1", name, share)
		}
	}
	for name, v := range map[string]float64{"the interval": t.Kept.Half,
		"the energy": t.EnergyPerMillion, "the flow": t.Flow, "the duration": t.Seconds} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: found %g, want a finite number from 0", name, v)
		}
	}
	if c := t.Tokens; c.Cached < 0 || c.Cached > c.Input || c.Output < 0 {
		return fmt.Errorf("the tokens: found %+v, which contradict each other", c)
	}
	for name, v := range t.Latencies {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("latencies.%s: found %g, want a finite number from 0", name, v)
		}
	}
	return nil
}
