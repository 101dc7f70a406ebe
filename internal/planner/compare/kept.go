package compare

import (
	"cmp"
	"math"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/scenarios"
)

// Kept is the figures of one run that was kept as a record.
type Kept struct {
	// Figures are the numbers of the result by their paths, and Ranges the ranges of metrics by
	// their names; empty where the run had none.
	Figures map[string]float64
	Ranges  map[string]scenarios.Range
	// KeepsUp reports whether the run served the load that was offered.
	KeepsUp bool
}

// Line is a figure of two kept runs as people read it: both values, their difference, and the
// verdict in the words of a comparison.
type Line struct {
	Title      string `json:"title"`
	One        string `json:"one"`
	Other      string `json:"other"`
	Difference string `json:"difference"`
	Verdict    string `json:"verdict"`
}

// Between returns the figures of a comparison for two kept runs, of those that both have. A run is
// one sample: the verdict is "one run" where a run has no ranges, and "unsure" where the ranges
// overlap.
func Between(a, b Kept, currency string) (lines []Line) {
	for _, m := range measures(false) {
		path := cmp.Or(m.Path, m.Name)
		x, here := a.Figures[path]
		y, there := b.Figures[path]
		if !here || !there {
			continue
		}
		f := Figure{Name: m.Name, Unit: string(m.Unit), Difference: stats.Interval{
			Mean: difference(y, x), Half: math.Inf(1)},
			Offered: m.Name == "output_throughput" && a.KeepsUp && b.KeepsUp}
		if m.Unit == scenarios.Percent {
			x, y, f.Difference.Mean = 100*x, 100*y, 100*f.Difference.Mean
		}
		if m.Unit == scenarios.Dollars {
			f.Unit = currency
		}
		words := f.difference(x)
		if f.Difference.Mean == 0 {
			f.Difference.Half = 0
		}
		r, knownA := a.Ranges[m.Name]
		s, knownB := b.Ranges[m.Name]
		if knownA && knownB {
			f.Difference.Half, f.BeyondNoise = 0, true
			f.Unsure = r.Low <= s.High && s.Low <= r.High
			f.Better = (y > x) == (m.Better == scenarios.Higher)
		}
		lines = append(lines, Line{cmp.Or(m.Short, m.Name), amount(x, f.Unit), amount(y, f.Unit),
			words, f.verdict()})
	}
	return lines
}
