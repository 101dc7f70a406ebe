package scenarios_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// BenchmarkScenario runs whole scenarios, from YAML to the summary; a benchmark's operation is one
// request. The first is the workload on which simulators are compared: Llama-3.1-8B on one H100, 20
// requests/s.
func BenchmarkScenario(b *testing.B) {
	const common = `
model: llama-3.1-8b
hardware: h100
workload:
  rate: %s
  prompt: {distribution: normal, mean: 500, std: 200, min: 2, max: 2000}
  output: {distribution: normal, mean: %d, std: 100, min: 2, max: %d}
  requests: %d
replicas: %d
`
	for _, bc := range []struct {
		name     string
		rate     string
		replicas int
		output   int
		memory   string
	}{
		{"steady", "20/s", 1, 250, ""},
		{"outputs×10", "2/s", 1, 2500, ""},
		{"replicas=8", "160/s", 8, 250, ""},
		{"overload", "200/s", 1, 250, ""},
		{"pressure", "60/s", 1, 250, "memory: {utilization: 0.28}"},
		{"unequal=64", "1280/s", 64, 250,
			"routing: least-requests\nfleet: {pools: [{name: new, replicas: 32}, {name: old, " +
				"replicas: 32, hardware: a100-80gb-sxm}]}"},
		{"speculation", "20/s", 1, 250,
			"speculation: {method: eagle, vocabulary: 32000, tokens: 3, acceptance: 0.7, " +
				"baseline: skip}"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			text := fmt.Sprintf(common, bc.rate, bc.output, 4*bc.output, b.N, bc.replicas) +
				bc.memory
			s := ready(b, text)
			b.ResetTimer()
			r, err := s.Run(context.Background())
			if err != nil || r.Completed != int64(b.N) {
				b.Fatal(r, err)
			}
			b.ReportMetric(float64(r.Preemptions)/float64(b.N), "preemptions/op")
			b.ReportMetric(1e9*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "requests/s")
		})
	}
}

// ready builds a scenario.
func ready(b *testing.B, text string) *scenarios.Simulation {
	b.Helper()
	file, err := scenarios.Parse("bench.yaml", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	s, err := file.Build(policies.Default())
	if err != nil {
		b.Fatal(err)
	}
	return s
}
