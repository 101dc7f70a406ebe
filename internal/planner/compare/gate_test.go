package compare

import (
	"bytes"
	"encoding/xml"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/stats"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// What a gate says of a figure and of the first variant's: differences are shares of the first, of
// percentages points, and any share of nothing is too much. What nobody has keeps no limit.
func TestGates(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		gate        string
		first, this float64
		sure        bool
		failed      bool
	}{
		{"p99_ttft_ms > +5%", 100, 106, true, true},
		{"p99_ttft_ms > 5%", 100, 106, true, true},
		{"p99_ttft_ms > +5%", 100, 106, false, false}, // within noise
		{"p99_ttft_ms > +5%", 100, 105, true, false},
		{"p99_ttft_ms > +5%", 100, none, true, true}, // all are refused
		{"p99_ttft_ms > 500", 100, none, true, true},
		{"p99_tpot_ms > +5%", none, 8, true, true}, // answers of the first had one token
		{"p99_tpot_ms > 30", none, 8, true, false},
		{"p99_tpot_ms > +5%", none, none, true, true},
		{"output_throughput < -5%", 100, 94, true, true},
		{"output_throughput < -5%", 100, 96, true, false},
		{"cost_per_million_output_tokens > +5%", none, 0.01, true, true}, // the first has no price
		{"cost_per_million_output_tokens > +5%", none, none, true, true},
		{"slo_attainment < 99%", 100, 98.5, true, true},
		{"slo_attainment < 99", 100, 98.5, true, true},
		{"slo_attainment < 99%", 100, 99.5, true, false},
		{"slo_attainment < -1%", 50, 48.5, true, true},
		{"slo_attainment < -1%", 50, 49.2, true, false}, // less than a point
	} {
		g, err := ParseGate(c.gate)
		testkit.OK(t, err)
		metric := scenarios.MetricNamed(g.Metric)
		if g.Metric == "slo_attainment" {
			metric = metric.InPercent()
		}
		f := &Figure{Name: g.Metric, Unit: string(metric.Unit), Value: stats.Interval{Mean: c.this},
			Difference: stats.Interval{Mean: c.this - c.first}, BeyondNoise: c.sure}
		check := g.check("this", f, c.first)
		if check.Failed != c.failed {
			t.Errorf("%s, %g against %g: failed %t, want %t; %s", c.gate, c.this, c.first,
				check.Failed, c.failed, check.Words)
		}
		var report bytes.Buffer
		testkit.OK(t, WriteJUnit(&report, []Check{check}))
		var read struct {
			Failures int `xml:"failures,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		}
		if err := xml.Unmarshal(report.Bytes(), &read); err != nil ||
			(read.Failures == 1) != c.failed || (read.Cases[0].Failure != nil) != c.failed ||
			read.Cases[0].Name != c.gate {
			t.Errorf("%v: %s", err, report.Bytes())
		}
	}
}
