package memory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// BenchmarkRun runs one workload over every memory policy, whole scenarios at about equal batch
// sizes; an operation is one request. The prompts have their own beginnings of 256 tokens, which
// nobody repeats.
func BenchmarkRun(b *testing.B) {
	const common = `
model: llama-3.1-8b
hardware: h100
engine: {max-model-len: 8192}
workload:
  rate: 12/s
  prompt: {distribution: normal, mean: 500, std: 200, min: 2, max: 2000}
  output: {distribution: normal, mean: 250, std: 100, min: 2, max: 1000}
  prefix: {groups: 1000000, tokens: 256}
  requests: %d
memory: {%s}
`
	for _, memory := range []string{
		"policy: paged", "policy: prefix-cache", "policy: radix", "policy: offload, cpu: 4GiB",
		"policy: sliding-window, window: 1024",
		"policy: contiguous, reserve: pow2",
		"policy: contiguous, reserve: oracle, allocator: first-fit",
	} {
		b.Run(memory, func(b *testing.B) {
			b.ReportAllocs()
			file, err := scenarios.Parse("bench.yaml", fmt.Appendf(nil, common, b.N, memory))
			testkit.OK(b, err)
			s, err := file.Build(policies.Default())
			testkit.OK(b, err)
			b.ResetTimer()
			r, err := s.Run(context.Background())
			if err != nil || r.Completed != int64(b.N) {
				b.Fatal(r, err)
			}
			b.ReportMetric(float64(r.Preemptions)/float64(b.N), "preemptions/op")
			b.ReportMetric(r.MeanRunning, "running")
		})
	}
}
