package validation

import (
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

var closedLoopColumns = []string{"backend", "model", "gpu", "dtype", "tensor_parallel", "isl",
	"osl", "concurrency"}

var closedLoopFigures = []figure{{"ttft_ms", "TTFT mean", "ms", 1},
	{"tpot_ms", "TPOT mean", "ms", 1}, {"itl_ms", "TPOT mean", "ms", 1},
	{"out_tok_s", "output rate", "tokens/s", 1}}

// requestsPerClient is how many requests each client sends, the first ones all at once: so does
// InferenceMAX, and how TTFT grows with the number of clients says the same of the other rows.
const requestsPerClient = 10

// fewWaves is how many requests a client sends in simulations of manyClients and more: what follows
// is like what was. They bound the time that a table takes.
const (
	fewWaves    = 4
	manyClients = 64
	// Beyond manyRequests it is fewer still.
	manyRequests = 4096
	leastWaves   = 2
)

// waves returns the number of requests that are simulated for the given number of clients.
func waves(clients int) int64 {
	if clients >= manyClients {
		return int64(max(leastWaves*clients, min(fewWaves*clients, manyRequests)))
	}
	return int64(requestsPerClient * clients)
}

// figuresOfWaves returns the figures of a run of requestsPerClient requests a client, of which
// waves were simulated: in means the first requests, which come all at once, count for one, and the
// others for all that follow.
func (o *outcome) figuresOfWaves(clients int) map[string]float64 {
	all := o.figures()
	if waves(clients) == int64(requestsPerClient*clients) {
		return all
	}
	first, later := o.between(0, 1).figures(), o.between(1, sim.Never).figures()
	for _, mean := range []string{"TTFT mean", "TPOT mean", "E2E mean"} {
		all[mean] = (first[mean] + (requestsPerClient-1)*later[mean]) / requestsPerClient
	}
	return all
}

// The shortest lengths as shares of the nominal ones. InferenceMAX draws lengths between 80 and 100
// %. Elsewhere they are nominally all equal, but with lengths exactly equal clients would march in
// step for ever, and TTFT would be two to four times what was measured; some percent, as random
// text has once it is tokenised, lets them drift apart.
const (
	drawnLength = 0.8
	equalLength = 0.95
)

// clients is a server under a fixed number of clients that wait for their answers; no prompt is
// like another.
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
		d := c.deploy(r, r.required("model"), r.required("gpu"), r.required("dtype"),
			r.count("tensor_parallel"))
		l := &clients{deployment: d, count: r.batch("concurrency"), prompt: r.count("isl"),
			output: r.count("osl"), least: equalLength, measured: r.measured(closedLoopFigures)}
		if r.err != nil {
			return
		}
		l.configure(engine, r.text("backend_version"))
		if r.text("backend") == "trtllm" {
			l.measured = slices.DeleteFunc(l.measured, func(m measurement) bool {
				return m.quantity == "TTFT mean"
			})
			t.skip("TTFT of TensorRT-LLM, which falls where load grows: noise")
		}
		l.place = place{Group: l.group(), file: t.file, line: r.line,
			name: fmt.Sprintf("concurrency %d, %d in, %d out", l.count, l.prompt, l.output)}
		list = append(list, l)
	})
	return list
}

// configure sets what follows from the engine and its version. Rows without a version are those of
// InferenceMAX (2025), whose scripts start vLLM with --max-num-seqs of the concurrency,
// --max-num-batched-tokens 8192 and --async-scheduling.
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

// before reports whether a version is earlier than major.minor.patch. What is not a version is not.
func before(version string, major, minor, patch int) bool {
	var v [3]int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); n < 2 {
		return false
	}
	return slices.Compare(v[:], []int{major, minor, patch}) < 0
}

// beforeAsynchronous reports whether a vLLM of that version schedules a step when the one before is
// done. Scheduling ahead became the default in 0.14 (January 2026).
func beforeAsynchronous(version string) bool {
	return before(version, 0, 14, 0)
}

func (l *clients) at() place { return l.place }

// compare implements experiment.
func (l *clients) compare(ctx context.Context, p *Physics) ([]Comparison, error) {
	load, err := closedLoop(l.count, waves(l.count), l.prompt, l.output, l.least)
	if err != nil {
		return nil, err
	}
	all, err := l.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	predicted := all.figuresOfWaves(l.count)
	predicted["output rate"] = all.outputRate()
	return rehearsable(l.place.compare(l.measured, predicted), all.rehearsal), nil
}
