package fit

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/steptime"
)

var update = flag.Bool("update", false, "write constants.md")

// moved returns the shipped constants that the fit moves: those whose source says so, and hosts of
// machines and routing.
func moved(t *testing.T) (*values, []parameter) {
	t.Helper()
	v := newValues()
	fitted := func(source string) bool { return strings.Contains(source, "validate --fit") }
	for _, c := range hardware.AllConstants() {
		if fitted(c.Fit.Source) {
			v.accelerators[c.Accelerator] = c
		}
	}
	for _, c := range hardware.AllCollectives() {
		if fitted(c.Fit.Source) {
			v.links[c.Link] = c
		}
	}
	for _, e := range steptime.Engines() {
		if fitted(e.Source) && family(e.Name) == e.Name {
			v.engines[e.Name] = e
		}
	}
	list, err := parameters(v, nil)
	testkit.OK(t, err)
	return v, list
}

// constants.md says how many constants the fit is free to move, how many values that replaces, and
// which of them ended where what is believed without rows ends.
func TestConstantsAreCounted(t *testing.T) {
	shipped, list := moved(t)
	const head = "| %s | owners | constants | values | at or beyond an end | factors of 1 |\n" +
		"|---|---|---|---|---|---|\n"
	var table, ends strings.Builder
	fmt.Fprintf(&table, head, "of")
	var all [4]int
	for _, s := range []scope{accelerator, link, engine, machine, routing} {
		var n [4]int
		var owners []string
		for i := range list {
			p := &list[i]
			if p.scope != s {
				continue
			}
			owners = append(owners, p.owner)
			n[0]++
			n[1] += len(p.owners)
			value := p.get(shipped)
			far := (math.Log(value) - p.believed) / p.spread
			if math.Abs(far) > 1.995 { // two deviations, for values of three digits
				n[2]++
				end := math.Exp(p.believed + math.Copysign(2, far)*p.spread)
				fmt.Fprintf(&ends, "- %s of %s: %.3g, of an end of %.3g\n", p.name, p.owner,
					value, end)
			}
			if p.counts == "factor" && value == 1 {
				n[3]++
			}
		}
		slices.Sort(owners)
		fmt.Fprintf(&table, "| %ss | %d | %d | %d | %d | %d |\n", s,
			len(slices.Compact(owners)), n[0], n[1], n[2], n[3])
		for i := range all {
			all[i] += n[i]
		}
	}
	fmt.Fprintf(&table, "| all |  | %d | %d | %d | %d |\n", all[0], all[1], all[2], all[3])
	text := constantsIntroduction + table.String() + "\nAt or beyond an end:\n\n" + ends.String()
	if *update {
		testkit.OK(t, os.WriteFile("constants.md", []byte(text), 0o666))
	}
	if string(testkit.Read(t, "constants.md")) != text {
		t.Error("constants.md is out of date: " +
			"go test ./internal/validation/fit -run Counted -update")
	}
	if len(list) == 0 || all[1] < all[0] {
		t.Errorf("%d constants are %d values", all[0], all[1])
	}
}

const constantsIntroduction = `# The constants that the fit moves

A constant of several owners counts once, and its values once for each owner that it is of. The ends
are those of constants.csv, two standard deviations from what is believed without rows. A factor of
1 is one that the rows do not determine, or that they find to be 1. How many constants the rows
determine in all, ` + "`llmsim validate DIR... --fit`" + ` prints.

`
