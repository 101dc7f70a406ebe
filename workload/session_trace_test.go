package workload_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/trace"
)

// The later rounds of a recorded session come when the answer before is there and the tools have
// worked, and repeat the session so far with its answers.
func TestRecordedSessions(t *testing.T) {
	path := filepath.Join("trace", "testdata", "tracelab.csv")
	source, err := workload.Open(workload.Config{Trace: &workload.Trace{Path: path}})
	testkit.OK(t, err)
	defer source.Close()
	const ms = sim.Millisecond
	var last sim.Request
	for n, want := range []struct {
		at             sim.Time
		prompt, output int
	}{{117 * ms, 2318, 200}, {(117 + 1000 + 300) * ms, 2866, 131}} {
		if at := source.NextArrival(); n == 1 && at == 1393*ms { // the other session comes first
			var other sim.Request
			source.Next(&other)
			if other.Session == last.Session || other.Prompt != 901 {
				t.Errorf("%+v", other)
			}
		}
		at := source.NextArrival()
		var r sim.Request
		source.Next(&r)
		if at != want.at || r.Arrival != at || r.Prompt != want.prompt || r.Output != want.output {
			t.Errorf("round %d at %v: %+v", n, at, r)
		}
		if n == 1 && (len(r.Content) != 3 || r.Content[1].ID != last.Answer ||
			r.Content[1].Tokens != last.Output || r.Session != last.Session) {
			t.Errorf("%+v does not repeat %+v", r, last)
		}
		source.Done(&r, at+1000*ms)
		last = r
	}
}

// Recorded times between calls are cut to a bound, and shorter ones stay.
func TestLongWaitsAreCut(t *testing.T) {
	path := filepath.Join("trace", "testdata", "tracelab.csv")
	for bound, want := range map[sim.Time]sim.Time{0: 300, 200: 200, 900: 300} {
		source, err := workload.Open(workload.Config{Requests: 2, Users: &workload.Users{Count: 1},
			Trace: &workload.Trace{Path: path, MaxWait: bound * sim.Millisecond}})
		testkit.OK(t, err)
		var r sim.Request
		source.Next(&r)
		source.Done(&r, sim.Second)
		if got := source.NextArrival() - sim.Second; got != want*sim.Millisecond {
			t.Errorf("a bound of %d ms: the next call comes after %v, want %d ms", bound, got, want)
		}
		testkit.OK(t, source.Close())
	}
}

// Recorded sessions do not go together with times that are not theirs.
func TestRecordedSessionsRefuse(t *testing.T) {
	path := filepath.Join("trace", "testdata", "tracelab.csv")
	one := workload.Trace{Path: path}
	part := workload.Trace{Path: path, Part: 200 * sim.Millisecond}
	for name, c := range map[string]workload.Config{
		"others": {Traces: []workload.Trace{one, {Path: path, Options: trace.Options{}}}},
		"parts":  {Trace: &part},
	} {
		if _, err := workload.Open(c); err == nil ||
			!strings.Contains(err.Error(), "a trace of sessions is played as a whole") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Lanes play recorded sessions one after another, again and again: all calls of each, none before
// the calls that it waits for, and no text of an earlier play.
func TestLanesPlayRecordedSessions(t *testing.T) {
	path := filepath.Join("trace", "testdata", "weka.jsonl")
	const lanes, calls = 2, 7 // of both sessions together
	source, err := workload.Open(workload.Config{Requests: 10 * calls,
		Trace: &workload.Trace{Path: path, Repeat: true}, Users: &workload.Users{Count: lanes}})
	testkit.OK(t, err)
	defer source.Close()
	texts := map[uint64]int64{} // the session that has a text
	sent := map[int64]int32{}
	var waiting []sim.Request
	for {
		at := source.NextArrival()
		if len(waiting) > 0 && (at == sim.Never || waiting[0].Arrival+sim.Second <= at) {
			q := waiting[0]
			waiting = waiting[1:]
			source.Done(&q, q.Arrival+sim.Second)
			continue
		}
		if at == sim.Never {
			break
		}
		var r sim.Request
		source.Next(&r)
		waiting = append(waiting, r)
		sent[r.Session]++
		for _, s := range r.Content {
			if of, there := texts[s.ID]; there && of != r.Session {
				t.Fatalf("session %d has a text of session %d", r.Session, of)
			}
			texts[s.ID] = r.Session
		}
		if n := r.Call.Number; n >= 5 && sent[r.Session] < n {
			t.Fatalf("call %d of session %d comes after %d others", n, r.Session,
				sent[r.Session]-1)
		}
		if open := len(waiting); open > 2*lanes {
			t.Fatalf("%d calls of %d lanes are under way", open, lanes)
		}
	}
	if len(sent) < 20 || sent[1] != 6 || sent[2] != 1 || sent[3] != 6 {
		t.Errorf("calls by session: %v", sent)
	}
}
