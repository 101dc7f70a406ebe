package report

import (
	"testing"

	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/sim"
)

// Recording a request allocates nothing once the page has its sample, in either format: a run has
// millions.
func TestRecordingAllocatesNothing(t *testing.T) {
	for format, most := range map[string]float64{"csv": 0, "parquet": 0.5} {
		r, err := NewRecorder(t.TempDir(), format)
		must.OK(t, err)
		s := &sim.Sequence{Request: sim.Request{Prompt: 600, Output: 200, Arrival: sim.Second},
			Scheduled: 2 * sim.Second}
		record := func() {
			s.ID++
			r.Finished(s)
		}
		for range 20_000 {
			record()
		}
		if n := testing.AllocsPerRun(20_000, record); n > most {
			t.Errorf("a request in %s allocates %g times", format, n)
		}
		if r.err != nil {
			t.Error(r.err)
		}
		if err := r.Discard(); err != nil {
			t.Error(err)
		}
	}
}
