package telemetry

import (
	"bytes"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// TestHistogramsOfLeaps compares the gaps of a leap that were counted together with those of its
// steps, one by one.
func TestHistogramsOfLeaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &sim.Leap{
			Steps: rapid.Int64Range(2, 400).Draw(t, "steps"), Decodes: rapid.IntRange(1, 50).Draw(t,
				"decodes"),
			Context: rapid.Int64Range(1, 10_000).Draw(t, "context"),
			Form: sim.Affine{
				Base:     sim.Time(rapid.Int64Range(1, 20).Draw(t, "base")) * sim.Millisecond,
				PerToken: sim.Time(rapid.Int64Range(0, 10).Draw(t, "token")) * sim.Microsecond,
			},
		}
		together, single := newHistogram(vllm().itl), newHistogram(vllm().itl)
		for step := range l.Steps {
			span := l.Form.At(l.Context + step*int64(l.Decodes))
			l.End += span
			if step > 0 {
				single.add(span.Seconds(), int64(l.Decodes))
			}
		}
		together.addSteps(l)
		for i := range single.counts {
			if single.counts[i] != together.counts[i] {
				t.Errorf("bucket %d: found %d, want %d", i, together.counts[i], single.counts[i])
			}
		}
		if d := together.sum - single.sum; together.n != single.n || d > 1e-6*single.sum ||
			d < -1e-6*single.sum {
			t.Errorf("found %d with a sum of %g, want %d with %g", together.n, together.sum,
				single.n, single.sum)
		}
	})
}

// TestMetricsAgreeWithTheResult runs a scenario and compares what was counted with its result, in
// both dialects; and what is written can be read.
func TestMetricsAgreeWithTheResult(t *testing.T) {
	file, err := scenarios.Load("chat", "workload.duration=30s", "memory=prefix-cache")
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	config := simulation.Config()
	engines := Engines(&config, simulation.Models())
	history, other := NewHistory(engines), New(sglang(), engines, nil)
	result, err := simulation.Run(t.Context(), history, other)
	testkit.OK(t, err)
	var text bytes.Buffer
	testkit.OK(t, history.WriteOpenMetrics(&text, time.Unix(0, 0)))
	if !strings.HasSuffix(text.String(), "# EOF\n") ||
		strings.Count(text.String(), "vllm:num_requests_running{") < 6 {
		t.Errorf("the history is\n%.2000s", text.String())
	}
	got := values(t, history.Collector)
	for name, want := range map[string]float64{
		"vllm:generation_tokens_total":     float64(result.TotalOutputTokens),
		"vllm:prompt_tokens_total":         float64(result.TotalInputTokens),
		"vllm:request_success_total":       float64(result.Completed),
		"vllm:time_to_first_token_seconds": float64(result.Completed),
		"vllm:inter_token_latency_seconds": float64(result.TotalOutputTokens - result.Completed),
		"vllm:prefix_cache_hits_total":     float64(result.CachedTokens),
	} {
		if got[name] != want {
			t.Errorf("%s: found %g, want %g", name, got[name], want)
		}
	}
	if awake := got["vllm:engine_sleep_state"]; awake != 1 {
		t.Errorf("%g engines are awake, want 1", awake)
	}
	if _, found := got["vllm:num_requests_waiting_by_reason"]; !found {
		t.Error("nobody says why requests wait")
	}
	if n := values(t, other)["sglang:e2e_request_latency_seconds"]; n != float64(result.Completed) {
		t.Errorf("sglang: found %g requests, want %d", n, result.Completed)
	}
}

// values reads the text that a scrape would get: the sums of counters and gauges, and the counts of
// histograms.
func values(t *testing.T, c *Collector) map[string]float64 {
	t.Helper()
	families, err := c.All().Gather()
	testkit.OK(t, err)
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(&text)
	testkit.OK(t, err)
	sums := map[string]float64{}
	for name, f := range read {
		for _, m := range f.Metric {
			sums[name] += value(m)
		}
	}
	return sums
}

func value(m *dto.Metric) float64 {
	if m.Histogram != nil {
		return float64(m.Histogram.GetSampleCount())
	}
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}
