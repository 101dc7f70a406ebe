package steptime

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

var update = flag.Bool("update", false, "write the predictions in testdata anew")

// deployments lists one or two deployments for each way in which costs are computed: dense and
// sparse models, latent, windowed and linear attention, each split of a model, each number format
// and engine, with kernels measured on the accelerator or on a relative.
func deployments() []Config {
	split := func(tensor, pipeline, data, expert, redundant int, twoBatch bool) Parallelism {
		return Parallelism{tensor, pipeline, expert, data, redundant, twoBatch, 0}
	}
	var list []Config
	add := func(model, accelerator, engine string, p Parallelism, weights, kv hardware.DType) {
		list = append(list, Config{Model: &models.Architecture{Name: model},
			Accelerator: &hardware.Accelerator{Name: accelerator}, Engine: Engine{Name: engine},
			Parallel: p, Weights: weights, KV: kv})
	}
	one := split(1, 1, 1, 0, 0, false)
	add("llama-3.1-8b", "h100-sxm", "vllm-v1", one, "", "")
	add("llama-3.1-8b", "l40s", "sglang", one, hardware.FP8, hardware.FP8)
	add("llama-3.1-8b", "a40", "vllm-v0", one, hardware.INT4, "")
	add("llama-2-13b", "a100-80gb-sxm", "eager-2023", one, "", "")
	add("llama-3.1-8b", "rtx-pro-6000", "llama.cpp", one, hardware.INT8, "")
	add("llama-3.1-70b", "a100-80gb-sxm", "vllm-2023", split(4, 2, 1, 0, 0, false), "", "")
	add("llama-3.1-70b", "h200-sxm", "trtllm", split(2, 1, 1, 0, 0, false), hardware.FP8, "")
	add("llama-3.1-70b", "mi300x", "vllm-v1-sync", split(8, 1, 1, 0, 0, false), "", hardware.FP8)
	add("llama-3.1-70b", "v100-sxm", "lmdeploy", split(8, 2, 1, 0, 0, false), "", "")
	add("mixtral-8x7b", "h100-sxm", "vllm-v1", split(2, 1, 1, 1, 0, false), "", "")
	add("mixtral-8x7b", "b200-sxm", "trtllm", split(4, 1, 1, 4, 0, false), hardware.FP8, "")
	add("deepseek-v3", "h200-sxm", "sglang", split(8, 1, 1, 0, 0, false), hardware.FP8Block, "")
	add("deepseek-v3", "h100-sxm", "sglang", split(1, 1, 32, 0, 32, true), hardware.FP8Block, "")
	add("deepseek-v3", "b200-sxm", "vllm-v1", split(1, 1, 16, 16, 0, false), hardware.FP4,
		hardware.FP8)
	add("gpt-oss-120b", "h100-sxm", "vllm-v1", split(2, 1, 1, 0, 0, false), hardware.MXFP4, "")
	add("gemma-3-27b", "h100-sxm", "vllm-v1", split(2, 1, 1, 0, 0, false), "", "")
	add("qwen3-next-80b-a3b", "h200-sxm", "vllm-v1", split(2, 1, 1, 0, 0, false), "", "")
	add("qwen3-30b-a3b", "l40s", "ideal", split(4, 1, 1, 0, 0, false), hardware.INT4, "")
	add("llama-3.1-8b", "a100-80gb-sxm", "vllm-v1", split(2, 1, 1, 0, 0, false), "", "")
	list[len(list)-1].Adapters = Adapters{Count: 40, Slots: 8, Rank: 16, Room: 64, Zipf: 0.8}
	return list
}

// Predictions for a few steps of each deployment are, to six digits, those written down, with each
// operator, the memory, the use of the accelerator and the work. Who changes a formula or refits a
// constant sees here what moves, and writes them anew with -update.
func TestPredictionsAreAsWritten(t *testing.T) {
	machines, known := catalogues(t)
	byName := map[string]*models.Architecture{}
	for _, a := range known {
		byName[a.Name] = a
	}
	steps := []*sim.Step{
		{Decodes: 1, DecodeTokens: 1, Context: 500},
		{Decodes: 96, DecodeTokens: 96, Context: 96 * 3000},
		{Decodes: 20, DecodeTokens: 60, Context: 20 * 1000, Prefill: []sim.Chunk{
			{New: 700, Last: true}, {New: 300, Cached: 5000}}},
		{Prefill: []sim.Chunk{{New: 8000, Last: true}}},
	}
	var b strings.Builder
	for _, cfg := range deployments() {
		a, err := machines.Accelerator(cfg.Accelerator.Name)
		testkit.OK(t, err)
		if cfg.Engine, err = FindEngine(cfg.Engine.Name); err != nil {
			t.Fatal(err)
		}
		name := cfg.Model.Name
		if cfg.Model = byName[name]; cfg.Model == nil {
			t.Fatalf("no model %s", name)
		}
		cfg.Accelerator = &a
		for link, to := range map[string]**hardware.Link{a.ScaleUp: &cfg.ScaleUp,
			a.Network: &cfg.Network} {
			if l, err := machines.Link(link); err == nil {
				*to = &l
			}
		}
		fmt.Fprintf(&b, "\n%s on %s, %s, %s weights, %s KV, %+v\n", name, a.Name,
			cfg.Engine.Name, cfg.Weights, cfg.KV, cfg.Parallel)
		c, err := New(cfg)
		if err != nil {
			fmt.Fprintf(&b, "refused: %v\n", err)
			continue
		}
		writePredictions(&b, c, steps)
		p, err := Plan(MemoryConfig{Model: cfg.Model, Accelerator: &a, Parallel: cfg.Parallel,
			Weights: cfg.Weights, KV: cfg.KV, Engine: cfg.Engine, TokenBudget: 8192,
			Sequences: 256, Windows: true, Adapters: cfg.Adapters, DraftWeights: 1e9, DraftKV: 1e3})
		testkit.OK(t, err)
		fmt.Fprintf(&b, "memory: %.6g B, KV %.6g B a token; %d blocks, %d contexts\n",
			[]float64{p.Usable, p.Weights, p.Experts, p.Draft, p.Adapters, p.Activations,
				p.Context, p.KV, p.Missing}, p.KVBytesPerToken, p.Blocks, p.Contexts)
	}
	golden := filepath.Join("testdata", "predictions.txt")
	if *update {
		testkit.OK(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want := testkit.Read(t, golden)
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("as written (-), predicted (+); -update writes them anew:\n%s", d)
	}
}

// writePredictions writes what c predicts of the steps, one operator a line.
func writePredictions(b *strings.Builder, c *Clock, steps []*sim.Step) {
	us := func(t sim.Time) float64 { return t.Seconds() * 1e6 }
	fmt.Fprintf(b, "outside: %q; warnings: %q\n", c.Outside(), c.Warnings())
	request, token := c.RequestLatency()
	fmt.Fprintf(b, "handover %.6g µs, request %.6g µs, token %.6g µs\n", us(c.Handover()),
		us(request), us(token))
	for _, s := range steps {
		fmt.Fprintf(b, "step of %d decodes, %d prompts: %.6g µs, work %.6g, use %.6g\n",
			s.Decodes, len(s.Prefill), us(c.Duration(s)), c.Work(s), c.Usage(s))
		for _, o := range c.Breakdown(s) {
			fmt.Fprintf(b, "  %s ×%g: %.6g FLOP, %.6g B, %.6g µs, %v, computing %.6g µs\n",
				o.Name, o.Count, o.FLOPs, o.Bytes()+o.Sent, us(o.Time), o.Bound, us(o.Computing))
		}
	}
}
