package steptime

import (
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Without captured graphs a step waits for the host to launch each kernel: a model of 7 B on an
// H100 decodes about 1.8 times as slowly, and Llama-3.1-8B takes 8.4 ms a step
// (cloudai.pt, "CUDA Graphs + torch.compile", 2026).
func TestEagerEnginesWaitForTheHost(t *testing.T) {
	step := &sim.Step{Decodes: 1, DecodeTokens: 1, Context: 128}
	for _, preset := range []string{"vllm-v1", "sglang", "trtllm"} {
		cfg := named(t, "llama-2-7b", "h100-sxm", preset)
		graphs := mustClock(t, cfg).Duration(step).Seconds()
		cfg.Engine = cfg.Engine.Eager()
		eager := mustClock(t, cfg).Duration(step).Seconds()
		if ratio := eager / graphs; ratio < 1.5 || ratio > 2.1 {
			t.Errorf("%s: without graphs a step takes %.2f times as long, want about 1.8", preset,
				ratio)
		}
	}
	cfg := named(t, "llama-3.1-8b", "h100-sxm", "vllm-v1")
	cfg.Engine = cfg.Engine.Eager()
	took := mustClock(t, cfg).Duration(step).Seconds()
	if took < 0.75*8.4e-3 || took > 1.25*8.4e-3 {
		t.Errorf("a step of llama-3.1-8b takes %.1f ms without graphs, published: 8.4", 1e3*took)
	}
}

// A step with more tokens than the largest captured graph takes no less than with it, and a large
// batch, which the accelerator takes longer to compute than the host to launch, takes the same.
func TestGraphsSpareLaunches(t *testing.T) {
	for _, n := range []int{1, 8, 64, 512} {
		step := &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n) * 128}
		before := sim.Time(0)
		for _, graph := range []int{512, 64, 8, 1} {
			cfg := named(t, "llama-3.1-8b", "h100-sxm", "vllm-v1")
			cfg.Engine.Graph = graph
			took := mustClock(t, cfg).Duration(step)
			if took < before || n <= graph && before > 0 && took != before {
				t.Errorf("with graphs up to %d tokens a step of %d takes %v, with more %v", graph,
					n, took, before)
			}
			if n > graph && n <= 8 && took == before {
				t.Errorf("a step of %d takes the same with graphs up to %d tokens as with one", n,
					graph)
			}
			before = took
			if n > graph {
				break
			}
		}
	}
}

func named(t *testing.T, model, accelerator, preset string) Config {
	t.Helper()
	known, err := models.Load()
	if err != nil {
		t.Fatal(err)
	}
	machines, err := hardware.Load()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{}
	if cfg.Model, err = known.Lookup(model); err != nil {
		t.Fatal(err)
	}
	a, err := machines.Accelerator(accelerator)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Accelerator = &a
	if cfg.Engine, err = FindEngine(preset); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// vLLM V0 captures steps that only decode (vllm/worker/model_runner.py, v0.6): the host launches
// each kernel of a step with a prompt, however short, and none of the same step without.
func TestV0LaunchesPrompts(t *testing.T) {
	cfg := named(t, "llama-3.1-8b", "h100-sxm", "vllm-v0")
	cfg.Host, cfg.Engine.LaunchPrompt, cfg.Engine.Launch = 1, 1e-3, 1e-3
	clock := mustClock(t, cfg)
	decodes := sim.Step{Decodes: 4, DecodeTokens: 4, Context: 400}
	mixed := decodes
	mixed.Prefill = []sim.Chunk{{New: 8, Last: true}}
	const layers, launches = 32, 5 // four products and attention, at least
	if took := clock.Duration(&mixed).Seconds(); took < layers*launches*1e-3 {
		t.Errorf("a step with a prompt takes %.3g s, less than its launches", took)
	}
	if took := clock.Duration(&decodes).Seconds(); took > layers*1e-3 {
		t.Errorf("a captured step takes %.3g s, as if each kernel was launched", took)
	}
}

// vLLM V0 decodes from graphs of up to 256 sequences with at most 8,192 tokens of context
// (vllm/worker/model_runner.py and vllm/config.py, v0.6: _use_captured_graph,
// max_seq_len_to_capture). Beyond, the host launches each kernel, also where drafts are verified,
// and the parts of a step's time are those of its duration.
func TestV0LaunchesLongContexts(t *testing.T) {
	cfg := named(t, "llama-3.1-8b", "h100-sxm", "vllm-v0")
	cfg.Host, cfg.Engine.Launch = 1, 1e-3
	clock := mustClock(t, cfg)
	for _, tokens := range []int{1, 3} {
		for _, n := range []int{1, 4, 256, 264} {
			for _, context := range []int64{100, 8192, 8193} {
				step := sim.Step{Decodes: n, DecodeTokens: n * tokens, Context: int64(n) * context}
				took := clock.Duration(&step)
				launched := took > 32*5*sim.Time(sim.Second)/1000 // four products and attention
				if want := context > 8192 || n*tokens > 256; launched != want {
					t.Errorf("%d tokens of each of %d sequences of %d take %v: launched is %v",
						tokens, n, context, took, launched)
				}
				if all := clock.Breakdown(&step).Time(); all != took {
					t.Errorf("the parts of a step of %v take %v", took, all)
				}
			}
		}
	}
}

// The host launches the attention of prompts also where the rest of a step is captured, so that no
// short prompt takes less time than that: of a dense model two launches a layer, of gated delta
// layers more. Without the capture the step takes no less.
func TestCapturedPromptsWaitForTheLaunchOfTheirAttention(t *testing.T) {
	step := &sim.Step{Prefill: []sim.Chunk{{New: 16, Last: true}}}
	for model, launches := range map[string]float64{
		"llama-3.1-8b": 2 * 32, "qwen3.5-35b-a3b": 2*40 + 14*30,
	} {
		cfg := named(t, model, "b200-sxm", "vllm-v1")
		cfg.Host, cfg.Engine.LaunchPrompt = 1, 100*1e-6
		took := mustClock(t, cfg).Duration(step).Seconds()
		if least := 100e-6 * launches; took < least || took > 1.1*least {
			t.Errorf("%s: a captured prompt takes %.2f ms, want the %.2f of %v launches", model,
				1e3*took, 1e3*least, launches)
		}
		cfg.Engine.EagerPrompts = true
		if eager := mustClock(t, cfg).Duration(step).Seconds(); eager < took {
			t.Errorf("%s: a prompt takes %.2f ms without captures, %.2f with", model, 1e3*eager,
				1e3*took)
		}
	}
}
