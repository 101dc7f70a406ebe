package hardware

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// An accelerator that runs draws more than an idle one and never more than its limit, and the more
// the more it moves and computes.
func TestPowerGrowsWithinItsLimits(t *testing.T) {
	c, err := Load()
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(c.Accelerators).Draw(t, "accelerator")
		share := rapid.Float64Range(0, 1.5)
		u := Usage{share.Draw(t, "bandwidth"), share.Draw(t, "computing"),
			share.Draw(t, "arithmetic")}
		p := a.Power(u)
		if p < a.IdlePower || p > a.PeakPower {
			t.Fatalf("%s draws %g W, want %g to %g", a.Name, p, a.IdlePower, a.PeakPower)
		}
		u = Usage{u.Bandwidth + 0.1, u.Computing + 0.1, u.Arithmetic + 0.1}
		if more := a.Power(u); more < p {
			t.Fatalf("%s draws %g W, and %g when it does more", a.Name, p, more)
		}
	})
}

func TestPowerLawsHaveSources(t *testing.T) {
	for _, law := range powerLaws() {
		if len(law.Source) < 20 || law.Date == "" || law.Running <= 0 || law.Memory < 0 ||
			law.Computing < 0 || law.Arithmetic < 0 {
			t.Errorf("%+v", law)
		}
	}
}
