package validation

import (
	"math"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

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
