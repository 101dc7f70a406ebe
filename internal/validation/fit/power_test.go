package fit

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation"
)

// From what an accelerator draws under any law the fit finds the law again, whatever one in ten
// rows says.
func TestPowerLawIsFound(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	h100, err := catalog.Accelerator("h100-sxm")
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0.1, 0.4)
		truth := hardware.PowerLaw{Running: share.Draw(t, "running"),
			Memory: share.Draw(t, "memory"), Computing: share.Draw(t, "computing"),
			Arithmetic: share.Draw(t, "arithmetic")}
		used := rapid.Float64Range(0, 1)
		var draws []validation.Draw
		for i := range 60 {
			u := hardware.Usage{Bandwidth: used.Draw(t, "bandwidth"),
				Computing: used.Draw(t, "time computing"), Arithmetic: used.Draw(t, "arithmetic")}
			d := validation.Draw{Accelerator: &h100, Usage: u, Watts: truth.Watts(&h100, u)}
			d.GPU = h100.Name
			if i%10 == 0 {
				d.Watts *= 1.5
			}
			draws = append(draws, d)
		}
		laws, err := fitPower(draws)
		testkit.OK(t, err)
		var errors []float64
		for i := range draws {
			errors = append(errors, math.Abs(powerError(laws[h100.Name], &draws[i])))
		}
		if e := medianError(errors); e > 0.02 {
			t.Fatalf("%+v: found %+v, off by %.2g %%", truth, laws[h100.Name], 100*e)
		}
	})
}
