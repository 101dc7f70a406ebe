package validation

import "testing"

// No group of servers is predicted worse than when its error was recorded. A commit that makes one
// worse renews the record with -update and says why.
func TestNoGroupIsWorseThanRecorded(t *testing.T) {
	report := measuredReport(t)
	if *update {
		stored(t, "accuracy/errors.csv", report.Errors())
		return
	}
	worse, recorded := report.Worsened()
	for _, problem := range worse {
		t.Error(problem)
	}
	if got := len(report.GroupErrors()); got < recorded || recorded < 100 {
		t.Errorf("%d groups, recorded %d; want 100 and more", got, recorded)
	}
}
