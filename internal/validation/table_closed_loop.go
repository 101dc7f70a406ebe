package validation

import (
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
// others for all that follow. Medians are those of what follows.
func (o *outcome) figuresOfWaves(clients int) map[string]float64 {
	all := o.latenciesAndRate()
	if waves(clients) == int64(requestsPerClient*clients) {
		return all
	}
	first, later := o.between(0, 1).figures(), o.between(1, sim.Never).figures()
	for _, latency := range []string{"TTFT", "TPOT", "E2E"} {
		mean := latency + " mean"
		all[mean] = (first[mean] + (requestsPerClient-1)*later[mean]) / requestsPerClient
		all[latency+" p50"] = later[latency+" p50"]
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

var closedLoopRows = rowSpec{
	model: "model", gpu: "gpu", dtype: "dtype", tensor: "tensor_parallel",
	figures: closedLoopFigures,
	describe: func(_ *catalogs, r *row, t *trial) string {
		engine := r.engine("backend")
		t.count, t.prompt, t.output = r.batch("concurrency"), r.count("isl"), r.count("osl")
		t.least = equalLength
		if r.err != nil {
			return ""
		}
		t.configure(engine, r.text("backend_version"))
		if r.text("backend") == "trtllm" {
			t.drop(r, "TTFT of TensorRT-LLM, which falls where load grows: noise", isTTFT)
		}
		t.closed()
		return ""
	},
}

func isTTFT(quantity string) bool { return quantityFamily(quantity) == "TTFT" }

// configure sets what follows from the engine and its version. Rows without a version are those of
// InferenceMAX (2025), whose scripts start vLLM with --max-num-seqs of the concurrency,
// --max-num-batched-tokens 8192 and --async-scheduling.
func (l *trial) configure(engine, version string) {
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
