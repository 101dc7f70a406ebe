package lesson

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
)

// No machine beats a law, a machine of the catalogue has the catalogue's bandwidth and a
// prediction below both, and the table keeps to 80 columns.
func TestRows(t *testing.T) {
	rows, err := Devices()
	testkit.OK(t, err)
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	for name, device := range map[string]string{"rtx-4090": "RTX 4090",
		"a100-80gb-pcie": "A100 PCIe", "m1-max": "M1 Max", "m2-ultra": "M2 Ultra"} {
		a, err := catalog.Accelerator(name)
		testkit.OK(t, err)
		for _, r := range rows {
			if r.Device == device && (r.Bandwidth != a.Bandwidth ||
				r.Peak != a.Peak[hardware.FP16] || r.Decode.Predicted == 0) {
				t.Errorf("%s: bandwidth %g and %g FLOP/s, in the catalogue %g and %g; predicted %g",
					device, r.Bandwidth, r.Peak, a.Bandwidth, a.Peak[hardware.FP16],
					r.Decode.Predicted)
			}
		}
	}
	for _, r := range rows {
		for _, rate := range []Rate{r.Decode, r.Prefill} {
			if rate.Measured <= 0 || rate.Measured >= rate.Law || rate.Predicted >= rate.Law {
				t.Errorf("%s, %s %s: %+v is not below the law", r.Device, r.Model, r.Weights, rate)
			}
		}
	}
	var out bytes.Buffer
	testkit.OK(t, doc.Print(&out, DeviceBlocks(rows)))
	for _, line := range strings.Split(out.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("%q is longer than 80 columns", line)
		}
	}
	if _, err := DevicePictures(rows); err != nil {
		t.Error(err)
	}
}
