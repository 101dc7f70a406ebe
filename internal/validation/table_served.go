package validation

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Servers of many sources in one form. A row is a server under a load: users that each send their
// next request when the last one is answered, requests at a rate, or requests that are all there at
// once. Lengths are means, with the law that is assumed of them, and figures say whether they are
// means or medians (FreedomIntelligence/AccelMark, argonne-lcf/LLM-Inference-Bench,
// dstackai/benchmarks, NVIDIA's page of NIM, vLLM's own CI, Vultr's cookbook). Rows that name the
// same server have one build.
// weightOnly is the format of weights in 8 bits that are widened before they are multiplied.
// Accelerators without arithmetic for FP8 do the same with FP8.
const weightOnly = "w8a16"

func serverRow(c *catalogs, r *row, t *trial) string {
	size, requests := r.number("users_or_rate"), r.count("requests")
	switch {
	case r.err != nil:
		return ""
	case requests > maxRequests || size <= 0 || size > maxBatch:
		r.fail(fmt.Errorf("users_or_rate and requests: found %g and %d, want at most %d and %d",
			size, requests, maxBatch, maxRequests))
		return ""
	case r.text("dtype") == weightOnly && t.accelerator.Peak[hardware.FP8] > 0:
		return "weights in 8 bits beside products in 16, where there is arithmetic in 8 bits"
	}
	t.server, t.rehearsable = r.required("server"), true
	if strings.HasSuffix(t.server, "-1FP8-meta") { // its maker's FP8, with attention in 16 bits
		var err error
		if t.model, err = c.model(t.model.Name + "-fp8"); err != nil {
			r.fail(err)
			return ""
		}
	}
	group := t.group()
	t.machine = group.Machine(r.table.kind.Name)
	if !strings.HasPrefix(t.server, accelMark) {
		t.tokens = "random" // AccelMark sends ShareGPT's questions
	}
	t.ownMemory()
	r.applyFlags(&t.deployment)
	if load, law := r.text("load"), r.text("isl_dist"); load == "rate" &&
		strings.HasPrefix(t.server, accelMark) {
		if law == "" {
			requests = longPrompts
		} else if t.Engine.Preset == "sglang" {
			t.drop(r, "TTFT of AccelMark's rates under SGLang, whose cache has the prompts, since "+
				"each run sends the same", "TTFT")
		}
	}
	t.Workload = r.load(size, requests, t)
	t.Name = fmt.Sprintf("%s %g, %s in, %s out", r.text("load"), size, r.text("isl_mean"),
		r.text("osl_mean"))
	if strings.Contains(r.text("note"), "e2e is p99") {
		t.rename("E2E mean", "E2E p99")
	}
	return t.layOut(r.text("layout"))
}

// load returns the requests of a row. Users whose requests have fixed lengths stay in step where
// prompts go before decodes: TTFT then grows in proportion to their number, as measured of
// DeepSeek-R1 by 4 to 128 users. Elsewhere they drift apart.
func (r *row) load(size float64, requests int, t *trial) scenarios.Workload {
	equal := 1.0
	if r.text("load") == "users" && t.Engine.Preset != "sglang" && t.Engine.Preset != "vllm-v0" {
		equal = equalLength
	}
	output, room := r.length("osl", equal, 0), 0
	if strings.HasPrefix(t.server, accelMark) && t.Engine.Preset == "sglang" &&
		r.text("load") != "once" {
		output.Min, output.Max = min(output.Min, longestStreamed), min(output.Max, longestStreamed)
	}
	if t.Engine.MaxModelLen > 0 {
		room = t.Engine.MaxModelLen - output.Max
	}
	w := sent(int64(requests), r.length("isl", equal, room), output)
	w.Arrivals.Process = "at-once"
	switch load := r.text("load"); load {
	case "once":
	case "users":
		w.Arrivals = scenarios.Arrivals{Process: "closed-loop", Users: int(size), Start: "together"}
	case "rate":
		w.Arrivals.Process, w.Rate.Value = "poisson", scenarios.PerSecond(size)
	default:
		r.fail(fmt.Errorf("load: found %q, want users, rate or once", load))
	}
	return w
}

// Rows of AccelMark begin with its name. What their columns do not say: its client of SGLang ends
// the answers that it streams at longestStreamed tokens, whatever the lengths that it asked for
// (runners/nvidia_sglang_c43a8309/runner.py); and longPrompts prompts of a fixed length come at a
// rate, by the time that a run of them took (elapsed_seconds_median of the results).
const (
	accelMark       = "accelmark:"
	longestStreamed = 224
	longPrompts     = 100
)

// length returns the lengths in columns NAME_mean and NAME_dist, at most the given one unless it is
// 0. Lengths without a law are in [equal, 1] times the mean. A law with a longest length, which is
// "lognormal CV max LONGEST", has the mean after it is cut there.
func (r *row) length(name string, equal float64, most int) scenarios.Length {
	mean, law := r.number(name+"_mean"), r.text(name+"_dist")
	longest := r.count(name + "_mean")
	if r.err != nil {
		return scenarios.Length{}
	}
	if law == "" {
		return scenarios.Length{Distribution: "uniform",
			Min: max(1, int(equal*float64(longest))), Max: longest}
	}
	var cv float64
	longest = 0
	if n, err := fmt.Sscanf(law, "lognormal %g max %d", &cv, &longest); n < 1 || cv <= 0 {
		r.fail(fmt.Errorf("%s_dist: found %q, want such as lognormal 0.5 max 512: %w", name, law,
			err))
		return scenarios.Length{}
	}
	longest = cmp.Or(longest, most, 16*int(mean))
	low, high := mean, 64*mean
	for range 30 {
		middle := (low + high) / 2
		if d, err := lengths.LogNormal(middle, cv, 1, longest); err != nil || d.Mean() > mean {
			high = middle
		} else {
			low = middle
		}
	}
	return scenarios.Length{Distribution: "lognormal", Mean: low, CV: cv, Max: longest}
}

// ownMemory has the server keep its KV cache as its engine does, where a request that was preempted
// finds again what it had computed.
func (d *deployment) ownMemory() {
	if release, err := engines.Find(d.Engine.Preset, ""); err == nil {
		own, _ := release.Setting("memory.policy", engines.Place{Accelerator: &d.accelerator})
		d.Memory.Policy = own.Value
	}
}

// rename gives a measured figure another name.
func (t *trial) rename(from, to string) {
	for i := range t.measured {
		if t.measured[i].Quantity == from {
			t.measured[i].Quantity = to
		}
	}
}

// layOut spreads the server of a row: dp-attention has a rank of attention on each accelerator, and
// 3P1D three servers that compute prompts and one that answers, each of the row's accelerators. It
// returns why the row is left out, or "".
func (t *trial) layOut(layout string) string {
	var prefill, decode int
	switch n, err := fmt.Sscanf(layout, "%dP%dD", &prefill, &decode); {
	case layout == "":
	case layout == "dp-attention":
		t.Parallelism.Data, t.Parallelism.Tensor = t.Parallelism.Tensor, 1
	case n == 2 && err == nil && prefill > 0 && decode > 0 && prefill+decode <= maxBatch:
		t.rehearsable = false
		t.divided(prefill, decode)
	default:
		return "the layout " + layout + " is not known"
	}
	return ""
}

// Clients in a closed loop send ten requests each, and all first requests come at once. No two
// prompts are alike. Lengths vary by 5 %, so that the clients do not stay in step; in rows without
// a version, which come from InferenceMAX (2025), they vary from 80 to 100 %, and its scripts start
// vLLM with --max-num-seqs of the concurrency, --max-num-batched-tokens 8192 and
// --async-scheduling.
func closedLoopRow(_ *catalogs, r *row, t *trial) string {
	t.least = equalLength
	if r.text("backend_version") == "" {
		t.least, t.maxSequences, t.tokenBudget = drawnLength, min(t.count, 8192), 8192
	}
	t.closed()
	return ""
}

// SGLang's cookbook (sgl-project/sgl-cookbook): bench_serving of 26 models with the launch flags.
// Lengths are uniform from 1 to the limits isl and osl, or ShareGPT's.
func cookbookRow(_ *catalogs, r *row, t *trial) string {
	requests := r.count("requests")
	if ranks := r.count("dp|=1"); r.text("dp_attention") == "1" && ranks > 1 {
		t.Parallelism.Data, t.Parallelism.Tensor = ranks, max(1, t.Parallelism.Tensor/ranks)
	}
	if experts := r.count("ep|=1"); experts > 1 && t.Parallelism.Data == 0 {
		t.Parallelism.Expert = experts
	}
	if !r.atMost("requests", requests, maxRequests) || r.err != nil {
		return ""
	}
	t.Workload = clients(t.count, int64(requests), 2*t.prompt, 2*t.output, 0)
	t.rehearsable = true
	if requests < 2*t.count+20 {
		t.drop(r, "TTFT of ten requests, the first ones of which warm the server up", "TTFT")
	}
	with := r.text("speculative")
	if with == "" && r.number("accept_length|=0") > 1 {
		return "drafts were accepted, of a number that is not known"
	}
	if with != "" {
		drafted, length := 0, r.number("accept_length|=0")
		if _, after, found := strings.Cut(with, "steps="); found {
			fmt.Sscan(after, &drafted)
		}
		if length <= 1 || !t.draft(drafted, acceptanceFor(drafted, length)) {
			return "multi-token prediction was on, and its acceptance is not known"
		}
		t.measuredWithDrafts()
	}
	return ""
}

// Replicas of Llama-3.1-70B under rising rates, with and without a cache in host memory
// (llm-d/llm-d-benchmark). What was found in caches was not recorded, so that only servers without
// a cache in host memory are compared, whose lists of requests do not fit into their caches.
func reuseRow(_ *catalogs, r *row, t *trial) string {
	rate, replicas := r.number("offered_rate_rps"), float64(r.batch("replicas"))
	if rate <= 0 {
		r.fail(fmt.Errorf("offered_rate_rps: found %g/s, want a rate above 0", rate))
	}
	if r.err != nil {
		return ""
	}
	n := max(1, t.count/int(replicas))
	t.sent = r.varied(n, float64(n)*replicas/rate, t.prompt, t.output)
	t.rehearsable = true
	t.Name = fmt.Sprintf("%g/s over %g replicas, %d in, %d out", rate, replicas, t.prompt,
		t.output)
	return ""
}

// vLLM 0.23 under a constant rate of prompts that are all different, so that every prompt is
// computed (inference-sim/residency-vllm). The client has at most max_in_flight requests in flight.
// clientLimit is the number of requests that the client has in flight at most, and fullShare the
// share of it in flight on average from which on the load is a closed loop.
const (
	clientLimit = 256
	fullShare   = 0.9
)

func uniqueRow(_ *catalogs, r *row, t *trial) string {
	rate, length := r.number("rate_rps"), r.number("stage_s")
	if n := rate * length; n < 1 || n > maxRequests {
		r.fail(fmt.Errorf("rate_rps and stage_s: found %g/s for %g s, want 1 to %d requests",
			rate, length, maxRequests))
	}
	full := r.number("mean_in_flight") >= fullShare*clientLimit
	if r.err != nil {
		return ""
	}
	t.count, t.least = clientLimit, equalLength
	t.Name = fmt.Sprintf("%g/s, %d in, %d out, no two prompts alike", rate, t.prompt, t.output)
	if full {
		name := t.Name
		t.closed()
		t.Name = name + ", 256" + accuracy.Saturated
		return ""
	}
	t.Workload = arriving(int(math.Round(rate*length)), rate, "poisson", fixed(t.prompt),
		fixed(t.output))
	t.rehearsable = true
	return ""
}

// LMDeploy's generation benchmark: batch clients send a request of fixed lengths each at the same
// moment, and all prompts are computed before the first sequence decodes.
func staticBatchRow(_ *catalogs, r *row, t *trial) string {
	t.atOnce()
	t.rehearsable = false
	if t.prompt == 1 { // says nothing about the computing of prompts
		t.rename("TTFT mean", "TTFT empty")
	}
	t.figures = func(all *outcome) map[string]float64 {
		predicted := all.latenciesAndRate()
		predicted["token p50"] = all.gaps.Quantile(0.5) / float64(sim.Millisecond)
		predicted["TTFT empty"] = predicted["TTFT mean"]
		return predicted
	}
	return ""
}

// queued returns how many requests of a length TensorRT-LLM's throughput benchmark queues at once:
// 3,000 but for these (TensorRT-LLM, docs/source/performance/perf-overview.md, "Preparing a
// Dataset"). A compiled engine admits a request when there is memory for its full length, and its
// cache takes 95 % of the memory that is left. rules.csv has the limits with which trtllm-bench
// 0.14 compiles engines.
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
	t.options(r, r.text("trtllm_version"))
	t.count = queued(t.prompt, t.output)
	t.atOnce()
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
func (o *trial) options(r *row, version string) {
	compiled := version == "" || earlier(version, "1.0")
	if o.Engine.Preset = "trtllm"; compiled {
		o.Engine.Preset = "trtllm-tensorrt"
	}
	o.narrowCache()
	if compiled {
		r.learn("length", fmt.Sprint(o.prompt+o.output))
		r.set("built", &o.deployment)
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

// The same H100s serve Llama-3.1-8B as plain replicas, or with prefill and decode apart
// (llm-d/llm-d-benchmark, exp-7): requests that are all alike come at nearly even distances.
// layout returns the numbers of prefill and of decode servers; for plain replicas, the first is 0.
func layout(r *row) (prefill, decode int) {
	text := r.required("layout")
	if n, err := fmt.Sscanf(text, "%dp%dd", &prefill, &decode); n == 2 && err == nil {
		return prefill, decode
	}
	if n, err := fmt.Sscanf(text, "%dreplicas", &decode); n != 1 || err != nil {
		r.fail(fmt.Errorf("layout: found %q, want such as 1p1d or 2replicas", text))
	}
	return 0, decode
}

// evenLoad returns the requests of a row for one of some replicas.
func evenLoad(r *row, replicas int) scenarios.Workload {
	rate, n := r.number("request_rate"), r.count("prompts")
	if r.err == nil && (rate <= 0 || n > maxRequests || replicas < 1 || replicas > n) {
		r.fail(fmt.Errorf("found %d requests at %g/s over %d replicas", n, rate, replicas))
	}
	return arriving((n+replicas-1)/max(1, replicas), rate/float64(replicas), "constant",
		fixed(r.count("prompt_tokens_mean")), fixed(r.count("output_tokens_mean")))
}

// stalls reports whether tokens wait for prompts: one gap in a hundred is several times as long as
// most are. Decode servers that only receive KV have no such gaps. In these runs the gaps last as
// long as a prompt takes on plain replicas (215 ms of 8,000 tokens, 236 of 10,000), and a request
// sees as many as there: half of the prompts, or a third, were computed where they decoded.
func stalls(r *row) bool {
	const several = 5
	longest, usual := r.number("itl_p99_ms|=0"), r.number("itl_median_ms|=0")
	return usual > 0 && longest > several*usual
}

func poolRow(_ *catalogs, r *row, t *trial) string {
	prefill, decode := layout(r)
	if decode > maxBatch || prefill > maxBatch {
		r.fail(fmt.Errorf("layout: found more than %d servers", maxBatch))
	}
	name, sharing := fmt.Sprintf("%d prefill, %d decode", prefill, decode), 1
	switch {
	case prefill == 0:
		name, sharing = fmt.Sprintf("%d replicas", decode), decode
	case stalls(r):
		sharing = prefill + decode
		name = fmt.Sprintf("%d servers that all compute prompts", sharing)
	default:
		t.divided(prefill, decode)
	}
	t.Workload = evenLoad(r, sharing)
	t.Name = fmt.Sprintf("%s, %g/s", name, r.number("request_rate"))
	return ""
}
