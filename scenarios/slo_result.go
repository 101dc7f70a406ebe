package scenarios

import (
	"fmt"
	"reflect"
	"strings"

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

// rounding bounds how far a share may be outside of its range: steps take whole ticks, and sums of
// floating-point numbers are rounded.
const rounding = 1e-6

// outside names the shares of a result that are not in [0, 1], or in [0, 100] if they are in
// percent, and the figures below 0. Each is an error of llmsim, which the result does not hide, but
// for shares of the accelerators' peaks where a scenario has times of kernels that were measured:
// tables, where set, may be quicker than the data sheet allows.
func (r *Result) outside(tables bool) []string {
	var list []string
	check := func(name string, x, most float64) {
		switch peak := strings.HasSuffix(name, "mfu") || strings.HasSuffix(name, "mbu"); {
		case x >= 0 && x <= most*(1+rounding):
		case tables && peak && x > most:
			list = append(list, fmt.Sprintf("%s is %.3g, above 1: times in the tables of "+
				"hardware.operators are shorter than the peaks of the data sheet allow; the "+
				"tables may be of another accelerator, format or number of accelerators", name, x))
		default:
			list = append(list, fmt.Sprintf("%s is %g, outside of 0 to %g: this is an error of "+
				"llmsim; please report it with the scenario", name, x, most))
		}
	}
	for _, m := range Metrics() {
		if x, found := numberAt(reflect.ValueOf(r).Elem(), m.keys()); found && !m.Signed {
			most := x
			switch m.Unit {
			case Share:
				most = 1
			case Percent:
				most = 100
			}
			check(m.Name, x, most)
		}
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		check(p.Name+": busy", p.Busy, 1)
		check(p.Name+": mfu", p.MFU, 1)
		check(p.Name+": mbu", p.MBU, 1)
		check(p.Name+": cached_tokens", float64(p.CachedTokens), float64(p.AdmittedTokens))
	}
	if f := r.Fleet; f != nil {
		check("link_busy", f.LinkBusy, 1)
	}
	check("cached_tokens", float64(r.CachedTokens), float64(r.TotalInputTokens))
	return list
}
