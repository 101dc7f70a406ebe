package planner

import (
	"errors"
	"testing"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// logged returns an empty log of a scenario with limits of 1 s for TTFT and 100 ms for TPOT.
func logged(t *testing.T) *Observation {
	t.Helper()
	f, err := scenarios.Parse("scenario", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"slo: {ttft: 1s, tpot: 100ms, e2e: 10s}\n"))
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	testkit.OK(t, s.Source.Close())
	return &Observation{Simulation: s, Result: &scenarios.Result{}}
}

// A request in the log has the times and lengths of its sequence, in its own place whatever the
// order in which requests end; one that was cut has the tokens that its user had, and the latency
// that the whole answer would have had; one without an answer has no times.
func TestRequestsByHand(t *testing.T) {
	s := sim.Seconds
	o := logged(t)
	log := (*requestLog)(o)
	whole := &sim.Sequence{Request: sim.Request{ID: 3, Arrival: s(2), Prompt: 50, Output: 11},
		FirstToken: s(2.5), LastToken: s(3.5), Latency: s(0.25)}
	log.Finished(whole)
	if len(o.Requests) != 4 || o.Requests[0] != (Request{}) {
		t.Fatalf("%+v", o.Requests)
	}
	want := Request{Arrival: s(2), Done: s(3.75), TTFT: s(0.75), TPOT: s(0.1), E2E: s(1.75),
		Prompt: 50, Output: 11, Kept: true}
	if o.Requests[3] != want {
		t.Errorf("finished: %+v, want %+v", o.Requests[3], want)
	}
	late := *whole
	late.ID, late.FirstToken = 1, s(3.4)
	log.Finished(&late)
	if r := o.Requests[1]; r.Kept || r.TTFT != s(1.65) {
		t.Errorf("a late first token: %+v", r)
	}
	cut := *whole
	cut.ID, cut.Output, cut.Answered = 0, 21, 11
	log.Ended(&cut, sim.Cancelled, s(3.5))
	want.Cut, want.E2E = true, s(2.75) // the other ten tokens at 100 ms each
	if o.Requests[0] != want {
		t.Errorf("cut: %+v, want %+v", o.Requests[0], want)
	}
	cut.ID, cut.Output = 4, 1000 // at this pace the answer would take longer than its limit
	log.Ended(&cut, sim.Cancelled, s(3.5))
	if r := o.Requests[4]; r.Kept || !r.Cut || r.Output != 11 {
		t.Errorf("cut from a long answer: %+v", r)
	}
	unanswered := *whole
	unanswered.ID = 2
	log.Ended(&unanswered, sim.Cancelled, s(3))
	if o.Requests[2] != (Request{Arrival: s(2), Prompt: 50, Output: 11, Rejected: true}) {
		t.Errorf("without an answer: %+v", o.Requests[2])
	}
	log.Steps(nil)
	log.Sampled(0, 0, sim.State{})
	if len(o.Requests) != 5 {
		t.Errorf("%d requests", len(o.Requests))
	}
	for latency, want := range map[metrics.Latency]sim.Time{metrics.TTFT: s(0.75),
		metrics.TPOT: s(0.1), metrics.E2E: s(1.75)} {
		if got := o.Requests[3].Of(latency); got != want {
			t.Errorf("%s is %v, want %v", latency, got, want)
		}
	}
}

// The steady requests arrive a mean latency before the last one or earlier; of requests that come
// at once all are.
func TestSteadyByHand(t *testing.T) {
	o := &Observation{Result: &scenarios.Result{}}
	if o.Steady() != 0 {
		t.Error("no requests, and some are steady")
	}
	for i := range 11 {
		o.Requests = append(o.Requests, Request{Arrival: sim.Seconds(float64(i))})
	}
	for latency, want := range map[float64]int{2: 9, 2.001: 8, 1.999: 9, 0: 11, 10: 1, 10.5: 11,
		100: 11} {
		if o.Result.MeanE2EL = 1000 * latency; o.Steady() != want {
			t.Errorf("at %g s: %d are steady, want %d", latency, o.Steady(), want)
		}
	}
}

// A reason is the first problem without its place, and any other error as it is.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		err       error
		key, want string
	}{
		{strict.Problems{{Where: "x.yaml:3", Path: "a.b", Message: "too large"}, {Message: "y"}},
			"a.b", "too large"},
		{errors.New("other"), "", "other"}, {strict.Problems{}, "", strict.Problems{}.Error()},
	} {
		if key, got := Reason(c.err); key != c.key || got != c.want {
			t.Errorf("%v: %q: %q", c.err, key, got)
		}
	}
	swept := 0
	for _, m := range Metrics() {
		if m.Swept {
			swept++
		}
	}
	all := 0
	for _, m := range scenarios.Metrics() {
		if m.Swept {
			all++
		}
	}
	if swept != len(Metrics()) || swept != all || swept == 0 {
		t.Errorf("%d of %d metrics are swept, %d are listed", swept, all, len(Metrics()))
	}
}
