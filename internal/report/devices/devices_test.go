package devices

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmsim/llmsim/hardware"
)

// No machine beats the law, a machine of the catalogue has the catalogue's bandwidth and a
// prediction below the law, and the table keeps to 80 columns.
func TestRows(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := hardware.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, device := range map[string]string{"rtx-4090": "RTX 4090",
		"a100-80gb-pcie": "A100 PCIe"} {
		a, err := catalog.Accelerator(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Device == device && (r.Bandwidth != a.Bandwidth || r.Predicted == 0) {
				t.Errorf("%s: bandwidth %g, in the catalogue %g; predicted %g", device, r.Bandwidth,
					a.Bandwidth, r.Predicted)
			}
		}
	}
	for _, r := range rows {
		if r.Measured <= 0 || r.Measured >= r.Law || r.Predicted >= r.Law {
			t.Errorf("%+v is not below the law", r)
		}
	}
	var out bytes.Buffer
	if err := Write(&out, rows); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("%q is longer than 80 columns", line)
		}
	}
	if _, err := Plot(rows); err != nil {
		t.Error(err)
	}
}
