package scenarios

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Adapters take memory for their slots, time for their products, and the link to the host; with
// more of them than slots they come again and again. A scenario with its defaults filled in gives
// the same result.
func TestAdapters(t *testing.T) {
	plain := "model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 2\nrouting: round-robin\n" +
		"workload: {rate: 4/s, requests: 400, prompt: 300, output: 50}\n"
	none := run(t, presetScenario(t, plain))
	few := run(t, presetScenario(t, plain+"adapters: {count: 4, rank: 16}\n"))
	s := presetScenario(t, plain+"adapters: {count: 40, rank: 16, slots: 8}\n")
	explained, err := s.Explain()
	testkit.OK(t, err)
	many := run(t, s)
	again := run(t, presetScenario(t, string(explained)))
	if few.AdapterLoads != 8 || many.AdapterLoads < 100 || none.AdapterLoads != 0 {
		t.Errorf("%d, %d and %d loads", none.AdapterLoads, few.AdapterLoads, many.AdapterLoads)
	}
	if !(none.MeanTPOT < few.MeanTPOT && few.MeanTTFT < many.MeanTTFT) {
		t.Errorf("TPOT %v, %v; TTFT %v, %v", none.MeanTPOT, few.MeanTPOT, few.MeanTTFT,
			many.MeanTTFT)
	}
	if again.MeanE2EL != many.MeanE2EL || again.AdapterLoads != many.AdapterLoads {
		t.Errorf("read again: %v and %v", again.MeanE2EL, many.MeanE2EL)
	}
	near := run(t, presetScenario(t, strings.Replace(plain, "round-robin", "adapter-affinity", 1)+
		"adapters: {count: 40, rank: 16, slots: 8}\n"))
	if near.AdapterLoads >= many.AdapterLoads {
		t.Errorf("%d loads with affinity, %d in turn", near.AdapterLoads, many.AdapterLoads)
	}
}

// What cannot be is refused at its place.
func TestAdaptersRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"adapters: {count: 4, rank: 64, max-rank: 16}": "adapters.rank: found 64; " +
			"a slot has room for a rank of 16 (adapters.max-rank); set max-rank to 64",
		"adapters: {count: 4000, rank: 64, slots: 900}": "" +
			"slots for adapters (adapters.slots)",
		"adapters: {count: 9, rank: 4096, slots: 9}\nmemory: {utilization: 0.3}": "adapters: llama",
		"adapters: {rank: 8}": "adapters.count",
		"adapters: {count: 4, rank: 8}\nsteps: {prefill: {step: 1ms}, decode: {step: 1ms}}": "" +
			"adapters: given step times",
	} {
		file, err := Parse("t.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+text+"\n"))
		if err == nil {
			_, err = file.Build(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What slots mean for requests is said: those that stay empty, those that requests wait for, and
// ranks that vLLM rounds up.
func TestAdaptersWarn(t *testing.T) {
	for text, want := range map[string]string{
		"{count: 4, rank: 8, slots: 9}":          "slots is 9 for 4 adapters",
		"{count: 40, rank: 8}":                   "requests wait while those of other adapters use",
		"{count: 4, rank: 8, max-rank: 100}":     "the nearest adapters.max-rank is 128",
		"{count: 4, rank: 16}":                   "",
		"{count: 4, rank: 9}\nengine: sglang":    "",
		"{count: 4, rank: 1000, slots: 1}":       "requests wait",
		"{count: 4, rank: 8, layers: attention}": "",
	} {
		s := presetScenario(t, "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {requests: 1}\n"+
			"adapters: "+text+"\n")
		got := strings.Join(s.Warnings, "\n")
		if !strings.Contains(got, want) || want == "" && strings.Contains(got, "adapters.") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
