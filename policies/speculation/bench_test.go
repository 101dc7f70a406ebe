package speculation_test

import (
	"context"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/policies/routing"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// clockOf predicts steps of a model of the catalogue on one H100 under vLLM.
func clockOf(t testing.TB, model *models.Architecture) *steptime.Clock {
	t.Helper()
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	h100, err := catalog.Accelerator("h100-sxm")
	testkit.OK(t, err)
	engine, err := steptime.FindEngine("vllm-v1")
	testkit.OK(t, err)
	engine.HostStep, engine.HostSequence = 0, 0 // which hide what a small step costs
	clock, err := steptime.New(steptime.Config{Model: model, Accelerator: &h100, Engine: engine})
	testkit.OK(t, err)
	return clock
}

func modelOf(t testing.TB, name string) *models.Architecture {
	t.Helper()
	catalog, err := models.Load()
	testkit.OK(t, err)
	model, err := catalog.Lookup(name)
	testkit.OK(t, err)
	return model
}

// benchmarkLoad is the load on which simulators are compared: 20 requests a second, 500 tokens in
// and 250 out.
func benchmarkLoad(b *testing.B) workload.Source {
	prompt, err := lengths.Normal(500, 200, 2, 2000)
	testkit.OK(b, err)
	output, err := lengths.Normal(250, 100, 2, 1000)
	testkit.OK(b, err)
	source, err := workload.Open(workload.Config{
		Seed: 1, Requests: int64(b.N), Classes: []workload.Class{
			{Name: "all", Weight: 1, Prompt: prompt, Output: output}},
		Arrivals: &arrivals.Process{Rate: arrivals.Steady(20)},
	})
	testkit.OK(b, err)
	return source
}

// BenchmarkServe serves Llama-3.1-8B on one H100 with an EAGLE head of three tokens; an operation
// is one request.
func BenchmarkServe(b *testing.B) {
	schedule, err := speculation.NewByBatch("1:3, 16:2, 64:0")
	testkit.OK(b, err)
	learner, err := speculation.NewAdaptive(0.9, 50)
	testkit.OK(b, err)
	each, err := speculation.NewPerRequest(0.8, 2)
	testkit.OK(b, err)
	acceptance, err := speculation.Beta(0.65, 0.15)
	testkit.OK(b, err)
	target := modelOf(b, "llama-3.1-8b")
	model, head := clockOf(b, target), clockOf(b, speculation.FeatureHead(target, 32000))
	for _, bc := range []struct {
		name    string
		lengths speculation.Lengths
	}{{"off", nil}, {"fixed", speculation.Fixed{}}, {"optimal", speculation.Optimal{}},
		{"adaptive", learner}, {"per-request", each}, {"by-batch", schedule}} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			s, err := batching.NewVLLMV1(256, 8192, 0)
			testkit.OK(b, err)
			m, err := memory.NewPaged(28_000, 16)
			testkit.OK(b, err)
			replica := sim.ReplicaConfig{Scheduler: s, Memory: m, Clock: model, Lookahead: 1}
			if bc.lengths != nil {
				replica.Speculator = speculator(b, speculation.Config{
					Acceptance: acceptance, Shape: speculation.Shape{Depth: 3, Width: 1},
					Lengths: bc.lengths,
					Drafter: speculation.NewModel(head, false), Verify: model, Recompute: true,
					TokenBudget: 8192, Seed: 1,
				})
			}
			source := benchmarkLoad(b)
			b.ResetTimer()
			r, err := sim.Run(context.Background(),
				sim.Config{Source: source, Router: &routing.RoundRobin{},
					Replicas: []sim.ReplicaConfig{replica}})
			if err != nil || r.Completed != int64(b.N) {
				b.Fatal(r, err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(float64(r.Replicas[0].DecodeTokens-r.Replicas[0].Drafted)/float64(b.N),
				"sequence-steps/op")
			b.ReportMetric(float64(r.Replicas[0].Steps)/float64(b.N), "steps/op")
		})
	}
}
