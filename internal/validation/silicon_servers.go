package validation

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// otherExperts says of a row whose experts are not spread over the GPUs of its server why it is
// left out.
func otherExperts(r *row) string {
	gpus := r.number("tp|=1") * max(1, r.number("attention_dp|=1"))
	experts := max(1, r.number("moe_tp|=1")) * max(1, r.number("moe_ep|=1"))
	if experts > 1 && experts != gpus {
		return "experts are spread over another number of accelerators than the replica has"
	}
	return ""
}

// drafting is the share by which a token is faster with multi-token prediction at least.
const drafting = 0.88

// speculativeTwins returns the rows that have a twin, alike in all columns but the times, the
// version and which DeepSeek it is, with at most the same number of clients, that took longer by
// more than runs of one server differ: the table has no column for multi-token prediction, and
// DeepSeek's were run with it and without.
func speculativeTwins(t *table) map[int]bool {
	alike := map[string][]*row{}
	for i := range t.rows {
		if r := &t.rows[i]; strings.Contains(strings.ToLower(r.text("model")), "deepseek") {
			k := twinKey(r)
			alike[k] = append(alike[k], r)
		}
	}
	twins := map[int]bool{}
	for _, rows := range alike {
		for _, r := range rows {
			for _, other := range rows {
				if other.figure("concurrency") <= r.figure("concurrency") &&
					r.figure("tpot_ms") < drafting*other.figure("tpot_ms") {
					twins[r.line] = true
				}
			}
		}
	}
	return twins
}

// twinKey returns what twins have in common.
func twinKey(r *row) string {
	fields := slices.Clone(r.fields)
	for _, name := range []string{"ttft_ms", "tpot_ms", "concurrency", "model", "backend_version",
		"month"} {
		fields[r.table.columns[name]] = ""
	}
	return strings.Join(fields, ",")
}

// siliconFlags sets the limits with which the servers were started. Flags of InferenceX are its
// scripts' (SemiAnalysisAI/InferenceX, benchmarks/single_node, 2026); flags of a vendor's own runs
// (aic) are the engines' defaults.
func (l *trial) siliconFlags(r *row) {
	public := r.text("source") == "inferencex" || repeated(r)
	l.least = equalLength
	if public {
		l.least = drawnLength
		l.publicFlags(r.text("backend_version"), r.text("month"))
	} else if l.Engine.Preset == "sglang" && (before(r.text("backend_version"), 0, 5, 2) ||
		l.count <= inStep) {
		l.least = 1 // lengths are equal; prompts first keeps the clients in step, as measured
	}
	if !l.wideCache(r.text("backend_version"), public) {
		l.narrowCache()
	}
	parseStartFlags(r.text("script_flags")).apply(l)
}

// inStep is the number of clients that stay in step where their requests have equal lengths and
// prompts go first: answers end in the same step, and the next prompts meet in one. Of hundreds of
// clients the answers' way back takes so long that their next requests are spread.
const inStep = 16

// wideCache reports whether the cache has 16 bits though the weights are narrower. Checkpoints of
// gpt-oss have narrow experts only. Those in FP8 with a scale a block bring no scales for a cache,
// which vLLM and SGLang then keep in 16 bits unless they are told otherwise: InferenceX' scripts
// tell vLLM from 0.19 on, and SGLang not for DeepSeek on Hopper.
func (l *trial) wideCache(version string, public bool) bool {
	hopper := l.accelerator.Generation == "hopper"
	switch {
	case strings.HasPrefix(l.model.Name, "gpt-oss"):
		return hopper
	case l.weights != hardware.FP8Block:
		return false
	case !public:
		return l.Engine.Preset == "sglang"
	case l.Engine.Preset == "sglang":
		return hopper && strings.HasPrefix(l.model.Name, "deepseek")
	}
	return strings.HasPrefix(l.Engine.Preset, "vllm") && before(version, 0, 19, 0)
}

// repeated reports whether a row that the table gives to the vendor is a run of InferenceX:
// Qwen3.5's are the same to the last digit.
func repeated(r *row) bool {
	return strings.Contains(strings.ToLower(r.text("model")), "qwen3.5")
}

// publicFlags are the flags of InferenceX' scripts, in the month of the run.
func (l *trial) publicFlags(version, month string) {
	ranks := max(1, l.Parallelism.Data)
	switch l.Engine.Preset {
	case "vllm-v1", "vllm-v1-sync":
		l.maxSequences, l.tokenBudget = max(1, l.count), 8192*ranks
		if l.weights == hardware.FP8Block && l.accelerator.Generation == "blackwell" &&
			before(version, 0, 19, 0) {
			l.Parallelism.Expert = l.Parallelism.Tensor // the script compares EP_SIZE with -ge 1
		}
	case "trtllm":
		l.trtllmFlags(month)
		l.tokenBudget *= ranks
	case "sglang":
		l.sglangFlags(ranks)
	}
}

// sglangFlags are those for SGLang (qwen3.5_bf16_b200.sh, qwen3.5_fp4_b200.sh, dsr1_fp4_b200.sh,
// dsr1_fp8_b200.sh).
func (l *trial) sglangFlags(ranks int) {
	hybrid, four := strings.HasPrefix(l.model.Name, "qwen3.5"), l.weights == hardware.FP4
	l.maxSequences, l.tokenBudget = max(256*ranks, l.count), 32768*ranks
	if four && !hybrid {
		l.tokenBudget = 16384 * ranks
	}
	l.Memory.StaticShare = 0.82
	if four {
		l.Memory.StaticShare = 0.85
	}
	if l.accelerator.Generation != "blackwell" {
		return
	}
	l.param("receive-interval", 10) // --scheduler-recv-interval
	switch {
	case l.weights == hardware.FP8Block && !hybrid && l.Parallelism.Tensor == 4:
		l.maxSequences, l.tokenBudget, l.Memory.StaticShare = 32*ranks, 8192*ranks, 0.95
	case l.count >= 16, four && hybrid:
		l.param("receive-interval", 30)
	}
}
