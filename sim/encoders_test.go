package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// Requests go to replicas when encoders that take them in the order of arrival have encoded and
// sent what they begin with: never before, and as soon as the replica is free.
func TestEncodersTakeTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawFleet(t)
		c.encoders, c.retry.Attempts = rapid.IntRange(1, 3).Draw(t, "number"), 0
		r, all := c.run(t, 0)
		free, sent := make([]sim.Time, c.encoders), make([]sim.Time, c.encoders)
		ready, work := map[int64]sim.Time{}, sim.Time(0)
		for i := range c.requests {
			q := &c.requests[i]
			k := 0
			for j := range free {
				if free[j] < free[k] {
					k = j
				}
			}
			encode, send := c.encode(q)
			free[k] = max(free[k], q.Arrival) + encode
			sent[k] = max(sent[k], free[k]) + send
			ready[int64(i)] = sent[k]
			work += encode
		}
		for _, f := range all.finished {
			if f.Scheduled < ready[f.ID] {
				t.Fatalf("request %d runs at %v, and its images are there at %v", f.ID, f.Scheduled,
					ready[f.ID])
			}
		}
		if r.Encoding != work {
			t.Fatalf("encoders worked for %v, want %v", r.Encoding, work)
		}
	})
}
