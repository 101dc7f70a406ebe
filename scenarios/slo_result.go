package scenarios

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
)

// LimitWords returns the measured value for each limit of a percentile, and the limit that binds,
// in words.
func (r *Result) LimitWords() []string {
	var list []string
	for i := range r.Limits {
		if l := &r.Limits[i]; !l.Joint {
			list = append(list, limitWords(l))
		}
	}
	switch b := metrics.Binding(r.Limits); {
	case r.Binds == "":
	case b != nil && r.Binds == b.Name() && b.Joint:
		list = append(list, fmt.Sprintf("%s binds, %s of %s", r.Binds,
			units.FormatDuration(b.Measured/1000), units.FormatDuration(b.Limit/1000)))
	default:
		list = append(list, r.Binds+" binds")
	}
	return list
}

// limitWords returns the measured value, and whether the limit is kept, in words.
func limitWords(l *metrics.LimitResult) string {
	sign := "≤"
	if l.Measured > l.Limit {
		sign = ">"
	}
	words := fmt.Sprintf("%s %s %s %s", l.Name(), units.FormatDuration(l.Measured/1000), sign,
		units.FormatDuration(l.Limit/1000))
	if !l.Met {
		words += " (missed)"
	}
	return words
}
