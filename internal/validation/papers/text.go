package papers

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// claimColumns is the width of the column with the claims.
const claimColumns = 30

// WriteText prints the report for people, 80 columns wide.
func (r *Report) WriteText(w io.Writer) error {
	b := &bytes.Buffer{}
	for i := range r.Papers {
		p := &r.Papers[i]
		fmt.Fprintf(b, "%s\n  %-9s %-*s %10s %9s\n", strings.Join(wrap(p.Title, 80), "\n"),
			"where", claimColumns, "claim", "published", "ours")
		for j := range p.Verdicts {
			p.Verdicts[j].writeText(b)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "%d of %d claims are met;\ninternal/validation/papers/deviations.md says why "+
		"the others are not.\n", r.Met, r.Claims)
	_, err := w.Write(b.Bytes())
	return err
}

func (v *Verdict) writeText(b *bytes.Buffer) {
	says := wrap(v.Says, claimColumns)
	fmt.Fprintf(b, "  %-9s %-*s %10s %9s  %s\n", v.Where, claimColumns, says[0], v.published(),
		v.ours(), v.verdict())
	for _, more := range says[1:] {
		fmt.Fprintf(b, "  %-9s %s\n", "", more)
	}
}

// wrap breaks words into lines of at most a number of columns.
func wrap(words string, columns int) []string {
	lines := strings.Split(text.WrapSoft(words, columns), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// published is the figure of the paper.
func (v *Verdict) published() string {
	switch {
	case v.Between != nil:
		return fmt.Sprintf("%.3g–%.3g %s", v.Between[0], v.Between[1], v.Unit)
	case v.Published != 0:
		return fmt.Sprintf("%.4g %s", v.Published, v.Unit)
	}
	return "holds"
}

func (v *Verdict) ours() string {
	switch ours := v.Ours.(type) {
	case float64:
		return fmt.Sprintf("%.3g %s", ours, v.Unit)
	case bool:
		if ours {
			return "holds"
		}
	}
	return "does not"
}

// verdict says whether ours is close enough, and how close that is.
func (v *Verdict) verdict() string {
	word := "NOT met"
	if v.Met {
		word = "met"
	}
	switch {
	case v.Percent > 0:
		return fmt.Sprintf("%s (±%.3g %%)", word, v.Percent)
	case v.Points > 0:
		return fmt.Sprintf("%s (±%.3g)", word, v.Points)
	case v.AtLeast > 0:
		return fmt.Sprintf("%s (≥ %.3g)", word, v.AtLeast)
	}
	return word
}
