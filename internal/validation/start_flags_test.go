package validation

import (
	"reflect"
	"testing"

	"github.com/llmsim/llmsim/hardware"
)

// Flags replace what is assumed of a server; limits count for each data-parallel rank. Flags in
// doubt, and values that no server takes, change nothing.
func TestFlagsReplaceAssumptions(t *testing.T) {
	assumed := deployment{tokenBudget: 8192, maxSequences: 256, kv: hardware.BF16}
	assumed.Parallelism.Data = 2
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
		{"?max-num-seqs;?layout;VLLM_MXFP4_USE_MARLIN=0", func(*deployment) {}},
		{"max-num-seqs=-3;max_num_tokens=1e99;mem-fraction-static=7;cuda-graph-max-bs=NaN;=;;",
			func(*deployment) {}},
	} {
		got, want := trial{deployment: assumed}, trial{deployment: assumed}
		parseStartFlags(test.flags).apply(&got)
		test.want(&want.deployment)
		if !reflect.DeepEqual(got.deployment, want.deployment) {
			t.Errorf("%s:\n%+v, want\n%+v", test.flags, got.deployment, want.deployment)
		}
	}
}
