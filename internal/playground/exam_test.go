package playground_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// served is what a run of an exam question adds up to.
type served struct {
	TPOT     float64 `json:"mean_tpot_ms"`
	Prefill  float64 `json:"mean_prefill_ms"`
	Decode   float64 `json:"mean_decode_ms"`
	Queue    float64 `json:"mean_queue_ms"`
	Batch    float64 `json:"mean_decode_batch"`
	Peak     float64 `json:"peak_kv_usage"`
	Accepted float64 `json:"spec_decode_acceptance_length"`
	Drafts   float64 `json:"spec_decode_num_drafts"`
}

// serve runs Llama-3.1-8B on an H100 with what a question says of the server and the load.
func serve(t *testing.T, text string) served {
	t.Helper()
	const server = "model: llama-3.1-8b\nhardware: h100-sxm\n"
	file, err := scenarios.Parse("exam.yaml", []byte(server+text))
	testkit.OK(t, err)
	out, err := playground.ResultOf(t.Context(), file)
	testkit.OK(t, err)
	var s served
	testkit.OK(t, json.Unmarshal(out, &s))
	return s
}

// The answers to the exam questions of teaching.md are calculated by hand. The same hand
// calculations, with the figures of an H100 (989 TFLOP/s, 3.35 TB/s), hold in simulations.
func TestHandCalculationsOfTheExamHold(t *testing.T) {
	const parameters, layers, heads, dim = 8.03e9, 32, 8, 128
	between := func(question string, got, low, high float64) {
		t.Helper()
		if !(got >= low && got <= high) {
			t.Errorf("question %s: %.4g, want %.4g to %.4g", question, got, low, high)
		}
	}
	alone := serve(t, `
workload:
  rate: 0.1/s
  arrivals: constant
  requests: 5
  prompt: {distribution: fixed, value: 2000}
  output: {distribution: fixed, value: 100}
`)
	// What a token of one user reads, all weights in 16 bits but the table of embeddings (128,256
	// rows of 4,096, of which it reads one), takes as long at least. Kernels reach over 60 % of it.
	least := 1000 * 2 * (parameters - 128256*4096) / 3.35e12
	between("1, a token", alone.TPOT, least, least/0.6)
	// A prompt has two FLOP for each parameter and token.
	least = 1000 * 2 * (parameters - 2*128256*4096) * 2000 / 989e12
	between("2, a prompt", alone.Prefill, least, least/0.6)

	// The KV cache has what is left of 0.9 · 80 GiB. Activations and the engine take some of it,
	// less than a tenth of the memory.
	user := serve(t, `
memory: {policy: paged, utilization: 0.9}
workload:
  rate: 0.1/s
  arrivals: constant
  requests: 2
  prompt: {distribution: fixed, value: 30000}
  output: {distribution: fixed, value: 2}
`)
	tokens := func(used float64) float64 {
		return (used*80*(1<<30) - 2*parameters) / (2 * layers * heads * dim * 2)
	}
	between("3, the share of a user", user.Peak, 30000/tokens(0.9), 30000/tokens(0.8))

	// A static batch of 8 works until its longest answer ends.
	static := serve(t, `
batching: {policy: static, batch-size: 8}
workload:
  arrivals: at-once
  requests: 4000
  prompt: {distribution: fixed, value: 10}
  output: {distribution: uniform, min: 10, max: 1000}
`)
	share := 505 / (10 + 990*8/9.)
	between("4, the share of rows", static.Batch/8, 0.97*share, 1.03*share)

	drafts := serve(t, `
speculation: {method: mtp, tokens: 2, acceptance: {rate: 0.8}}
workload:
  rate: 1/s
  arrivals: constant
  requests: 100
  prompt: {distribution: fixed, value: 10}
  output: {distribution: fixed, value: 1000}
`)
	between("5, tokens of a step", drafts.Accepted, 2.44-3/math.Sqrt(drafts.Drafts),
		2.44+3/math.Sqrt(drafts.Drafts))

	// One request at a time, each as long as the other: an M/D/1 queue (Pollaczek and Khinchine).
	const one = `
batching: {policy: orca, max-batch: 1}
workload:
  requests: %d
  rate: %g/s
  arrivals: %s
  prompt: {distribution: fixed, value: 100}
  output: {distribution: fixed, value: 50}
`
	single := serve(t, fmt.Sprintf(one, 5, 0.1, "constant"))
	takes := single.Prefill + single.Decode
	queue := serve(t, fmt.Sprintf(one, 100000, 0.9*1000/takes, "poisson"))
	between("6, the wait", queue.Queue/takes, 0.85*4.5, 1.15*4.5)
}
