package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/llmsim/llmsim/scenarios"
)

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
