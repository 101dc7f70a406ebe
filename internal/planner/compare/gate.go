package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
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
	all := append(measures(true), optionalMeasures()...)
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

// Options say how carefully to compare.
type Options struct {
	// Replications is the number of runs of each variant, each with another seed; at least 2.
	Replications int
	// Confidence is the confidence of all intervals of a table together, in (0, 1).
	Confidence float64
	// Workers is the number of runs at the same time, at least 1. The outcome does not depend on
	// it.
	Workers int
	// NoInterval leaves out the runs that show how wrong the differences may be.
	NoInterval bool
	// Gates are limits that are going to be checked: their metrics are compared too.
	Gates []Gate
}
