package validation

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios"
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
	flags := parseStartFlags(r.text("flags"))
	flags.apply(t)
	t.context(flags)
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

// fullContext is the longest context of Llama-3.1-405B on eight H100 under vLLM 0.6.3. It is the
// number of tokens that the cache had room for, 5,730 blocks, as vLLM asks for where the model's
// own is longer; version 0.5.3 had 79,392 tokens (vllm-project/vllm, issue 6746).
const fullContext = 91680

// context has the server serve the longest context that its flags name.
func (t *trial) context(flags startFlags) {
	if n, ok := flags.number("max-model-len"); ok {
		t.Engine.MaxModelLen = int(n)
	}
	if t.Engine.MaxModelLen == fullContext && t.accelerator.Name == "h100-sxm" {
		t.Memory.Tokens = fullContext
	}
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
