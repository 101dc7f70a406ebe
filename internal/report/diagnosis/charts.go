package diagnosis

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// charts draws how the two latencies of tokens are distributed, and the state of the fleet over
// time.
func charts(p *doc.Blocks, r *scenarios.Result) {
	histogram(p, "TTFT", &r.TTFTs)
	histogram(p, "TPOT", &r.TPOTs)
	if len(r.Series) < 2 {
		return
	}
	from := r.Series[0].At.Seconds()
	to := r.Series[len(r.Series)-1].At.Seconds()
	overTime(p, "batch", r.Series, func(s *metrics.Point) float64 { return float64(s.Running) },
		float64(r.PeakRunning), func(most float64) string {
			return fmt.Sprintf("%s in %s", units.Figure(most), units.FormatDuration(to-from))
		})
	overTime(p, "queue", r.Series, func(s *metrics.Point) float64 { return float64(s.Waiting) },
		float64(r.PeakWaiting), func(most float64) string {
			return units.Figure(most) + " waiting"
		})
	several := func(s metrics.Point) bool { return s.Up > 1 }
	overTime(p, "KV cache", r.Series, func(s *metrics.Point) float64 { return s.KVUsage },
		r.PeakKVUsage, func(most float64) string {
			if slices.ContainsFunc(r.Series, several) { // the line is of all replicas together
				return units.Percent(most) + " of a replica's"
			}
			return units.Percent(most)
		})
}

// histogram draws how many requests have which latency.
func histogram(p *doc.Blocks, name string, h *metrics.Histogram) {
	if len(h.Counts) < 2 {
		return
	}
	p.Chart(name, h.Counts, slices.Max(h.Counts),
		fmt.Sprintf("%s to p99 %s", units.FormatDuration(h.Low), units.FormatDuration(h.High)))
}

// overTime draws the samples of a state over time. Full height, which the words tell, is the peak,
// also if it falls between samples.
func overTime(p *doc.Blocks, name string, series []metrics.Point,
	value func(*metrics.Point) float64, peak float64, words func(most float64) string) {
	values := make([]float64, len(series))
	for i := range series {
		values[i] = value(&series[i])
	}
	if most := max(peak, slices.Max(values)); most > 0 {
		p.Chart(name, values, most, "up to "+words(most))
	}
}
