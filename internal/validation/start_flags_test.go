package validation

import (
	"reflect"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// Flags replace what is assumed of a server; limits count for each data-parallel rank. Flags in
// doubt change nothing, and values that no server takes are told.
func TestFlagsReplaceAssumptions(t *testing.T) {
	assumed := deployment{tokenBudget: 8192, maxSequences: 256, kv: hardware.BF16,
		model: &models.Architecture{Name: "deepseek-v3"}}
	assumed.accelerator.Name = "b200-sxm"
	assumed.Model, assumed.Hardware.Accelerator = "deepseek-v3", "b200-sxm"
	assumed.Parallelism.Data = 2
	apply := func(flags string) (deployment, error) {
		r := &row{table: &table{kind: &kind{}, columns: map[string]int{"script_flags": 0}},
			fields: []string{flags}}
		d := assumed
		r.applyFlags(&d)
		return d, r.err
	}
	for _, test := range []struct {
		flags string
		want  func(*deployment)
	}{
		{"max-num-batched-tokens=2048;kv-cache-dtype=fp8;gpu-memory-utilization=0.95",
			func(d *deployment) {
				d.tokenBudget, d.kv, d.Memory.Utilization = 4096, hardware.FP8, 0.95
			}},
		{"max-running-requests=128;mem-fraction-static=0.85;scheduler-recv-interval=30;" +
			"cuda-graph-max-bs=128", func(d *deployment) {
			d.maxSequences, d.Memory.StaticShare, d.Engine.Graph = 256, 0.85, 128
			d.param("receive-interval", 30)
		}},
		{"max_num_tokens=1152;kv_cache_config.free_gpu_memory_fraction=0.75;" +
			"torch_compile_config.enable_piecewise_cuda_graph=True", func(d *deployment) {
			d.tokenBudget, d.Memory.KVShare, d.Engine.PromptGraphs = 2304, 0.75, "on"
		}},
		{"compilation-config={cudagraph_mode:FULL_DECODE_ONLY|splitting_ops:[]}",
			func(d *deployment) { d.Engine.PromptGraphs = "off" }},
		{"VLLM_MXFP4_USE_MARLIN=1", func(d *deployment) { d.Engine.ExpertsBackend = "marlin" }},
		{"VLLM_USE_DEEP_GEMM=0;VLLM_USE_FLASHINFER_MOE_FP8=0", func(d *deployment) {
			d.Engine.ExpertsBackend = "no-deepgemm,no-flashinfer"
		}},
		{"moe_config.backend=TRTLLM", func(d *deployment) { d.Engine.ExpertsBackend = "trtllm" }},
		{"vllm serve MODEL --max-num-seqs 4 --enforce-eager", func(d *deployment) {
			d.maxSequences, d.Engine.Eager = 8, true
		}},
		{"?max-num-seqs;?layout;VLLM_MXFP4_USE_MARLIN=0;=;;", func(*deployment) {}},
	} {
		want := assumed
		test.want(&want)
		if got, err := apply(test.flags); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v (%v)", test.flags, got, want, err)
		}
	}
	for _, flags := range []string{"max-num-seqs=-3", "max_num_tokens=1e99",
		"mem-fraction-static=7", "cuda-graph-max-bs=NaN"} {
		if d, err := apply(flags); err == nil {
			t.Errorf("%s is read as %+v", flags, d)
		}
	}
}
