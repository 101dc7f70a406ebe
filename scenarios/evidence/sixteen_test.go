package evidence

import (
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// FP16 stands for BF16 only where accelerators compute both at the same rate, as all do that were
// measured.
func TestMeasuredAcceleratorsComputeBothFormatsAlike(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	for _, e := range measured() {
		a, err := catalog.Accelerator(e.Accelerator)
		testkit.OK(t, err)
		if sixteen := a.Peak[hardware.FP16]; sixteen > 0 && sixteen != a.Peak[hardware.BF16] {
			t.Errorf("%s computes FP16 at %g and BF16 at %g FLOP/s", a.Name,
				a.Peak[hardware.FP16], a.Peak[hardware.BF16])
		}
	}
}
