package compare

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
)

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
