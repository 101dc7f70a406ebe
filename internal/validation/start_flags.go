package validation

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/engines"
)

// startFlags are the flags with which the server of a row was started, as the column script_flags
// has them: name=value, separated by ";". A name that begins with "?" is in doubt.
type startFlags map[string]string

// parseStartFlags reads such a text.
func parseStartFlags(text string) startFlags {
	flags := startFlags{}
	for _, flag := range strings.Split(text, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(flag), "="); name != "" {
			flags[name] = value
		}
	}
	return flags
}

// number returns the first of the flags that is a number above 0.
func (s startFlags) number(names ...string) (float64, bool) {
	for _, name := range names {
		if x, err := strconv.ParseFloat(s[name], 64); err == nil && x > 0 && x <= maxCount {
			return x, true
		}
	}
	return 0, false
}

// apply sets what the flags say in place of what is assumed of servers of that kind. Limits are for
// each of the ranks.
func (s startFlags) apply(l *trial) {
	ranks := max(1, l.Parallelism.Data)
	count := func(into *int, factor int, names ...string) {
		if x, ok := s.number(names...); ok {
			*into = int(x) * factor
		}
	}
	share := func(into *float64, names ...string) {
		if x, ok := s.number(names...); ok && x < 1 {
			*into = x
		}
	}
	count(&l.tokenBudget, ranks, "max-num-batched-tokens", "max_num_tokens", "chunked-prefill-size")
	count(&l.maxSequences, ranks, "max-num-seqs", "max_batch_size", "max-running-requests")
	count(&l.Engine.Graph, 1, "max-cudagraph-capture-size", "cuda-graph-sizes", "cuda-graph-max-bs",
		"cuda_graph_config.max_batch_size")
	if n, ok := s.number("scheduler-recv-interval"); ok {
		l.param("receive-interval", int(n))
	}
	if len(s) > 0 { // a server whose flags are known has newcomers wait only where they say so
		delete(l.Batching.Params, "wait-steps")
		steps, ok := s.number("batch_wait_timeout_iters")
		if tokens, some := s.number("batch_wait_max_tokens_ratio"); ok && some && tokens < 1 {
			l.wait(int(steps), tokens)
		}
	}
	share(&l.Memory.Utilization, "gpu-memory-utilization")
	share(&l.Memory.StaticShare, "mem-fraction-static")
	share(&l.Memory.KVShare, "kv_cache_config.free_gpu_memory_fraction")
	if strings.HasPrefix(s["kv-cache"]+s["kv-cache-dtype"]+s["kv_cache_config.dtype"], "fp8") {
		l.kv = hardware.FP8
	}
	compiled := s["compilation-config"]
	if strings.Contains(compiled, "FULL_DECODE_ONLY") {
		l.Engine.PromptGraphs = "off"
	}
	_, fused := s["enable-flashinfer-allreduce-fusion"]
	l.Engine.FusedAllReduce = fused || strings.Contains(compiled, "fuse_allreduce_rms:true") ||
		strings.Contains(compiled, "enable_fi_allreduce_fusion:true")
	l.Engine.ExpertsBackend = s.experts(&l.deployment)
	if s["torch_compile_config.enable_piecewise_cuda_graph"] == "True" {
		l.Engine.PromptGraphs = "on"
	}
}

// experts returns the back end of routed experts that the flags ask for; "" where they do not say.
func (s startFlags) experts(d *deployment) string {
	release, err := engines.Find(cmp.Or(d.Engine.Preset, "vllm"), d.version)
	if err != nil {
		release, _ = engines.Find(cmp.Or(d.Engine.Preset, "vllm"), "")
	}
	for _, flag := range []string{"moe-backend", "moe-runner-backend", "moe_config.backend"} {
		if name := s[flag]; name != "" {
			return engines.BackendName(name)
		}
	}
	return release.AskedBackend(engines.Experts, release.Version, s)
}

// withMTP reports whether flags have the server draft by multi-token prediction, beyond doubt.
func withMTP(flags string) bool {
	return strings.Contains(flags, "speculative=mtp") && !strings.Contains(flags, "?speculative")
}

// drafted returns the number of tokens that flags have the server draft; 0 where they do not say.
func (s startFlags) drafted() int {
	n, _ := s.number("speculative-num-steps", "speculative_config.num_nextn_predict_layers")
	return int(n)
}

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

// built are the limits with which trtllm-bench of version 0.14 built an engine: a row of
// trtllm_built.csv, of which the first that fits counts. They come from NVIDIA/TensorRT-LLM,
// tensorrt_llm/bench/build/benchmark_config.yml, commit 8fcf9fc2 (2024), where Llama 3.1 has the
// entries of Llama 3. Groups larger than the largest that is listed have its limits.
type built struct {
	// Model is the beginning of the model's name; Length is the requests' length, 0 for all others.
	Model  string `csv:"model"`
	Tensor int    `csv:"tensor"`
	Length int    `csv:"length"`
	// Sequences and Tokens are max_batch_size and max_num_tokens.
	Sequences int `csv:"sequences"`
	Tokens    int `csv:"tokens"`
}

var builtEngines = shipped[built]("trtllm_built.csv")

// builtLimits sets the limits of an engine that trtllm-bench of version 0.14 built. Prompts are cut
// into chunks, as those beyond max_num_tokens have to be. Models that it has no entry for have the
// defaults of the engine.
func (o *trial) builtLimits() {
	o.param("chunked-context", true)
	name := strings.NewReplacer("3.1", "3", "3.3", "3").Replace(o.model.Name)
	for _, b := range builtEngines() {
		if strings.HasPrefix(name, b.Model) && o.Parallelism.Tensor <= b.Tensor &&
			(b.Length == 0 || b.Length == o.prompt+o.output) {
			o.maxSequences, o.tokenBudget = b.Sequences, b.Tokens
			return
		}
	}
}

// tunedLimits sets the limits that trtllm-bench chooses from version 0.15 on: the sequences that
// might have room beside the weights, and the tokens of a step that keep up with them. Without
// chunks a step has room for a prompt (tensorrt_llm/bench/build/tuning.py, calc_engine_setting and
// finetune_setting; bench/benchmark/utils/general.py, get_settings). Attention by data-parallel
// ranks does not change them: each rank gets the limits of all.
func (o *trial) tunedLimits() {
	ranks, stages := max(1, o.Parallelism.Data), float64(max(1, o.Parallelism.Pipeline))
	group := o.Parallelism.Tensor * ranks
	memory := float64(group)*stages*o.accelerator.Memory - float64(o.model.WeightBytes(o.weights))
	room := 0.95 * memory / (o.tunedCache(group) * float64(o.prompt+o.output))
	sequences := max(1, min(room, 4096)/stages)
	tokens := min(sequences*(1+float64(o.prompt)/float64(o.output)), 32768)
	o.maxSequences = int(roundTo(sequences, 256, 32, 1024, 128, 256))
	o.maxSequences = max(64, o.maxSequences)
	o.tokenBudget = max(2048, int(roundTo(tokens, 4096, 256, 8192, 512, 1024)),
		o.prompt+o.maxSequences) * ranks
	o.maxSequences *= ranks
}

// tunedCache returns the bytes that trtllm-bench takes a token to store on a group of accelerators:
// in all layers alike, whatever their windows, and latent vectors once.
func (o *trial) tunedCache(group int) float64 {
	total := 0.0
	for _, l := range o.model.AttentionLayers(group, o.kv) {
		copies := float64(group)
		if l.Latent {
			copies = 1
		}
		total += copies * float64(l.Count) * l.KVBytes
	}
	return total
}

// roundTo rounds x up to a multiple of the first step below small, of the second below large, and
// of the third beyond.
func roundTo(x, small, first, large, second, third float64) float64 {
	step := third
	switch {
	case x < small:
		step = first
	case x < large:
		step = second
	}
	return step * math.Ceil(x/step)
}

// trtllmFlags are the flags of InferenceX' scripts for TensorRT-LLM (SemiAnalysisAI/InferenceX,
// benchmarks: 70b_fp8_b200_trt_slurm.sh, gptoss_fp4_b200_trt.sh, dsr1_fp4_b200_trt.sh,
// dsr1_fp8_b200_trt.sh). Prompts are whole. Ranks wait for each other (attention_dp_config:
// enable_balance true, batching_wait_iters 0, timeout_iters 60).
func (l *trial) trtllmFlags(month string) {
	if l.Parallelism.Data > 1 {
		l.param("rank-wait", 60)
	}
	chat := l.prompt == 1024 && l.output == 1024
	switch {
	case strings.HasPrefix(l.model.Name, "llama"):
		l.tokenBudget = 16384
		if chat && l.Parallelism.Tensor < 8 {
			l.wait(20, 0.9)
		}
	case strings.HasPrefix(l.model.Name, "gpt-oss"):
		l.maxSequences, l.tokenBudget, l.Memory.KVShare = 512, 20000, 0.85
	default:
		l.tokenBudget, l.Memory.KVShare = (l.count+l.prompt+64+63)/64*64, 0.8
		if month >= "2026" {
			l.tokenBudget = max(8192, l.tokenBudget)
			if l.captures(chat) {
				l.Engine.PromptGraphs = "on"
			}
		}
	}
}

// captures reports whether the flags of 2026 for DeepSeek have prompts launched as graphs under a
// load (enable_piecewise_cuda_graph), and has newcomers wait for each other where they say so.
func (l *trial) captures(chat bool) bool {
	if l.weights == hardware.FP4 {
		return chat && l.Parallelism.Tensor == 8 && l.Parallelism.Expert == 8
	}
	if l.accelerator.Generation != "blackwell" {
		return false
	}
	if chat && l.count >= 64 {
		l.wait(40, 0.8)
	}
	return l.count >= 128 || l.count >= 64 && (chat || l.output == 1024)
}

// wait has newcomers wait some steps for each other, until they are a share of the token budget.
func (d *deployment) wait(steps int, tokens float64) {
	d.param("wait-steps", steps)
	d.param("wait-tokens", tokens)
}

// degrees are how a model is spread over GPUs, as labels such as "tp2", "dp2ep" and "tp2dp4ep8"
// name it: data-parallel ranks of attention, each over a number of GPUs, and experts over all GPUs.
type degrees struct {
	tensor, data int
	experts      bool
}

var degreesLabel = regexp.MustCompile(`^(?:tp(\d+))?_?(?:dp(\d+))?_?(ep(\d+)?)?$`)

// parseDegrees reads such a label, and reports whether it is one. A number of ranks over which
// experts are spread must be the number of all GPUs, or 1.
func parseDegrees(label string) (degrees, bool) {
	m := degreesLabel.FindStringSubmatch(label)
	if m == nil || label == "" {
		return degrees{}, false
	}
	degree := func(text string) int {
		if text == "" {
			return 1
		}
		n, err := strconv.Atoi(text)
		if err != nil || n > maxBatch {
			return 0
		}
		return n
	}
	l := degrees{tensor: degree(m[1]), data: degree(m[2])}
	gpus, expert := l.tensor*l.data, degree(m[4])
	l.experts = m[3] != "" && gpus > 1 && (m[4] == "" || expert > 1)
	return l, gpus > 0 && (m[4] == "" || expert == 1 || expert == gpus)
}

// apply spreads a deployment so. The number of GPUs of one rank is set before.
func (l degrees) apply(d *deployment) {
	d.Parallelism.Data = l.data
	if l.experts && d.model.Experts() != nil {
		d.Parallelism.Expert = l.tensor * l.data
	}
}
