package validation

import "testing"

// The picture of a table shows each of its comparisons once, predicted over measured, in the colour
// of its quantity or accelerator.
func TestPicturesShowEveryComparison(t *testing.T) {
	type point struct{ measured, predicted float64 }
	report := citedReport(t)
	for i := range report.Tables {
		table := &report.Tables[i]
		missing := map[point]int{}
		for _, c := range table.Rows {
			missing[point{c.Measured, c.Predicted}]++
		}
		picture := table.Accuracy()
		for _, s := range picture.Series {
			if s.Name == "" || len(s.Measured) != len(s.Predicted) {
				t.Errorf("%s: a series %q of %d and %d numbers", table.Name, s.Name,
					len(s.Measured), len(s.Predicted))
			}
			for j := range s.Measured {
				missing[point{s.Measured[j], s.Predicted[j]}]--
			}
		}
		for p, n := range missing {
			if n != 0 {
				t.Errorf("%s: predicted %g, measured %g is shown %d times too few", table.Name,
					p.predicted, p.measured, n)
			}
		}
		if _, err := picture.Draw(); err != nil || picture.Unit == "" {
			t.Errorf("%s: %v, unit %q", table.Name, err, picture.Unit)
		}
	}
}

// Errors of the tables that ship, with their sources, stay where they are known to be, in percent
// by the median: every checkout checks this, also one without other measurements.
func TestCitedTablesArePredicted(t *testing.T) {
	known := map[string]float64{"vllm_runs, TTFT mean": 2.0, "vllm_runs, TPOT mean": 0.5,
		"kv_blocks, KV blocks": 7.3, "closed_loop, TTFT mean": 14.0, "closed_loop, TPOT mean": 15.3,
		"closed_loop, output rate": 10.1, "offline_throughput, output rate": 5.2,
		"first_token_latency, first token": 16.1, "token_time, token": 5.5}
	summary := citedReport(t).Summary()
	for i := range summary.Tables {
		table := &summary.Tables[i]
		for _, q := range table.Quantities {
			name := table.Name + ", " + q.Quantity
			most, listed := known[name]
			if delete(known, name); !listed || q.Median > most*1.1+0.5 {
				t.Errorf("%s: the median error of %d rows is %.1f %%, known is %g %%", name, q.N,
					q.Median, most)
			}
		}
	}
	if len(known) > 0 {
		t.Errorf("no row has %v", known)
	}
}
