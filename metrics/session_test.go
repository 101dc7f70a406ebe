package metrics

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// The time of a session is divided into instants in which a call is computed, in which calls only
// wait, and the rest, whichever calls overlap and in whatever order they end.
func TestSessionTimeIsDivided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const seconds = 60
		var c sessions
		var busy, model [seconds]bool
		first, last := seconds, 0
		n := rapid.IntRange(1, 8).Draw(t, "calls")
		for i := range n {
			at := rapid.IntRange(0, 40).Draw(t, "arrival")
			starts := at + rapid.IntRange(0, 9).Draw(t, "queue")
			ends := starts + rapid.IntRange(1, 9).Draw(t, "service")
			first, last = min(first, at), max(last, ends)
			for s := at; s < ends; s++ {
				busy[s] = true
				model[s] = model[s] || s >= starts
			}
			for session := range int64(2) { // alike
				c.finished(&sim.Sequence{
					Request: sim.Request{Session: session, Arrival: sim.Time(at) * sim.Second,
						Prompt: 4, Output: 2,
						Call: sim.Call{Number: int32(i + 1), Turn: int32(i), Of: int32(n)}},
					Cached: 3, Scheduled: sim.Time(starts) * sim.Second, Latency: sim.Second,
					FirstToken: sim.Time(ends-1) * sim.Second,
					LastToken:  sim.Time(ends-1) * sim.Second})
			}
		}
		var computes, queues float64
		for s := range seconds {
			if model[s] {
				computes++
			} else if busy[s] {
				queues++
			}
		}
		s, all := c.summary(), float64(last-first)
		for name, f := range map[string][2]float64{
			"time": {s.Mean, all}, "model": {s.ModelShare, computes / all},
			"queue": {s.QueueShare, queues / all},
			"wait":  {s.WaitShare, (all - computes - queues) / all},
			"input": {s.Input, 4 * float64(n)}, "cached": {s.Cached, 3 * float64(n)},
			"output": {s.Output, 2 * float64(n)}, "calls": {s.Calls, float64(n)},
		} {
			if math.Abs(f[0]-f[1]) > 1e-9*max(1, f[1]) {
				t.Fatalf("%s: %v, want %v", name, f[0], f[1])
			}
		}
		calls := int64(0)
		for i, turns := range s.Turns {
			calls += turns.Calls
			if turns.CachedShare != 0.75 || i > 0 && turns.From != s.Turns[i-1].To+1 {
				t.Fatalf("%+v", s.Turns)
			}
		}
		if calls != 2*int64(n) || s.Completed != 2 || s.Incomplete != 0 || len(c.open) > 0 {
			t.Fatalf("%+v", s)
		}
	})
}

// A session of which a call has no answer is not completed, and one that goes on is not either.
func TestSessionsWithoutAnswers(t *testing.T) {
	var c sessions
	if c.summary() != nil {
		t.Error("sessions without any")
	}
	c.rejected(&sim.Request{Session: 1, Call: sim.Call{Number: 1, Of: 2}})
	c.finished(&sim.Sequence{Request: sim.Request{Session: 1,
		Call: sim.Call{Number: 2, Of: 2}}})
	c.rejected(&sim.Request{Session: 2, Call: sim.Call{Number: 1, Of: 1}})
	c.finished(&sim.Sequence{Request: sim.Request{Session: 3, Call: sim.Call{Number: 1, Of: 2}}})
	c.finished(&sim.Sequence{Request: sim.Request{Session: 4}}) // not followed
	if s := c.summary(); s.Completed != 0 || s.Incomplete != 3 || len(c.open) != 1 {
		t.Errorf("%+v", s)
	}
}
