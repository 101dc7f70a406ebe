package compare

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Blocks says the comparison, and the outcome of its gates.
func (c *Comparison) Blocks(checks []Check) (p doc.Blocks) {
	first := &c.Variants[0]
	p.Heading(first.Label)
	p.Text(first.Setup)
	p.Text(first.Load)
	p = append(p, c.differences()...)
	if len(checks) > 0 {
		p.Gap()
	}
	return append(p, outcomes(checks)...)
}

// differences says how each variant differs from the first, and what the figures rest on.
func (c *Comparison) differences() (p doc.Blocks) {
	for i := 1; i < len(c.Variants); i++ {
		p.Gap()
		c.addVariant(&p, &c.Variants[i])
	}
	p.Gap()
	for _, words := range c.basis() {
		p.Text(words)
	}
	for i := range c.Variants {
		if !c.Variants[i].Settled {
			p.Text(fmt.Sprintf(
				"Note: %s does not reach a steady state: its latencies change over the whole "+
					"run, and a longer run would show others. Either more requests arrive than "+
					"it can serve, or the run has too few requests.",
				c.Variants[i].Label))
		}
	}
	return p
}

// outcomes says which gates hold.
func outcomes(checks []Check) (p doc.Blocks) {
	for _, c := range checks {
		mark := "kept: "
		if c.Failed {
			mark = "FAILED: "
		}
		p.Item(mark + c.Gate.Text + " on " + c.Variant + ": " + c.Words)
	}
	return p
}

// basis says what the figures rest on.
func (c *Comparison) basis() []string {
	var list []string
	if c.Replications == 1 {
		list = append(list, "The results do not depend on the seed, so each scenario runs once. "+
			"The differences have no intervals, and would be others with other requests.")
	} else {
		list = append(list, fmt.Sprintf(
			"%d runs of each with the same %d seeds. Intervals [in brackets] and “noise” are at "+
				"%s%% confidence for all figures of a table together.",
			c.Replications, c.Replications, units.Significant(100*c.Confidence, 4)))
	}
	if c.anyUnsure() {
		list = append(list, "“Unsure” differences are more than noise, but the range for wrong "+
			"predictions, which holds in 80% of cases, contains 0. Scenarios on the same "+
			"accelerators under the same engine share their errors, which cancel and are left out.")
	}
	if c.Recorded && c.Replications > 1 {
		list = append(list, "A recorded trace is one sample: the intervals cover the random "+
			"draws of the simulation, and not other days.")
	}
	list = append(list, "Tokens/s counts the answers that end while requests arrive. Prices "+
		"are at the offered rate if all runs keep up with it, and else over whole runs, as energy "+
		"and the gaps between tokens (ITL) are.")
	if c.NoWarmUp != "" {
		list = append(list, "Whole runs are compared: "+c.NoWarmUp+".")
	} else {
		list = append(list, fmt.Sprintf(
			"The first %d requests of every run are warm-up and left out.", c.WarmUp))
	}
	return list
}

// addVariant says how a variant differs from the first.
func (c *Comparison) addVariant(p *doc.Blocks, v *Outcome) {
	first := &c.Variants[0]
	p.Heading(v.Label + " against " + first.Label)
	for _, change := range v.Changes {
		p.Item(change.String())
	}
	if len(v.Changes) == 0 {
		p.Item("no key differs")
	}
	rows := make([][]string, len(v.Figures))
	for i := range v.Figures {
		f := &v.Figures[i]
		base := first.Figures[i].Value.Mean
		rows[i] = []string{f.Title, amount(base, f.Unit), amount(f.Value.Mean, f.Unit),
			f.difference(base), f.span(base), f.bar(base), f.verdict()}
	}
	rows = append(rows,
		[]string{"SLO", first.slo(), v.slo(), "", "", "", ""},
		[]string{"evidence", string(first.Evidence.Grade), string(v.Evidence.Grade), "", "", "",
			""})
	table := p.Table([]string{"", "first", "this", "difference", "in 80% of cases", "", ""}, rows,
		0, 6)
	table.Wide, table.Drawn = []int{4}, []int{5}
	if first.Binds+v.Binds != "" {
		p.Text(fmt.Sprintf("The limit that binds: %s of the first, %s of this.", first.Binds,
			v.Binds))
	}
	if len(v.Effects) > 0 {
		p.Gap()
		c.addEffects(p, v)
	}
}

// headline names the figures that show the effects of changes.
func headline() []string {
	return []string{"p99_ttft_ms", "p99_tpot_ms", "output_throughput", "slo_attainment",
		"cost_per_million_output_tokens"}
}

func (c *Comparison) addEffects(p *doc.Blocks, v *Outcome) {
	p.Text("Which change matters? Each alone:")
	header := []string{"change"}
	var rows [][]string
	var impossible []string
	for i := range v.Effects {
		e := &v.Effects[i]
		if e.Impossible != "" {
			impossible = append(impossible, fmt.Sprintf("%s cannot be changed alone: %s",
				e.keys(), e.Impossible))
			continue
		}
		row := []string{e.keys()}
		for _, name := range headline() {
			for j := range e.Figures {
				if f := &e.Figures[j]; f.Name == name {
					row = append(row, e.cell(f, c.Variants[0].Figures[j].Value.Mean))
					if len(rows) == 0 {
						header = append(header, f.Title)
					}
				}
			}
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		p.Table(header, rows, 0)
	}
	for _, words := range impossible {
		p.Item(words)
	}
}

func (e *Effect) keys() string { return keys(append([]Change{e.Change}, e.With...)) }

func (e *Effect) cell(f *Figure, base float64) string {
	switch {
	case f.absent():
		return "–"
	case !f.BeyondNoise && !math.IsInf(f.Difference.Half, 1):
		return "noise"
	case f.Unit == string(scenarios.Percent):
		return points(stats.Interval{Mean: f.Difference.Mean})
	}
	return share(f.Difference.Mean, f.shareBase(base))
}

// bar draws the difference as a share of a value, lightly where it is within noise. It is full at
// 100 %.
func (f *Figure) bar(base float64) string {
	if f.absent() {
		return ""
	}
	change := f.Difference.Mean
	if base != 0 {
		change /= math.Abs(base)
	}
	return doc.Change(change, 5, f.BeyondNoise)
}

// anyUnsure reports whether a difference is called unsure.
func (c *Comparison) anyUnsure() bool {
	return slices.ContainsFunc(c.Variants, func(v Outcome) bool {
		return slices.ContainsFunc(v.Figures, func(f Figure) bool { return f.Unsure })
	})
}

// WritePage writes the comparison as a page: the differences with their intervals, then a run of
// each variant.
func (c *Comparison) WritePage(out io.Writer) error {
	first := &c.Variants[0]
	title := first.Label + " and what changes"
	if len(c.Variants) == 2 {
		title = c.Variants[1].Label + " against " + first.Label
	} else if len(c.Variants) > 2 {
		title = fmt.Sprintf("%s against %d others", first.Label, len(c.Variants)-1)
	}
	return page.WriteComparison(out, title, c.differences(), c.runs)
}

// WriteJUnit writes checks as a JUnit report, which build servers read.
func WriteJUnit(out io.Writer, checks []Check) error {
	type failure struct {
		Message string `xml:"message,attr"`
	}
	type testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *failure `xml:"failure,omitempty"`
		Out     string   `xml:"system-out,omitempty"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: "llmsim compare", Tests: len(checks)}
	for _, c := range checks {
		one := testcase{Class: c.Variant, Name: c.Gate.Text, Out: c.Words}
		if c.Failed {
			suite.Failures++
			one.Failure = &failure{c.Words}
		}
		suite.Cases = append(suite.Cases, one)
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

// WriteMarkdown writes the differences and the checks as Markdown, for the summary of a pull
// request.
func (c *Comparison) WriteMarkdown(out io.Writer, checks []Check) error {
	return append(c.differences(), outcomes(checks)...).Markdown(out)
}
