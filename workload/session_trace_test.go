package workload_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/trace"
)

// The later rounds of a recorded session come when the answer before is there and the tools have
// worked, and repeat the session so far with its answers.
func TestRecordedSessions(t *testing.T) {
	path := filepath.Join("trace", "testdata", "tracelab.csv")
	source, err := workload.Open(workload.Config{Trace: &workload.Trace{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
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

// Recorded sessions do not go together with times that are not theirs.
func TestRecordedSessionsRefuse(t *testing.T) {
	path := filepath.Join("trace", "testdata", "tracelab.csv")
	one := workload.Trace{Path: path}
	part := workload.Trace{Path: path, Part: 200 * sim.Millisecond}
	for name, c := range map[string]workload.Config{
		"users":    {Trace: &one, Users: &workload.Users{Count: 1}},
		"arrivals": {Trace: &one, Arrivals: &arrivals.Process{Rate: arrivals.AtOnce{}}},
		"others":   {Traces: []workload.Trace{one, {Path: path, Options: trace.Options{}}}},
		"parts":    {Trace: &part},
	} {
		if _, err := workload.Open(c); err == nil ||
			!strings.Contains(err.Error(), "a trace of sessions plays once") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
