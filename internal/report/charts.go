package report

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
)

// chartWidth leaves room for the words on both sides.
const chartWidth = 36

// charts draws how the two latencies of tokens are distributed, and the state of the fleet over
// time.
func (p *Printer) charts(r *scenarios.Result) {
	p.histogram("TTFT", &r.TTFTs)
	p.histogram("TPOT", &r.TPOTs)
	if len(r.Series) < 2 {
		return
	}
	from := r.Series[0].At.Seconds()
	to := r.Series[len(r.Series)-1].At.Seconds()
	p.overTime("batch", r.Series, func(s *metrics.Point) float64 { return float64(s.Running) },
		float64(r.PeakRunning), func(most float64) string {
			return fmt.Sprintf("%s in %s", figure(most), units.FormatDuration(to-from))
		})
	p.overTime("queue", r.Series, func(s *metrics.Point) float64 { return float64(s.Waiting) },
		float64(r.PeakWaiting), func(most float64) string {
			return figure(most) + " waiting"
		})
	several := func(s metrics.Point) bool { return s.Up > 1 }
	p.overTime("KV cache", r.Series, func(s *metrics.Point) float64 { return s.KVUsage },
		r.PeakKVUsage, func(most float64) string {
			if slices.ContainsFunc(r.Series, several) { // the line is of all replicas together
				return percent(most) + " of a replica's"
			}
			return percent(most)
		})
}

// histogram draws how many requests have which latency.
func (p *Printer) histogram(name string, h *metrics.Histogram) {
	if len(h.Counts) < 2 {
		return
	}
	p.chart(name, Spark(h.Counts, chartWidth, slices.Max(h.Counts)),
		fmt.Sprintf("%s to p99 %s", units.FormatDuration(h.Low), units.FormatDuration(h.High)))
}

// overTime draws the samples of a state over time. Full height, which the words tell, is the peak,
// also if it falls between samples.
func (p *Printer) overTime(name string, series []metrics.Point, value func(*metrics.Point) float64,
	peak float64, words func(most float64) string) {
	values := make([]float64, len(series))
	for i := range series {
		values[i] = value(&series[i])
	}
	if most := max(peak, slices.Max(values)); most > 0 {
		p.chart(name, Spark(values, chartWidth, most), "up to "+words(most))
	}
}

// chart writes a line with a chart between its name and words.
func (p *Printer) chart(name, drawn, words string) {
	p.printf(" %-*s%s  %s\n", entryIndent-1, name,
		p.paint(blue, fmt.Sprintf("%-*s", chartWidth, drawn)), words)
}
