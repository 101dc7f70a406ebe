package remedy

import (
	"context"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// tried runs a scenario and tries what would help.
func tried(t *testing.T, overrides ...string) *scenarios.Result {
	t.Helper()
	load := func() (*scenarios.File, error) {
		return scenarios.Parse("chat", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
			"workload: {rate: 60/s, prompt: 400, output: 150, requests: 2000}\nslo: {ttft: 1s, "+
			"tpot: 50ms}\n"), overrides...)
	}
	f, err := load()
	if err != nil {
		t.Fatal(err)
	}
	simulation, err := f.Build(policies.Default())
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulation.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := Try(context.Background(), load, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// What helps is found: a larger batch where the batch is what is too small, and then it is named
// first. A system that keeps its SLO is left alone.
func TestWhatHelpsIsNamed(t *testing.T) {
	if r := tried(t, "workload.rate=5/s"); len(r.Diagnosis.Remedies) > 0 || !r.SLOMet {
		t.Errorf("the SLO is met, and yet: %+v", r.Diagnosis)
	}
	r := tried(t, "batching.max-sequences=32", "workload.rate=40/s")
	best := r.Diagnosis.Remedies[0]
	if r.SLOMet || best.Kept[1] < best.Kept[0]+0.3 {
		t.Fatalf("%+v", r.Diagnosis)
	}
	batch := false
	for _, m := range r.Diagnosis.Remedies {
		if m.Set[0] == "batching.max-sequences=128" {
			batch = m.Kept[1] > m.Kept[0] && m.Price == 1
		}
	}
	if !batch {
		t.Errorf("a larger batch is not tried, or does not help: %+v", r.Diagnosis.Remedies)
	}
	list := diagnosis.Of(r)
	if last := list[len(list)-1]; !strings.HasPrefix(last, "Tried: with ") {
		t.Errorf("the last sentence is %q", last)
	}
}

// Doing what a remedy says gives what it promised.
func TestRemediesHold(t *testing.T) {
	r := tried(t, "batching.max-sequences=32", "workload.requests=400")
	for _, m := range r.Diagnosis.Remedies {
		if again := tried(t, "batching.max-sequences=32", "workload.requests=400",
			m.Set[0]); again.Attainment.All != m.Kept[1] {
			t.Errorf("%s: %g of the requests meet the SLO, %g were announced", m.Set[0],
				again.Attainment.All, m.Kept[1])
		}
	}
}
