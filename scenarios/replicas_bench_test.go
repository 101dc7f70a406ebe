package scenarios_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// BenchmarkReplicas runs the same load a replica with one replica and with many; an operation is a
// request.
func BenchmarkReplicas(b *testing.B) {
	for _, router := range policies.Default().Routing.Policies {
		if router.Name == "splitwise" {
			continue // it needs pools of several roles
		}
		for _, replicas := range []int{1, 64, 1000} {
			b.Run(fmt.Sprintf("%s/replicas=%d", router.Name, replicas), func(b *testing.B) {
				s := ready(b, equalLoads(router.Name, replicas, b.N), 1)
				b.ResetTimer()
				if r, err := s.Run(context.Background()); err != nil || r.Completed != int64(b.N) {
					b.Fatal(r, err)
				}
			})
		}
	}
}

// equalLoads returns a scenario in which replicas have 20 requests/s each.
func equalLoads(router string, replicas, requests int) string {
	return fmt.Sprintf("model: llama-3.1-8b\nhardware: h100\nreplicas: %d\nrouting: %s\n"+
		"workload: {rate: %d/s, prompt: 500, output: 250, requests: %d}\n",
		replicas, router, 20*replicas, requests)
}

// ready builds a scenario for a number of processors.
func ready(b *testing.B, text string, processors int) *scenarios.Simulation {
	b.Helper()
	file, err := scenarios.Parse("bench.yaml", []byte(text))
	testkit.OK(b, err)
	file.Processors = processors
	s, err := file.Build(policies.Default())
	testkit.OK(b, err)
	return s
}
