package hardware

import (
	"testing"

	"pgregory.net/rapid"
)

// An accelerator that runs draws more than an idle one and never more than its limit, and the more
// the more it moves and computes.
func TestPowerGrowsWithinItsLimits(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(c.Accelerators).Draw(t, "accelerator")
		memory, arithmetic := rapid.Float64Range(0, 1.5).Draw(t, "memory"), rapid.Float64Range(0,
			1.5).Draw(t, "arithmetic")
		p := a.Power(memory, arithmetic)
		if p < a.IdlePower || p > a.PeakPower {
			t.Fatalf("%s draws %g W, want %g to %g", a.Name, p, a.IdlePower, a.PeakPower)
		}
		if more := a.Power(memory+0.1, arithmetic+0.1); more < p {
			t.Fatalf("%s draws %g W, and %g when it does more", a.Name, p, more)
		}
	})
}

func TestPowerLawsHaveSources(t *testing.T) {
	for _, law := range powerLaws() {
		if len(law.Source) < 20 || law.Date == "" || law.Running <= 0 || law.Memory < 0 ||
			law.Arithmetic < 0 {
			t.Errorf("%+v", law)
		}
	}
}
