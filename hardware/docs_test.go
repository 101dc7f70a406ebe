package hardware

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The table of docs/constants.md on matrix products has the constants that ship, rounded.
func TestPageHasTheConstantsOfProducts(t *testing.T) {
	page := testkit.Read(t, "../docs/constants.md")
	constants := map[string]Constants{}
	for _, c := range AllConstants() {
		constants[c.Accelerator] = c
	}
	rows := []struct {
		name  string
		value func(Linear) string
	}{
		{"`compute` 16 bits", func(l Linear) string { return share(l.Compute[BF16]) }},
		{"`compute` FP8", func(l Linear) string { return share(l.Compute[FP8]) }},
		{"`memory`", func(l Linear) string { return share(l.Memory) }},
		{"`kernel` µs", func(l Linear) string {
			return fmt.Sprintf("%.1f", float64(l.Kernel)*1e6)
		}},
		{"`overlap`", func(l Linear) string { return fmt.Sprintf("%.1f", l.Overlap) }},
	}
	accelerators := []string{"a100-80gb-sxm", "a40", "l40s", "rtx-pro-6000", "h100-sxm",
		"h200-sxm", "b200-sxm"}
	for _, row := range rows {
		cells := []string{row.name}
		for _, name := range accelerators {
			cells = append(cells, row.value(constants[name].Linear))
		}
		want := "| " + strings.Join(cells, " | ") + " |\n"
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/constants.md does not have the row\n%s", want)
		}
	}
}

// share returns a share of a data sheet's figure as the page writes it.
func share(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}
