package validation

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/hardware"
)

var closedLoopColumns = []string{"backend", "model", "gpu", "dtype", "tensor_parallel", "isl", "osl", "concurrency"}

var closedLoopFigures = []figure{{"ttft_ms", "TTFT mean", "ms", 1}, {"tpot_ms", "TPOT mean", "ms", 1}, {"itl_ms", "TPOT mean", "ms", 1}}

// requestsPerClient is how many requests each client sends, the first ones all at once. The tables do not say; it is what the
// guides of AIPerf use, and InferenceMAX.
const requestsPerClient = 10

const variedLength = 0.8

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
		backend, err := parseEngine(r.required("backend"))
		if err != nil {
			r.fail(err)
		}
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"), r.count("tensor_parallel"))
		l := &clients{deployment: d, count: r.batch("concurrency"), prompt: r.count("isl"), output: r.count("osl"), least: 1, measured: r.measured(closedLoopFigures)}
		if r.err != nil {
			return
		}
		l.engine = backend
		l.setDefaults()
		if r.text("backend_version") == "" {
			l.least = variedLength
			l.sync = os.Getenv("SYNC") == "all"
		} else if backend == "vllm-v1" {
			b, _ := strconv.Atoi(os.Getenv("BUDGET"))
			n, _ := strconv.Atoi(os.Getenv("SEQS"))
			l.least, _ = strconv.ParseFloat(os.Getenv("LEAST"), 64)
			l.tokenBudget, l.maxSequences = b, n
			l.sync = true
		}
		if l.kv == "" && l.weights == hardware.FP8 {
			l.kv = hardware.FP8
		}
		if backend == "trtllm" {
			l.measured = slices.DeleteFunc(l.measured, func(m measurement) bool { return m.quantity == "TTFT mean" })
			t.skip("TTFT of TensorRT-LLM, which falls where load grows: noise")
		}
		l.place = place{Group: l.group(), file: t.file, line: r.line, name: fmt.Sprintf("%d clients, %d in, %d out", l.count, l.prompt, l.output)}
		list = append(list, l)
	})
	return list
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
	return l.place.compare(l.measured, all.figures()), nil
}
