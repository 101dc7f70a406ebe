package planner

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// tried runs a scenario and tries what would help.
func tried(t *testing.T, overrides ...string) *scenarios.Result {
	t.Helper()
	return triedText(t, "model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"workload: {rate: 60/s, prompt: 400, output: 150, requests: 2000}\nslo: {ttft: 1s, "+
		"tpot: 50ms}\n", overrides...)
}

func triedText(t *testing.T, text string, overrides ...string) *scenarios.Result {
	t.Helper()
	load := func() (*scenarios.File, error) {
		return scenarios.Parse("scenario", []byte(text), overrides...)
	}
	f, err := load()
	testkit.OK(t, err)
	r, err := f.Run(context.Background(), policies.Default())
	testkit.OK(t, err)
	testkit.OK(t, TryRemedies(context.Background(), load, r))
	return r
}

// What helps is found: a larger batch where the batch is what is too small, and
// then it is named first. A system that keeps its SLO is left alone.
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
	if !slices.ContainsFunc(list, func(words string) bool {
		return strings.HasPrefix(words, "What would help, tried with 1500 requests: ")
	}) {
		t.Errorf("no sentence says what helps: %q", list)
	}
}

// apartPools is a system whose prompts are computed apart, by too few replicas.
const apartPools = `
model: llama-3.1-8b
hardware: h100-sxm
fleet: {pools: [{role: prefill, replicas: 1}, {role: decode, replicas: 1}]}
workload: {rate: 40/s, prompt: 2000, output: 50, requests: 1500}
slo: {ttft: 1s, tpot: 50ms}
batching: {max-sequences: 200}
`

// Of pools that compute prompts and answers apart the one that is too small is found,
// by overrides that can be given as they are printed. What helps less, or is dearer, comes later.
func TestPoolsApart(t *testing.T) {
	r := triedText(t, apartPools)
	if r.Diagnosis.Load != scenarios.Overloaded {
		t.Fatalf("not overloaded: %+v", r.Diagnosis)
	}
	best := r.Diagnosis.Remedies[0]
	if !best.Helps || !best.Met || best.Price <= 1 ||
		!strings.HasPrefix(best.Set[0], "fleet.pools.0.replicas=") {
		t.Errorf("the best remedy is %+v", best)
	}
	decode, chunks := 0, 0
	for _, m := range r.Diagnosis.Remedies {
		if strings.HasPrefix(m.Set[0], "fleet.pools.0.batching={") {
			chunks++
		}
		if len(m.Set) == 1 && strings.HasPrefix(m.Set[0], "fleet.pools.1.") && m.Helps {
			decode++
		}
		if again := triedText(t, apartPools, m.Set...); again.Attainment.All != m.Kept[1] ||
			again.SLOMet != m.Met {
			t.Errorf("%s: %g of the requests meet the SLO, %g were announced", m.Set,
				again.Attainment.All, m.Kept[1])
		}
	}
	if chunks == 0 {
		t.Error("no other chunk budget was tried for prefill replicas, which share their batching")
	}
	if decode > 0 {
		t.Errorf("%d changes of decode replicas are said to help", decode)
	}
}

// Doing what a remedy says gives what it announced.
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

// Static batches give all tokens of an answer at once: there is no TPOT to speak of. Without a
// price of the accelerator, a remedy has none.
func TestWhatIsNotThereIsNotTold(t *testing.T) {
	r := triedText(t, "model: llama-3.1-8b\nhardware: mi355x\nbatching: {policy: static, "+
		"batch-size: 4}\nworkload: {rate: 16/s, prompt: 500, output: 100, requests: 300}\n"+
		"slo: {ttft: 300ms, tpot: 20ms}\n")
	words := strings.Join(diagnosis.Remedies(r.Diagnosis), " ")
	if !strings.Contains(words, "would help") || strings.Contains(words, "TPOT") ||
		strings.Contains(words, "times the price") {
		t.Error(words)
	}
}

// What helps a scenario helps it with all defaults written out, too, by the same changes.
func TestRemediesOfDefaultsWrittenOut(t *testing.T) {
	text := "model: llama-3.1-8b\nhardware: l4\nfleet: {pools: [{name: a, replicas: 2}, " +
		"{name: b, batching: dynamic, replicas: 1}]}\nworkload: {requests: 60, rate: 9/s}\n" +
		"slo: {ttft: 100ms}\n"
	f, err := scenarios.Parse("scenario", []byte(text))
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	all, err := s.Explain()
	testkit.OK(t, err)
	want := triedText(t, text).Diagnosis.Remedies
	got := triedText(t, string(all)).Diagnosis.Remedies
	if d := cmp.Diff(want, got); d != "" || len(want) < 2 {
		t.Errorf("remedies of the scenario (-), and of the one with all defaults (+): %s", d)
	}
}
