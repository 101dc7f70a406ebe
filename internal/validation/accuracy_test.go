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
