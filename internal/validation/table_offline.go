package validation

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// TensorRT-LLM's throughput benchmark: all requests are queued at once. A request of compiled
// engines is admitted when there is memory for its full length, and the cache takes 95 % of the
// memory that is left. Their limits are those that trtllm-bench 0.14 builds (trtllm_limits.go).
// queued is how many requests the benchmark queues, by their length: 3,000 but for these
// (TensorRT-LLM, docs/source/performance/ perf-overview.md, "Preparing a Dataset").
func queued(prompt, output int) int {
	switch [2]int{prompt, output} {
	case [2]int{128, 128}:
		return 30000
	case [2]int{128, 4096}, [2]int{1000, 2000}, [2]int{2048, 2048}, [2]int{5000, 500},
		[2]int{8192, 1024}, [2]int{1024, 8192}:
		return 1500
	case [2]int{20000, 2000}, [2]int{32768, 1024}, [2]int{1024, 32768}:
		return 1000
	}
	return 3000
}

func offlineRow(_ *catalogs, r *row, t *trial) string {
	t.spread(r, "attention_dp", "ep")
	if r.err != nil {
		return ""
	}
	t.options(r.text("trtllm_version"))
	t.count = queued(t.prompt, t.output)
	t.atOnce()
	t.Name = fmt.Sprintf("%d in, %d out", t.prompt, t.output)
	if r.text("unit") == "per GPU" {
		gpus := float64(t.Parallelism.Accelerators())
		t.figures = func(o *outcome) map[string]float64 {
			return map[string]float64{"output rate": o.outputRate() / gpus}
		}
	}
	return ""
}

// options are the pages' options. From version 1.0 on, models with experts but gpt-oss on one GPU
// run with data-parallel attention, and gpt-oss keeps a cache of 16 bits on Hopper (TensorRT-LLM,
// docs/source/developer-guide/perf-overview.md, "Running the Benchmark").
func (o *trial) options(version string) {
	compiled := version == "" || before(version, 1, 0, 0)
	if o.Engine.Preset = "trtllm"; compiled {
		o.Engine.Preset = "trtllm-tensorrt"
	}
	o.narrowCache()
	if compiled {
		o.builtLimits()
		return
	}
	if o.model.Experts() != nil && o.Parallelism.Data == 0 && o.Parallelism.Tensor > 1 {
		o.Parallelism.Data, o.Parallelism.Tensor, o.Parallelism.Expert = o.Parallelism.Tensor, 1, 0
	}
	if strings.HasPrefix(o.model.Name, "gpt-oss") && o.accelerator.Generation == "hopper" {
		o.kv = hardware.BF16
	}
	o.tunedLimits()
}
