package report

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// Recording a request allocates nothing once the page has its sample: a run has millions.
func TestRecordingAllocatesNothing(t *testing.T) {
	r, err := NewRecorder(t.TempDir())
	testkit.OK(t, err)
	s := &sim.Sequence{Request: sim.Request{Prompt: 600, Output: 200, Arrival: sim.Second},
		Scheduled: 2 * sim.Second}
	record := func() {
		s.ID++
		r.Finished(s)
	}
	for range 20_000 {
		record()
	}
	if n := testing.AllocsPerRun(20_000, record); n > 0 {
		t.Errorf("a request allocates %g times", n)
	}
	testkit.OK(t, r.err)
	testkit.OK(t, r.Discard())
}
