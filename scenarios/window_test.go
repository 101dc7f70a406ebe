package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// A fleet that dies early serves less and costs the same: every rate, cost and share is taken over
// the time for which requests were asked for.
func TestOutagesMakeNothingCheaper(t *testing.T) {
	hourly, last := 0.0, 0.0
	for i, at := range []int{200, 100, 30, 10} {
		r := runYAML(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: 10/s, "+
			"duration: 5m}\nslo: {ttft: 500ms, tpot: 30ms}\n",
			fmt.Sprintf("fleet.outages=[{replica: 0, at: %ds}]", at))
		if r.Duration != 300 || r.Window != "from the start until the asked duration was over" {
			t.Errorf("dead after %d s: the window is %v s, %s", at, r.Duration, r.Window)
		}
		if most := float64(r.Completed) / 300; r.Goodput > most || r.RequestThroughput != most ||
			r.Busy > float64(at)/300 {
			t.Errorf("dead after %d s: %d requests completed, %g/s in the SLO, %g busy", at,
				r.Completed, r.Goodput, r.Busy)
		}
		hour := r.Cost / r.Duration * 3600
		if i > 0 && (hour != hourly || r.CostPerMillion <= last) {
			t.Errorf("dead after %d s: $%g an hour, $%g a million tokens; later, $%g and $%g", at,
				hour, r.CostPerMillion, hourly, last)
		}
		hourly, last = hour, r.CostPerMillion
	}
}

// The window is there without an answer too, and covers the steps that ran.
func TestWindowWithoutAnswers(t *testing.T) {
	r := runYAML(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: 200/s, "+
		"duration: 20s, patience: 1ms, output: 400}\n")
	if r.Completed != 0 || r.Duration < 20 || r.Duration > 20.1 ||
		r.Cost == 0 || r.Busy == 0 || r.Busy > 1 ||
		r.Energy == 0 {
		t.Errorf("%d completed in %v s, $%g, %g busy, %g Wh", r.Completed, r.Duration, r.Cost,
			r.Busy, r.Energy)
	}
}

// Where no request is answered, a result has no latencies and no price of a token, rather than
// zeros.
func TestWhatNoRequestHasIsAbsent(t *testing.T) {
	file, err := Parse("none.yaml", []byte("model: gpt2\nhardware: h100-sxm\n"+
		"workload: {rate: 10/s, requests: 20, patience: 1us}\n"))
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	r, err := s.Run(context.Background())
	testkit.OK(t, err)
	text, err := json.Marshal(r)
	testkit.OK(t, err)
	var keys map[string]any
	testkit.OK(t, json.Unmarshal(text, &keys))
	if r.Cancelled != 20 || keys["cost"] == nil {
		t.Fatalf("%d cancelled, cost %v", r.Cancelled, keys["cost"])
	}
	for key, value := range keys {
		if strings.HasSuffix(key, "_ms") || strings.Contains(key, "per_million") {
			t.Errorf("%s is %v", key, value)
		}
	}
}

// A link is not taken for longer than the run lasts, although the KV caches of users who have left
// are still on their way.
func TestLinksAreNotTakenBeyondTheRun(t *testing.T) {
	file, err := Parse("links.yaml", []byte(`
model: llama-2-7b
hardware: l4
steps: {prefill: {step: 13ms}, decode: {step: 7ms}}
workload: {requests: 60, prompt: {distribution: uniform, min: 1, max: 900}, output: 2,
  arrivals: at-once, patience: 200ms}
fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}], transfer: {whole: true}}
`))
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	r, err := s.Run(context.Background())
	testkit.OK(t, err)
	if r.Cancelled == 0 || r.Fleet.LinkBusy < 0.5 || r.Fleet.LinkBusy > 1 {
		t.Errorf("%d cancelled, the link is taken for %v of the run", r.Cancelled,
			r.Fleet.LinkBusy)
	}
}
