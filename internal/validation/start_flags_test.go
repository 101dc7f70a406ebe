package validation

import (
	"reflect"
	"testing"

	"github.com/llmsim/llmsim/hardware"
)

// Flags replace what is assumed of a server; limits count for each data-parallel rank. Flags in
// doubt, and values that no server takes, change nothing.
func TestFlagsReplaceAssumptions(t *testing.T) {
	assumed := deployment{tokenBudget: 8192, maxSequences: 256, data: 2, kv: hardware.BF16}
	for _, test := range []struct {
		flags string
		want  func(*deployment)
	}{
		{"max-num-batched-tokens=2048;kv-cache-dtype=fp8;gpu-memory-utilization=0.95",
			func(d *deployment) { d.tokenBudget, d.kv, d.utilisation = 4096, hardware.FP8, 0.95 }},
		{"max-running-requests=128;mem-fraction-static=0.85;scheduler-recv-interval=30;" +
			"cuda-graph-max-bs=128", func(d *deployment) {
			d.maxSequences, d.utilisation, d.receive, d.graph = 256, 0.85, 30, 128
		}},
		{"max_num_tokens=1152;kv_cache_config.free_gpu_memory_fraction=0.75;" +
			"torch_compile_config.enable_piecewise_cuda_graph=True", func(d *deployment) {
			d.tokenBudget, d.kvShare, d.captured = 2304, 0.75, true
		}},
		{"compilation-config={cudagraph_mode:FULL_DECODE_ONLY|splitting_ops:[]}",
			func(d *deployment) { d.eagerPrompts = true }},
		{"VLLM_MXFP4_USE_MARLIN=1", func(d *deployment) { d.marlin = true }},
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
