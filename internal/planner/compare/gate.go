package compare

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios"
)

// Gate is a limit that a change of configuration must keep, such as "p99_ttft_ms > +5%": it fails a
// variant whose figure is that far from the first variant's.
type Gate struct {
	// Text is the gate as it was written.
	Text string
	// Metric is the name of a figure. Above reports whether values above Limit fail; otherwise
	// values below it fail.
	Metric string
	Above  bool
	// If Relative is set, Limit applies to the difference from the first variant, as a share of its
	// value; for figures in percent, it applies to the difference in percentage points. Otherwise
	// Limit applies to the value, in the figure's unit.
	Limit    float64
	Relative bool
}

// ParseGate reads a gate: a metric, < or >, and a limit. A limit with a percent sign applies to the
// difference from the first variant. For metrics in percent, it does so only if it also has a plus
// or minus sign.
func ParseGate(text string) (Gate, error) {
	form := regexp.MustCompile(`^\s*([a-z0-9_]+)\s*([<>])\s*([+-]?[0-9.]+)\s*(%?)\s*$`)
	parts := form.FindStringSubmatch(text)
	if parts == nil {
		return Gate{}, fmt.Errorf(
			"found %q; want a metric, < or >, and a limit, such as 'p99_ttft_ms > +5%%' or "+
				"'mean_tpot_ms > 40'", text)
	}
	g := Gate{Text: strings.TrimSpace(text), Metric: parts[1], Above: parts[2] == ">",
		Relative: parts[4] == "%"}
	var err error
	if g.Limit, err = strconv.ParseFloat(parts[3], 64); err != nil {
		return Gate{}, fmt.Errorf("found %q; %q is not a number", text, parts[3])
	}
	var names []string
	all := append(measures(true), further()...)
	for _, m := range all {
		names = append(names, m.Name)
	}
	i := slices.Index(names, g.Metric)
	switch {
	case i < 0:
		return Gate{}, errors.New(nearest.Unknown("metric", g.Metric, names))
	case all[i].Unit == scenarios.Percent:
		g.Relative = g.Relative && strings.ContainsAny(parts[3], "+-")
	case g.Relative:
		g.Limit /= 100
	}
	return g, nil
}

// Check is the result of a gate for a variant.
type Check struct {
	Gate    Gate
	Variant string
	// Failed reports whether the variant breaks the limit, and Words says by which figure.
	Failed bool
	Words  string
}

// Check applies gates to all variants except the first. A difference within noise does not fail a
// relative gate. A figure that a variant does not have fails every gate, such as a latency
// if all requests are refused, or a cost if an accelerator has no price.
func (c *Comparison) Check(gates []Gate) []Check {
	var list []Check
	for i := 1; i < len(c.Variants); i++ {
		for _, g := range gates {
			list = append(list, c.check(g, &c.Variants[i]))
		}
	}
	return list
}

// check applies a gate to a variant.
func (c *Comparison) check(g Gate, v *Outcome) Check {
	j := slices.IndexFunc(v.Figures, func(f Figure) bool { return f.Name == g.Metric })
	if j < 0 {
		return Check{Gate: g, Variant: v.Label, Failed: true, Words: g.Metric + ": not all of " +
			"the scenarios have prices of tokens and of accelerators"}
	}
	return g.check(v.Label, &v.Figures[j], c.Variants[0].Figures[j].Value.Mean)
}

func (g Gate) check(variant string, f *Figure, first float64) Check {
	c := Check{Gate: g, Variant: variant, Words: fmt.Sprintf("%s is %s, %s against %s", f.Name,
		amount(f.Value.Mean, f.Unit), f.difference(first), amount(first, f.Unit))}
	none := f.Value.IsZero()
	if none || g.Relative && f.absent() {
		c.Failed = true
		c.Words = fmt.Sprintf("%s: %s, so the limit is broken", f.Name, f.missing(variant))
		if !none {
			c.Words = fmt.Sprintf("%s is %s, and %s to compare with", f.Name,
				amount(f.Value.Mean, f.Unit), f.missing("the first"))
		}
		return c
	}
	value := f.Value.Mean
	if g.Relative {
		value = f.Difference.Mean
		switch {
		case f.Unit == string(scenarios.Percent):
		case first != 0:
			value /= math.Abs(first)
		case value != 0: // any share of nothing, and more
			value = math.Inf(int(math.Copysign(1, value)))
		}
	}
	c.Failed = value > g.Limit == g.Above && value != g.Limit || math.IsNaN(value)
	if g.Relative && c.Failed && !f.BeyondNoise && !math.IsInf(f.Difference.Half, 1) {
		c.Failed, c.Words = false, c.Words+", within noise"
	}
	if f.Unsure {
		c.Words += ", which is less than the predictions may be wrong by"
	}
	return c
}

// missing says why a variant does not have the figure.
func (f *Figure) missing(variant string) string {
	if f.Unit == string(scenarios.Milliseconds) {
		return "no request of " + variant + " has one"
	}
	return variant + " has none"
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

// WriteMarkdown writes the comparison and its checks as tables in Markdown, for the summary of a
// pull request.
func (c *Comparison) WriteMarkdown(out io.Writer, checks []Check) error {
	var b strings.Builder
	for i := 1; i < len(c.Variants); i++ {
		v := &c.Variants[i]
		fmt.Fprintf(&b, "### %s against %s\n\n| | first | this | difference | in 80%% of cases | "+
			"|\n|---|---|---|---|---|---|\n", cell(v.Label), cell(c.Variants[0].Label))
		for j := range v.Figures {
			f, first := &v.Figures[j], c.Variants[0].Figures[j].Value.Mean
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n",
				cell(f.Title), amount(first, f.Unit), amount(f.Value.Mean, f.Unit),
				f.difference(first), f.span(first), f.verdict())
		}
		first := &c.Variants[0]
		fmt.Fprintf(&b, "| SLO | %s | %s | | | |\n", first.slo(), v.slo())
		fmt.Fprintf(&b, "| limit that binds | %s | %s | | | |\n", cell(first.Binds), cell(v.Binds))
		fmt.Fprintf(&b, "| evidence | %s | %s | | | |\n\n", first.Evidence.Grade, v.Evidence.Grade)
	}
	for _, check := range checks {
		mark := "kept"
		if check.Failed {
			mark = "**failed**"
		}
		fmt.Fprintf(&b, "- %s: `%s` on %s: %s\n", mark, check.Gate.Text, cell(check.Variant),
			cell(check.Words))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// cell escapes what would break a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;").Replace(text)
}

// PrintChecks prints the outcome of the gates for people.
func PrintChecks(out io.Writer, checks []Check) error {
	p := report.NewPrinter(out)
	p.Gap()
	for _, c := range checks {
		mark := "kept: "
		if c.Failed {
			mark = "FAILED: "
		}
		p.Item(mark + c.Gate.Text + " on " + c.Variant + ": " + c.Words)
	}
	return p.Err()
}

// Failed returns the number of failed checks.
func Failed(checks []Check) int {
	n := 0
	for i := range checks {
		if checks[i].Failed {
			n++
		}
	}
	return n
}
