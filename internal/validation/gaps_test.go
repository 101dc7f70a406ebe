package validation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// gap is a known deviation of predictions from what was measured.
type gap struct {
	Name string
	// What names the servers and the figures, Why the reason as far as it is known, and Settles
	// the measurement that would decide.
	What, Why, Settles string
	Rows               []gapRows
}

// gapRows chooses rows of one table and quantity; what is empty chooses all.
type gapRows struct {
	// Cited says that the table is one that ships; others are measured and lie beside the project.
	Cited                                               bool
	Table, Engine, Version, GPU, Model, DType, Quantity string
	TP                                                  int
}

func (g *gapRows) choose(c *accuracy.Comparison) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return c.Table == g.Table && c.Quantity == g.Quantity && is(g.Engine, c.Engine) &&
		is(g.Version, c.Version) && is(g.GPU, c.GPU) && is(g.Model, c.Model) &&
		is(g.DType, c.DType) && (g.TP == 0 || g.TP == c.TP)
}

// A gap is closed below this median absolute error, in percent. A group of someRows rows of one
// server and quantity or more whose median error is above largeError has to be a known gap.
const (
	closedError = 8
	largeError  = 25
	someRows    = 5
)

const gapsIntroduction = `# Known gaps

Where predictions are known to be wrong, by how much, why, and which measurement would settle it. Errors are absolute, bias is the mean
signed error (below 0: predicted too small). DIR is the folder of measured tables (docs/validation.md). Every group of five rows
or more whose median error is above 25 % is here, and the end of the page lists those of fewer rows. Claims of papers that do not hold are in ` + "`papers/deviations.md`" + `.

`

const toldIntroduction = `# Gaps that results tell

Servers whose predictions were wrong on measurements that this repository does not have or does not compare, so that no row above shows it. A
result of such a server says so (` + "`known_deviations` of its evidence, `scenarios/evidence/known.yaml`" + `). Where it is known what the measured
TPOT is over the predicted one, ranges and chances are moved by that factor; else a range may not hold the error.

| gap | smallest input | what is wrong | factor | what would settle it |
|---|---|---|---|---|
`

// Every gap is one still, its figures are the ones of today, and nothing is far off in silence.
func TestKnownGaps(t *testing.T) {
	var gaps []gap
	testkit.OK(t, files.DecodeYAML(testkit.Read(t, "gaps.yaml"), &gaps))
	measured, cited := measuredReport(t), citedReport(t)
	b := &strings.Builder{}
	b.WriteString(gapsIntroduction)
	known := map[string]bool{}
	for i := range gaps {
		g := &gaps[i]
		if g.What == "" || g.Why == "" || g.Settles == "" || len(g.Rows) == 0 || known[g.Name] {
			t.Errorf("gaps.yaml: %s is not whole, or there twice", g.Name)
		}
		known[g.Name] = true
		fmt.Fprintf(b, "## %s\n\n%s.\n%s\n*What would settle it:* %s\n\n", g.Name, g.What,
			strings.TrimSpace(g.Why), g.Settles)
		b.WriteString("| rows | figure | n | median error | bias | try |\n" +
			"|---|---|---|---|---|---|\n")
		for _, of := range g.Rows {
			report := measured
			if of.Cited {
				report = cited
			}
			rows := report.Rows(of.choose)
			if len(rows) == 0 {
				t.Errorf("%s: no rows of %s are such", g.Name, of.Table)
				continue
			}
			s := accuracy.SumUp(rows)
			if s.Median < closedError {
				t.Errorf("%s, %s: closed: the median error of %d rows is %.1f %%. Take it off "+
					"gaps.yaml", g.Name, of.Quantity, s.N, s.Median)
			}
			fmt.Fprintf(b, "| %s | %s | %d | %.0f %% | %+.0f %% | %s |\n", of.name(), of.Quantity,
				s.N, s.Median, s.Bias, example(rows, s.Median, of.Cited))
		}
		b.WriteByte('\n')
	}
	b.WriteString(toldIntroduction)
	for _, k := range evidence.AllKnown() {
		factor := "–"
		if k.Factor > 0 {
			factor = fmt.Sprintf("%.3g, n = %d (%s)", k.Factor, k.Rows, k.Source)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", k.Name, k.Input(), k.Says, factor,
			k.Settles)
	}
	biases, err := measured.Biases(manyServers)
	testkit.OK(t, err)
	b.WriteString(biasIntroduction)
	for _, x := range biases {
		if max(math.Abs(x.Fit), math.Abs(x.LeftOut)) > largeBias {
			fmt.Fprintf(b, "| %s | %s | %d | %+.1f %% | %+.1f %% |\n", x.Of, x.Metric, x.Servers,
				x.Fit, x.LeftOut)
		}
	}
	b.WriteString(fewIntroduction)
	reportSilent(t, b, measured, gaps)
	upToDate(t, "known-gaps.md", b.String())
}

// A bias of manyServers or more is listed above largeBias, in percent.
const (
	manyServers = 10
	largeBias   = 3
)

const biasIntroduction = `
# Biases

Median errors above 3 % in either direction of ten servers or more that have an engine, an accelerator, a kind of model or a load in
common; each server counts the same. "Left out" is of the same rows under constants fitted without any row of their engine,
accelerator and model. The goal is none. Servers of a second source would say which are the predictions', and which the sources'.

| of | metric | servers | in the fit | left out |
|---|---|---|---|---|
`

const fewIntroduction = `
# Servers of fewer than five rows

Those whose median error is above 25 % and that no gap above has. Medians of absolute errors, with those of
signed errors in brackets. Nothing but more rows of the same server says whether it is the server or the prediction.

| rows | errors | try |
|---|---|---|
`

// name says which rows these are, for people.
func (g *gapRows) name() string {
	words := []string{g.Table}
	for _, w := range []string{g.Engine, g.Version, g.GPU, g.Model, g.DType} {
		if w != "" {
			words = append(words, w)
		}
	}
	if g.TP > 0 {
		words = append(words, fmt.Sprint("TP ", g.TP))
	}
	return strings.Join(words, ", ")
}

// example names the row whose error is nearest the median, with the option that repeats it.
func example(rows []accuracy.Comparison, median float64, cited bool) string {
	off := func(c *accuracy.Comparison) float64 {
		return math.Abs(100*math.Abs(c.Error()) - median)
	}
	row := slices.MinFunc(rows, func(a, b accuracy.Comparison) int {
		return cmp.Or(cmp.Compare(off(&a), off(&b)), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line))
	})
	if row.Engine == "" {
		return fmt.Sprintf("%s:%d", row.File, row.Line)
	}
	if cited {
		return fmt.Sprintf("`validate --row %s:%d`", row.File, row.Line)
	}
	return fmt.Sprintf("`validate DIR --row %s:%d`", row.File, row.Line)
}

// reportSilent fails for groups of one server that are far off and not among the gaps. Those of few
// rows it lists.
func reportSilent(t *testing.T, b *strings.Builder, report *accuracy.Report, gaps []gap) {
	type figure struct {
		gapRows
		server string
	}
	groups := map[figure][]accuracy.Comparison{}
	for _, c := range report.Rows(func(c *accuracy.Comparison) bool {
		return c.Engine != ""
	}) {
		f := figure{gapRows{Table: c.Table, Engine: c.Engine, Version: c.Version, GPU: c.GPU,
			Model: c.Model, DType: c.DType, TP: c.TP, Quantity: c.Quantity}, c.Server}
		groups[f] = append(groups[f], c)
	}
	errors, tries := map[string][]string{}, map[string]string{}
	for f, rows := range groups {
		all := accuracy.SumUp(rows)
		if all.Median <= largeError || slices.ContainsFunc(gaps, func(g gap) bool {
			return slices.ContainsFunc(g.Rows, func(of gapRows) bool {
				return !of.Cited && of.choose(&rows[0])
			})
		}) {
			continue
		}
		if len(rows) >= someRows {
			t.Errorf("not in gaps.yaml: %+v: the median error of %d rows is %.0f %%", f, len(rows),
				all.Median)
			continue
		}
		name := strings.TrimSpace(f.name() + " " + f.server)
		errors[name] = append(errors[name], fmt.Sprintf("%s %.0f (%+.0f) %%", f.Quantity,
			all.Median, accuracy.MedianBias(rows)))
		if row := example(rows, all.Median, false); tries[name] == "" || row < tries[name] {
			tries[name] = row
		}
	}
	for _, name := range slices.Sorted(maps.Keys(errors)) {
		slices.Sort(errors[name])
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, strings.Join(errors[name], "; "),
			tries[name])
	}
}
