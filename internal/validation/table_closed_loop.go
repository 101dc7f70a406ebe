package validation

import (
	"context"
	"fmt"
	"slices"
)

var closedLoopColumns = []string{"backend", "model", "gpu", "dtype", "tensor_parallel", "isl", "osl", "concurrency"}

var closedLoopFigures = []figure{{"ttft_ms", "TTFT mean", "ms", 1}, {"tpot_ms", "TPOT mean", "ms", 1}, {"itl_ms", "TPOT mean", "ms", 1}, {"out_tok_s", "output rate", "tokens/s", 1}}

// requestsPerClient is how many requests each client sends, the first ones all at once: so does InferenceMAX, and how TTFT grows with
// the number of clients says the same of the other rows.
const requestsPerClient = 10

// The shortest lengths as shares of the nominal ones. InferenceMAX draws lengths between 80 and 100 %. Elsewhere they are nominally
// all equal, but with lengths exactly equal clients would march in step for ever, and TTFT would be two to four times what was
// measured; some percent, as random text has once it is tokenised, lets them drift apart.
const (
	drawnLength = 0.8
	equalLength = 0.95
)

// clients is a server under a fixed number of clients that wait for their answers; no prompt is like another.
type clients struct {
	deployment
	place
	count, prompt, output int
	least                 float64
	measured              []measurement
}

func readClosedLoop(c *catalogs, t *table) []experiment {
	var list []experiment
	t.each(func(r *row) {
		engine, err := parseEngine(r.required("backend"))
		if err != nil {
			r.fail(err)
		}
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"), r.count("tensor_parallel"))
		l := &clients{deployment: d, count: r.batch("concurrency"), prompt: r.count("isl"), output: r.count("osl"), least: equalLength, measured: r.measured(closedLoopFigures)}
		if r.err != nil {
			return
		}
		l.configure(engine, r.text("backend_version"))
		if r.text("backend") == "trtllm" {
			l.measured = slices.DeleteFunc(l.measured, func(m measurement) bool { return m.quantity == "TTFT mean" })
			t.skip("TTFT of TensorRT-LLM, which falls where load grows: noise")
		}
		l.place = place{Group: l.group(), file: t.file, line: r.line, name: fmt.Sprintf("concurrency %d, %d in, %d out", l.count, l.prompt, l.output)}
		list = append(list, l)
	})
	return list
}

// configure sets what follows from the engine and its version. Rows without a version are those of InferenceMAX (2025), whose scripts
// start vLLM with --max-num-seqs of the concurrency, --max-num-batched-tokens 8192 and --async-scheduling.
func (l *clients) configure(engine, version string) {
	l.engine = engine
	if engine == "vllm-v1" && beforeAsynchronous(version) {
		l.engine = "vllm-v1-sync"
	}
	l.setDefaults()
	if version == "" {
		l.least = drawnLength
		l.maxSequences, l.tokenBudget = min(l.count, 8192), 8192
	}
	l.narrowCache()
}

// beforeAsynchronous tells whether a vLLM of that version schedules a step when the one before is done. Scheduling ahead became the
// default in 0.14 (January 2026).
func beforeAsynchronous(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return n == 2 && major == 0 && minor < 14
}

func (l *clients) at() place { return l.place }

// compare implements experiment.
func (l *clients) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	load, err := closedLoop(l.count, int64(requestsPerClient*l.count), l.prompt, l.output, l.least)
	if err != nil {
		return nil, err
	}
	all, err := l.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	predicted := all.figures()
	predicted["output rate"] = all.outputRate()
	return l.place.compare(l.measured, predicted), nil
}
