package fit

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
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

// constants.md says how many constants the rows determine, how many values that replaces, which of
// them ended where what is believed without rows ends, and which are their priors: what ships of
// these is what priors.csv says.
func TestConstantsAreCounted(t *testing.T) {
	shipped, list := moved(t)
	priors := map[prior]float64{}
	for _, c := range files.MustReadTable[prior]("priors.csv",
		string(testkit.Read(t, "priors.csv"))) {
		priors[prior{c.Scope, c.Of, c.Name, 0}] = c.Value
	}
	// owners of a constant that no row determines, by scope and name
	unsaid := map[string][]string{}
	const head = "| %s | owners | determined | values | at or beyond an end | priors |\n" +
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
			value, key := p.get(shipped), prior{string(s), p.owner, p.name, 0}
			if want, is := priors[key]; is {
				delete(priors, key)
				n[3]++
				unsaid[string(s)+"s: "+p.name] = append(unsaid[string(s)+"s: "+p.name], p.owner)
				if math.Abs(value/want-1) > 0.02 { // ratios of two rounded values
					t.Errorf("%s of %s is %g, its prior %g", p.name, p.owner, value, want)
				}
				continue
			}
			n[0]++
			n[1] += len(p.owners)
			far := (math.Log(value) - p.believed) / p.spread
			if math.Abs(far) > 1.995 { // two deviations, for values of three digits
				n[2]++
				end := math.Exp(p.believed + math.Copysign(2, far)*p.spread)
				fmt.Fprintf(&ends, "- %s of %s: %.3g, of an end of %.3g\n", p.name, p.owner,
					value, end)
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
	text := constantsIntroduction + table.String() + "\nAt or beyond an end:\n\n" + ends.String() +
		"\nPriors, by constant:\n\n"
	for _, name := range slices.Sorted(maps.Keys(unsaid)) {
		text += "- " + name + " of " + strings.Join(unsaid[name], ", ") + "\n"
	}
	for key := range priors {
		t.Errorf("priors.csv: the fit has no constant %s of %s", key.Name, key.Of)
	}
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

const constantsIntroduction = `# The constants of the fit

A constant of several owners counts once, and its values once for each owner that it is of. The ends
are those of constants.csv, two standard deviations from what is believed without rows. A constant
of which the rows say less than its prior does is its prior (priors.csv), and is not counted as
determined. How many constants the rows are worth in all, ` +
	"`llmsim validate DIR... --fit`" + ` prints.

`
