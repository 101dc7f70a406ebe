package fit

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
)

// explained is a quantity whose error left out of the fit is more than mostRatio times the error in
// it, with the ratio of the last fit and the reason.
type explained struct {
	Table    string  `csv:"table"`
	Quantity string  `csv:"quantity"`
	Ratio    float64 `csv:"ratio"`
	Reason   string  `csv:"reason"`
}

// mostGrowth is by how much the ratio of an explained quantity may grow before its reason has to be
// looked at again.
const mostGrowth = 0.2

// compared is a line of errors.md, whose figures are rounded to a tenth of a percent.
type compared struct {
	table, quantity string
	fitted, leftOut float64
	marked          bool
}

// ratio is the larger error left out over the fitted one; 0 where nothing could be left out. A
// fitted error that is printed as 0.0 is below 0.05.
func (c *compared) ratio() float64 { return c.leftOut / max(0.05, c.fitted) }

// comparedIn reads the lines of errors.md.
func comparedIn(t *testing.T, page string) (list []compared) {
	t.Helper()
	number := func(cell string) float64 {
		x, err := strconv.ParseFloat(cell, 64)
		testkit.OK(t, err)
		return x
	}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 7 || cells[0] == "table" {
			continue
		}
		c := compared{table: cells[0], quantity: cells[1]}
		fitted, marked := strings.CutSuffix(cells[4], "*")
		c.fitted, c.marked = number(fitted), marked
		for _, cell := range cells[5:] {
			if cell != "–" {
				c.leftOut = max(c.leftOut, number(cell))
			}
		}
		list = append(list, c)
	}
	return list
}

// faults lists what is wrong with the ratios of a page of errors and their explanations: a ratio
// that is too large without a reason, one that grew, and a reason that nothing needs.
func faults(list []compared, reasons []explained) (found []string) {
	type place struct{ table, quantity string }
	known := map[place]explained{}
	for _, e := range reasons {
		known[place{e.Table, e.Quantity}] = e
	}
	for _, c := range list {
		at := place{c.table, c.quantity}
		e, is := known[at]
		switch delete(known, at); {
		case c.marked && !is:
			found = append(found, fmt.Sprintf("%v: the ratio is %.2f, without a reason", at,
				c.ratio()))
		case c.marked && c.ratio() > e.Ratio+mostGrowth:
			found = append(found, fmt.Sprintf("%v: the ratio grew from %.2f to %.2f", at, e.Ratio,
				c.ratio()))
		case !c.marked && is:
			found = append(found, fmt.Sprintf("%v: no longer above %g", at, mostRatio))
		}
	}
	for at := range known {
		found = append(found, fmt.Sprintf("%v: not in errors.md", at))
	}
	return found
}

// Errors left out are at most mostRatio times those in the fit, or it is known why, and they do not
// grow. The page marks those above, and says how many they are.
func TestErrorsLeftOutAreNearThoseInTheFit(t *testing.T) {
	page := string(testkit.Read(t, "../errors.md"))
	reasons := files.MustReadTable[explained]("ratios.csv",
		string(testkit.Read(t, "ratios.csv")))
	list, marked := comparedIn(t, page), 0
	for _, c := range list {
		if c.marked {
			marked++
		}
		if c.marked && c.leftOut+0.05 < mostRatio*(c.fitted-0.05) ||
			!c.marked && c.leftOut-0.05 > mostRatio*(c.fitted+0.05) {
			t.Errorf("errors.md marks it wrongly: %+v", c)
		}
	}
	if want := fmt.Sprintf("%d of %d quantities", marked, len(list)); marked == 0 ||
		!strings.Contains(page, want) {
		t.Errorf("errors.md does not say %q", want)
	}
	for _, fault := range faults(list, reasons) {
		t.Errorf("ratios.csv: %s", fault)
	}
	for _, e := range reasons {
		if len(strings.Fields(e.Reason)) < 8 {
			t.Errorf("%s, %s: %q is no reason", e.Table, e.Quantity, e.Reason)
		}
	}
}

// Each way in which a fit can describe servers more than machines is found.
func TestRatiosAreJudged(t *testing.T) {
	at := func(leftOut float64) []compared {
		return []compared{{"t", "q", 10, leftOut, leftOut > 13}}
	}
	reason := []explained{{"t", "q", 1.5, "why"}}
	for _, c := range []struct {
		list    []compared
		reasons []explained
		want    string
	}{
		{at(12), nil, ""}, {at(15), reason, ""}, {at(16.9), reason, ""},
		{at(15), nil, "without a reason"}, {at(17.1), reason, "grew from 1.50 to 1.71"},
		{at(12), reason, "no longer above"}, {nil, reason, "not in errors.md"},
	} {
		got := strings.Join(faults(c.list, c.reasons), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v with %v: %q, want %q", c.list, c.reasons, got, c.want)
		}
	}
}
