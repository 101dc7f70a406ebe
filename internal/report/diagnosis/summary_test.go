package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// The table of latencies has each statistic of each, or a dash where no request has it, and the
// limit of the SLO where one holds for all requests; tables of classes and pools have a row each.
// A terminal shows a part of the columns that a page shows, and no other.
func TestTablesHaveTheFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &scenarios.Result{}
		some := rapid.SampledFrom([]float64{0, 1.5, 40, 250})
		r.MedianTTFT, r.P99TTFT = some.Draw(t, "ttft"), some.Draw(t, "p99 ttft")
		r.MeanTTFT, r.P90TTFT, r.P95TTFT = 6, 7, 8
		r.MeanTPOT, r.MedianTPOT, r.P90TPOT, r.P95TPOT, r.P99TPOT = 1, 2, 3, 4, 5
		r.MedianE2EL, r.P99E2EL = 100, 200
		r.SLO.TTFT.Request = scenarios.Span(sim.Second)
		if rapid.Bool().Draw(t, "by class") {
			r.ClassSLOs = map[string]scenarios.SLO{"a": {Percentile: 5}}
		}
		r.Classes = map[string]metrics.ClassSummary{"b": {SLOMet: true},
			"a": {Endings: metrics.Endings{Completed: 1, Rejected: 2, TimedOut: 3, Cancelled: 4,
				Cut: 5, Lost: 6}, Latencies: r.Latencies,
				Attainment: metrics.Attainment{All: 0.12345}}}
		sent := r.Classes["a"].Sent()
		r.Pools = []scenarios.PoolResult{{Name: "p", Role: "prefill", Model: "m", Replicas: 2,
			Completed: 3, HandedOver: 4, Busy: 0.12345, Cost: 1.2345}, {Name: "q", Replicas: 1,
			MeanReplicas: 1}}
		dashed := func(x float64) string {
			if x == 0 {
				return "–"
			}
			return ms(x)
		}
		limit := ""
		if !r.ByClass() {
			limit = r.SLO.TTFT.Words()
		}
		tables := append(doc.Blocks{latencies(r)}, parts(r)...)
		for at, want := range map[[2]int][]string{
			{0, 0}: {"6 ms", dashed(r.MedianTTFT), "7 ms", "8 ms", dashed(r.P99TTFT), limit},
			{0, 1}: {"1 ms", "2 ms", "3 ms", "4 ms", "5 ms", ""},
			{0, 2}: {"–", "–", "–", "–", "–", ""},
			{0, 3}: {"–", "100 ms", "–", "–", "200 ms", ""},
			{1, 0}: {fmt.Sprintf("1 of %d", sent), "2", "3", "4", "5", "6", ms(r.MedianTTFT),
				ms(r.P99TTFT), "2 ms", "5 ms", "200 ms", "12% (missed)"},
			{1, 1}: {"0", "0", "0", "0", "0", "0", "0 s", "0 s", "0 s", "0 s", "0 s", "0%"},
			{2, 0}: {"prefill", "m", "0 of 2", "", "7", "12%", "–", "–", "$1.23", "0"},
			{2, 1}: {"", "", "1", "", "0", "0%", "–", "–", "–", "0"},
		} {
			if got := tables[at[0]].Rows[at[1]][1:]; !slices.Equal(got, want) {
				t.Errorf("row %v is %q, want %q", at, got, want)
			}
		}
		for i := range tables {
			page := string(tables[i : i+1].HTML())
			terminal := string(tables[i : i+1].Terminal(false))
			for k, title := range tables[i].Header {
				wide := slices.Contains(tables[i].Wide, k)
				if !strings.Contains(page, ">"+title+"<") ||
					len(title) > 3 && strings.Contains(terminal, title) == wide {
					t.Errorf("column %q, wide %v:\n%s", title, wide, terminal)
				}
			}
		}
	})
}

// A chart of a state over time has each sample, and its full height is the peak, also where that
// falls between samples. What never happens, or has one value only, has no chart.
func TestChartsHaveTheirData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, n := &scenarios.Result{}, rapid.IntRange(0, 50).Draw(t, "samples")
		up := rapid.IntRange(1, 2).Draw(t, "up")
		draw := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
		for i := range n {
			r.Series = append(r.Series, metrics.Point{At: sim.Time(i+3) * sim.Second,
				Running: draw(9, "running"), Waiting: draw(1, "waiting"), Up: up,
				KVUsage: float64(draw(3, "kv")) / 10})
		}
		r.PeakRunning, r.PeakKVUsage = int64(draw(20, "peak")), 0.25
		r.TTFTs = metrics.Histogram{Low: 0.05, High: 0.4, Counts: []float64{1, 9, 4}}
		r.TPOTs = metrics.Histogram{Low: 0.02, High: 0.02, Counts: []float64{50}}
		var list doc.Blocks
		charts(&list, r)
		seen := map[string]doc.Block{}
		for _, b := range list {
			seen[b.Name] = b
		}
		if h := seen["TTFT"]; h.Top != 9 || !slices.Equal(h.Values, r.TTFTs.Counts) ||
			h.Words != "50 ms to p99 400 ms" {
			t.Errorf("%+v", h)
		}
		if _, drawn := seen["TPOT"]; drawn {
			t.Error("a latency that all requests share has a histogram")
		}
		for name, of := range map[string]struct {
			peak  float64
			value func(p *metrics.Point) float64
		}{
			"batch": {float64(r.PeakRunning), func(p *metrics.Point) float64 {
				return float64(p.Running)
			}},
			"queue":    {0, func(p *metrics.Point) float64 { return float64(p.Waiting) }},
			"KV cache": {0.25, func(p *metrics.Point) float64 { return p.KVUsage }},
		} {
			top, sum, got := of.peak, 0.0, 0.0
			for i := range r.Series {
				top, sum = max(top, of.value(&r.Series[i])), sum+of.value(&r.Series[i])
			}
			c, drawn := seen[name]
			for _, v := range c.Values {
				got += v
			}
			if drawn != (n >= 2 && top > 0) || drawn && (len(c.Values) != n || c.Top != top ||
				got != sum) {
				t.Errorf("%s of %d samples with a peak of %g: %+v", name, n, top, c)
			}
		}
		if c, drawn := seen["batch"]; drawn && !strings.HasSuffix(c.Words,
			fmt.Sprintf(" in %s", ms(1000*float64(n-1)))) {
			t.Errorf("%d samples a second apart: %s", n, c.Words)
		}
		if c, drawn := seen["KV cache"]; drawn &&
			strings.HasSuffix(c.Words, "of a replica's") != (up > 1) {
			t.Errorf("%d replicas: %s", up, c.Words)
		}
	})
}
