package validation

import (
	"testing"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// No group of servers is predicted worse than when its error was recorded. A commit that makes one
// worse renews the record with -update and says why.
func TestNoGroupIsWorseThanRecorded(t *testing.T) {
	report := measuredReport(t)
	if *update {
		stored(t, "accuracy/groups.csv", report.GroupErrors())
		return
	}
	for _, problem := range report.Worsened() {
		t.Error(problem)
	}
	if got, want := len(report.GroupErrors()), len(accuracy.Recorded()); got < want || want < 100 {
		t.Errorf("%d groups, recorded %d; want 100 and more", got, want)
	}
}
