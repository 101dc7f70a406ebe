package sim_test

import (
	"testing"

	"github.com/llmsim/llmsim/sim"
)

// What is kept of a sequence stays while others come, and does not pass to the next in its slot,
// nor to the same request when it begins anew.
func TestPerSequenceKeepsApart(t *testing.T) {
	var kept sim.PerSequence[int]
	a := &sim.Sequence{Request: sim.Request{ID: 7}, Slot: 0}
	b := &sim.Sequence{Request: sim.Request{ID: 8}, Slot: 1}
	*kept.Of(a) = 70
	*kept.Of(b) = 80
	for id := range int64(100) {
		*kept.Of(&sim.Sequence{Request: sim.Request{ID: id}, Slot: int(2 + id)}) = 1
	}
	if x, y := *kept.Of(a), *kept.Of(b); x != 70 || y != 80 {
		t.Errorf("kept %d and %d, want 70 and 80", x, y)
	}
	for _, s := range []*sim.Sequence{
		{Request: sim.Request{ID: 9}, Slot: 0},
		{Request: sim.Request{ID: 8}, Slot: 1, Retries: 1},
	} {
		if x := *kept.Of(s); x != 0 {
			t.Errorf("request %d, retried %d times, is new and has %d", s.ID, s.Retries, x)
		}
	}
}
