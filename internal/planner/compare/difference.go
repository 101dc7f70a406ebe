package compare

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// absent reports whether one of two variants has no such figure, so that there is no difference.
func (f *Figure) absent() bool { return f.Difference.IsZero() }

// difference prints how a figure differs from its value in the first variant.
func (f *Figure) difference(base float64) string {
	if f.absent() {
		return "–"
	}
	if f.Unit == string(scenarios.Percent) {
		return points(f.Difference)
	}
	return relative(f.Difference, f.shareBase(base))
}

// shareBase returns the value of which a difference is printed as a share. It is 0 for a figure
// that may be negative, whose differences are printed in its unit.
func (f *Figure) shareBase(base float64) float64 {
	if scenarios.MetricNamed(f.Name).Signed {
		return 0
	}
	return base
}

// points prints a difference of two percentages, with its interval in brackets.
func points(d stats.Interval) string {
	words := signed(d.Mean) + " points"
	if d.Half == 0 || math.IsInf(d.Half, 1) {
		return words
	}
	return fmt.Sprintf("%s [%s, %s]", words, signed(d.Mean-d.Half), signed(d.Mean+d.Half))
}

// relative prints a difference as a share of a value, or as a ratio where it is large, with its
// interval in brackets.
func relative(d stats.Interval, base float64) string {
	known := d.Half != 0 && !math.IsInf(d.Half, 1)
	low, high := d.Mean-d.Half, d.Mean+d.Half
	if base == 0 {
		if known {
			return fmt.Sprintf("%s [%s, %s]", units.Signed(d.Mean, 3), units.Signed(low, 3),
				units.Signed(high, 3))
		}
		return units.Signed(d.Mean, 3)
	}
	base = math.Abs(base)
	low = max(low, -base) // the interval is cut where figures end, which are not below 0
	words := share(d.Mean, base)
	switch r := 1 + d.Mean/base; {
	case !known:
		return words
	case r >= 2:
		return fmt.Sprintf("%s [%s, %s]", words, times(1+low/base), times(1+high/base))
	case r <= 0.5:
		return fmt.Sprintf("%s [%s, %s]", words, fewer(1+high/base), fewer(1+low/base))
	}
	return fmt.Sprintf("%s [%s, %s]", words, signed(100*low/base), signed(100*high/base))
}

// share prints a difference as a percentage of a value, or as a number of times where it is twice
// or half and beyond: 41 times, 12 times less.
func share(x, base float64) string {
	if base == 0 {
		return units.Signed(x, 3)
	}
	change := x / math.Abs(base)
	switch r := 1 + change; {
	case r >= 2:
		return times(r) + " times"
	case r > 0 && r <= 0.5:
		return fewer(r) + " times less"
	}
	return signed(100*change) + "%"
}

// signed prints a percentage with two digits, and never with an exponent.
func signed(percent float64) string {
	if math.Abs(percent) >= 10 {
		return fmt.Sprintf("%+.0f", percent)
	}
	return units.Signed(percent, 2)
}

// times prints a ratio with two digits, and never with an exponent.
func times(ratio float64) string {
	if ratio >= 10 {
		return report.Figure(math.Round(ratio))
	}
	return units.Significant(ratio, 2)
}

// fewer prints a share below 1 as a number of times less.
func fewer(share float64) string {
	if share <= 0 {
		return "∞"
	}
	return times(1 / share)
}

// span prints the range of the difference as shares of a value, or as ratios where they are large;
// nothing where it is not known.
func (f *Figure) span(base float64) string {
	if f.Range == nil || f.absent() {
		return ""
	}
	low, high, base := f.Range.Low, f.Range.High, f.shareBase(base)
	if base != 0 { // the range is cut where figures end, which are not below 0
		low, high = max(low, -math.Abs(base)), max(high, -math.Abs(base))
	}
	return fmt.Sprintf("%s to %s", share(low, base), share(high, base))
}

func (f *Figure) verdict() string {
	switch {
	case f.absent():
		return "–"
	case f.Difference.Mean == 0 && f.Difference.Half == 0:
		return "the same"
	case f.Offered:
		return "as offered"
	case math.IsInf(f.Difference.Half, 1):
		return "one run"
	case !f.BeyondNoise:
		return "noise"
	case f.Unsure:
		return "unsure"
	case f.Better:
		return "better"
	}
	return "worse"
}

// slo says in how many of the runs the SLO is met.
func (v *Outcome) slo() string {
	switch v.SLOMet {
	case 0:
		return "missed"
	case 1:
		return "met"
	}
	return "met in " + report.Percent(v.SLOMet)
}

// amount prints a value with its unit, or a dash for none.
func amount(x float64, unit string) string {
	if math.IsNaN(x) {
		return "–"
	}
	switch unit {
	case "ms":
		return units.FormatDuration(x / 1000)
	case "$":
		if x < 0 {
			return "-$" + report.Figure(-x)
		}
		return "$" + report.Figure(x)
	case "%":
		return report.Percent(x / 100)
	case "1/s":
		return report.Figure(x) + "/s"
	}
	return report.Figure(x) + " " + unit
}
