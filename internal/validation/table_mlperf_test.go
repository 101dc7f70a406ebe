package validation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

func TestMLPerfEngineFollowsSoftware(t *testing.T) {
	for _, c := range []struct{ accelerator, software, results, engine, release string }{
		{"NVIDIA H100", "vLLM v0.15.0-dev; CUDA 13.0", "", "vllm", ""},
		{"NVIDIA B200", "LLM-D v0.5.0 ,vLLM 0.14.1, RHEL 9.6", "", "vllm", ""},
		{"NVIDIA B200", "TensorRT 10.14, TensorRT-LLM feat/1.2-mlpinf, vLLM x", "", "trtllm",
			"1.2"},
		{"NVIDIA B200", "TensorRT 10.14, CUDA 13.1", "", "trtllm", "1.2"},
		{"NVIDIA B200", "TensorRT 10.11, CUDA 13.0", "", "trtllm-tensorrt", ""},
		{"NVIDIA H100", "", "closed/RedHat/results/XE8640_4xH100_vLLM/", "vllm-v1-sync", ""},
		{"AMD Instinct MI355X", "ROCm; LLMBoost, Python 3.12", "", "vllm", ""},
	} {
		table, err := readTable("mlperf_inference_v6.csv", strings.NewReader(fmt.Sprintf(
			"accelerator,software,location\n%q,%q,%q\n", c.accelerator, c.software, c.results)))
		testkit.OK(t, err)
		table.kind = &kind{Name: "mlperf"}
		r := &table.rows[0]
		if engine, release := r.ruled("engine"), r.ruled("version"); engine != c.engine ||
			release != c.release {
			t.Errorf("%s, %q: %s %q, want %s %q", c.accelerator, c.software, engine, release,
				c.engine, c.release)
		}
	}
}
