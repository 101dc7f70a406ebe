package observed_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"

	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// seen is a sim.Observer that keeps what is served, and a page of metrics a minute, as vLLM writes
// them.
type seen struct {
	*telemetry.Collector
	requests []observed.Request
	pages    []formats.Page
	err      error
}

func (s *seen) Finished(q *sim.Sequence) {
	s.Collector.Finished(q)
	s.requests = append(s.requests, observed.Request{Arrival: q.Arrival.Seconds(),
		Prompt: q.Prompt, Output: q.Output, TTFT: q.TTFT().Seconds(), E2E: q.E2E().Seconds()})
}

func (s *seen) Sampled(at sim.Time, replica int, state sim.State) {
	s.Collector.Sampled(at, replica, state)
	var text bytes.Buffer
	families, err := s.All().Gather()
	for _, f := range families {
		if err == nil {
			_, err = expfmt.MetricFamilyToText(&text, f)
		}
	}
	s.pages = append(s.pages, formats.Page{At: at.Seconds(), Text: text.Bytes()})
	if err != nil {
		s.err = err
	}
}

// simulated runs a server for ten minutes under chats.
func simulated(t *testing.T) *seen {
	t.Helper()
	file, err := scenarios.Parse("s.yaml", []byte(`
model: llama-3.1-8b
hardware: h100-sxm
engine: vllm
workload:
  rate: 6/s
  prompt: {distribution: uniform, min: 100, max: 1500}
  output: {distribution: uniform, min: 1, max: 200}
  duration: 10m
`))
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	defer simulation.Source.Close()
	config := simulation.Config()
	s := &seen{Collector: telemetry.New(telemetry.DialectOf("vllm"),
		telemetry.Engines(&config, simulation.Models()), nil)}
	config.Observer, config.SampleEvery = s, sim.Seconds(60)
	if _, err := sim.Run(t.Context(), config); err != nil || s.err != nil {
		t.Fatal(err, s.err)
	}
	if len(s.requests) < 3000 || len(s.pages) < 10 {
		t.Fatalf("found %d requests and %d pages", len(s.requests), len(s.pages))
	}
	return s
}

// What is observed of a simulated run, from its requests in any order, is what was simulated.
func TestObservedRequests(t *testing.T) {
	s := simulated(t)
	var b strings.Builder
	fmt.Fprintln(&b, "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s")
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(s.requests)) {
		q := &s.requests[i]
		fmt.Fprintf(&b, "%v,%d,%d,%v,%v\n", q.Arrival, q.Prompt, q.Output, q.TTFT, q.E2E)
	}
	o, err := formats.Parse("requests.csv", []byte(b.String()), formats.Options{})
	testkit.OK(t, err)
	want := observed.Run{Requests: s.requests}
	want.Sort()
	got := o.Runs[0].Requests
	if len(got) != len(want.Requests) {
		t.Fatalf("observed %d requests of %d", len(got), len(want.Requests))
	}
	for i := range got {
		if a, b := &got[i], &want.Requests[i]; a.Arrival != b.Arrival || a.Prompt != b.Prompt ||
			a.Output != b.Output || a.TTFT != b.TTFT || a.E2E != b.E2E {
			t.Fatalf("request %d is %+v, want %+v", i, *a, *b)
		}
	}
}

// What is observed of a simulated run, from pages of metrics a minute, are its sums and counts in
// each minute.
func TestObservedMinutes(t *testing.T) {
	s := simulated(t)
	o, err := formats.Join("server", s.pages)
	testkit.OK(t, err)
	intervals := o.Runs[0].Intervals
	if len(intervals) != len(s.pages)-1 {
		t.Fatalf("observed %d intervals between %d pages", len(intervals), len(s.pages))
	}
	near := func(i int, what string, got, want float64) {
		if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("minute %d: %s is %g, want %g", i, what, got, want)
		}
	}
	for i := range intervals {
		v := &intervals[i]
		begin, end := s.pages[i].At, s.pages[i+1].At
		in := func(at float64) bool { return at > begin && at <= end }
		var first, prompts, ended, ttft, e2e float64
		for j := range s.requests {
			q := &s.requests[j]
			if in(q.Arrival + q.TTFT) {
				first, ttft, prompts = first+1, ttft+q.TTFT, prompts+float64(q.Prompt)
			}
			if in(q.Arrival + q.E2E) {
				ended, e2e = ended+1, e2e+q.E2E
			}
		}
		near(i, "seconds", v.Seconds, end-begin)
		near(i, "the number of first tokens", v.Requests, first)
		near(i, "prompt tokens", v.PromptTokens, prompts)
		near(i, "TTFT", v.TTFT, ttft/first)
		near(i, "E2E", v.E2E, e2e/ended)
	}
}
