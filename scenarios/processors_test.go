package scenarios

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/policies"
)

// Any number of processors gives the same result, to the last bit.
func TestProcessorsChangeNoResult(t *testing.T) {
	registry := policies.Default()
	fleets := [][]string{
		{"replicas=9", "workload.rate=300/s", "workload.requests=2000"},
		{"replicas=5", "workload.arrivals=at-once", "workload.requests=5000", "routing=random"},
		{"replicas=3", "workload.rate=90/s", "workload.requests=1000", "engine.max-model-len=700",
			"memory.utilization=0.3"},
	}
	for _, method := range []string{"{method: mtp, tokens: 1, acceptance: {rate: 0.85}}",
		"{method: n-gram, tokens: 4, acceptance: {rate: 0.5}}",
		"{method: medusa, tokens: 2, acceptance: {rate: 0.6}}"} {
		fleets = append(fleets, []string{"replicas=6", "workload.rate=100/s",
			"workload.requests=600", "speculation=" + method})
	}
	for seed := range uint64(40) {
		fleets = append(fleets, append(randomScenario(registry, seed), "routing=round-robin"))
	}
	for _, overrides := range fleets {
		run := func(processors int) string {
			f, err := Parse("test.yaml", []byte("{model: llama-3.1-8b, hardware: h100-sxm, "+
				"workload: {rate: 10/s, requests: 100, prompt: {distribution: uniform, min: 1, "+
				"max: 800}, output: {distribution: uniform, min: 1, max: 90}}}"), overrides...)
			if err != nil {
				return err.Error()
			}
			f.Processors = processors
			r, err := f.Run(context.Background(), registry)
			if err != nil {
				return err.Error()
			}
			text, err := json.Marshal(r)
			must.OK(t, err)
			return string(text)
		}
		one := run(1)
		for _, processors := range []int{2, 5} {
			if d := cmp.Diff(one, run(processors)); d != "" {
				t.Fatalf("%q: 1 processor (-), %d (+):\n%s", overrides, processors, d)
			}
		}
	}
}
