package validation

import (
	"context"
	"fmt"
	"strings"
)

// TensorRT-LLM's throughput benchmark: all requests are queued at once.
var offlineColumns = []string{"model", "isl", "osl", "tensor_parallel or tp", "gpu", "dtype",
	"output_tokens_per_s or output_tok_s"}

var offlineFigures = []figure{{"output_tokens_per_s", "output rate", "tokens/s", 1},
	{"output_tok_s", "output rate", "tokens/s", 1}}

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

type offline struct {
	deployment
	place
	prompt, output int
	// per is the number of accelerators by which the output rate is divided.
	per      float64
	measured []measurement
}

func readOffline(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"),
			r.count(t.first("tensor_parallel", "tp")))
		o := &offline{deployment: d, prompt: r.count("isl"), output: r.count("osl"), per: 1,
			measured: r.measured(offlineFigures)}
		o.spread(r, "attention_dp", "ep")
		o.pipeline = r.optionalCount("pp", 1)
		if o.pipeline > maxBatch {
			r.fail(fmt.Errorf("pp: found %d, want at most %d", o.pipeline, maxBatch))
		}
		if r.err != nil {
			return
		}
		o.options(r.text("trtllm_version"))
		if r.text("unit") == "per GPU" {
			o.per = float64(o.parallel().GPUs())
		}
		o.place = place{Group: o.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("%d in, %d out", o.prompt, o.output)}
		list = append(list, o)
	})
	return list
}

// options are those of the pages. From version 1.0 on, models with experts but gpt-oss on one GPU
// run with data-parallel attention, and gpt-oss keeps a cache of 16 bits on Hopper
// (TensorRT-LLM, docs/source/developer-guide/perf-overview.md, "Running the Benchmark").
func (o *offline) options(version string) {
	compiled := version == "" || before(version, 1, 0, 0)
	if o.engine = "trtllm"; compiled {
		o.engine = "trtllm-tensorrt"
	}
	o.setDefaults()
	o.kvShare = 0.95 // kv_cache_free_gpu_mem_fraction
	o.narrowCache()
	if compiled {
		o.builtLimits()
		return
	}
	if o.model.Experts() != nil && o.data == 0 && o.tensor > 1 {
		o.data, o.tensor, o.expert = o.tensor, 1, 0
	}
	if strings.HasPrefix(o.model.Name, "gpt-oss") && o.accelerator.Generation == "hopper" {
		o.kv = o.activations
	}
	o.tunedLimits()
}

// limitRanks makes the limits of an engine, which each data-parallel rank has, those of all.
func (d *deployment) limitRanks() {
	d.maxSequences *= max(1, d.data)
	d.tokenBudget *= max(1, d.data)
}

func (o *offline) at() place { return o.place }

// compare implements experiment.
func (o *offline) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	all, err := o.serve(ctx, p, atOnce(queued(o.prompt, o.output), o.prompt, o.output))
	if err != nil {
		return nil, err
	}
	return rehearsable(o.place.compare(o.measured,
		map[string]float64{"output rate": all.outputRate() / o.per}), all.rehearsal), nil
}
