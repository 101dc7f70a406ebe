package fit

import (
	"fmt"
	"io"
	"strings"
)

// WriteText prints the factors, and the errors before and after.
func (r *Result) WriteText(to io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s%-10s%-12s%s\n", "factor", "value", "deviation", "of")
	factors := Factors()
	for i, f := range r.Factors {
		if !r.problem.free[i] {
			continue
		}
		known := ""
		if !f.Learnt {
			known = " (the data say no more than was believed before)"
		}
		if f.Bound {
			known = " (" + f.atBound() + ")"
		}
		deviation := fmt.Sprintf("%.1f %%", 100*f.Deviation)
		if factors[i].trip() {
			deviation = fmt.Sprintf("%.3f", f.Deviation)
		}
		fmt.Fprintf(&b, "%-12s%-10.3f±%-11s%s%s\n", f.Name, f.Value, deviation, f.Of, known)
	}
	for _, held := range []bool{false, true} {
		title := "in the fit"
		if held {
			title = "held out"
		}
		fmt.Fprintf(&b, "\nerrors %s\n", title)
		n := 0
		for _, e := range r.Errors {
			if e.Held == held {
				fmt.Fprintf(&b, "  %-44s %-12s before %+7.1f %%   after %+7.1f %%\n",
					ending(e.Run, 44), e.Quantity, 100*e.Before, 100*e.After)
				n++
			}
		}
		if n == 0 {
			fmt.Fprintf(&b, "  none: there is too little data, so that no error is claimed\n")
		}
	}
	for _, why := range r.Refusals() {
		fmt.Fprintf(&b, "\nrefused: %s\n", why)
	}
	if len(r.Next) > 0 {
		n := &r.Next[0]
		fmt.Fprintf(&b, "\nmeasure next: %s. The %s of the scenario's workload is known to "+
			"±%.1f %%, and would be to ±%.1f %%\n", n.Load, n.Figure, 100*n.Now, 100*n.Then)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// ending returns the last n letters of a name: names of files of a sweep begin alike.
func ending(name string, n int) string {
	letters := []rune(name)
	if len(letters) <= n {
		return name
	}
	return "…" + string(letters[len(letters)-n+1:])
}
