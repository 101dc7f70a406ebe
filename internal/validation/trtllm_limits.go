package validation

import (
	"math"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// built are the limits with which trtllm-bench of version 0.14 built an engine.
type built struct {
	// model is the beginning of the model's name; length is the requests' length, 0 for all others.
	model          string
	tensor, length int
	// sequences and tokens are max_batch_size and max_num_tokens.
	sequences, tokens int
}

// builtEngines come from NVIDIA/TensorRT-LLM, tensorrt_llm/bench/build/benchmark_config.yml, commit
// 8fcf9fc2 (2024), where Llama 3.1 has the entries of Llama 3. The first that fits counts; groups
// larger than the largest that is listed have the limits of that.
var builtEngines = []built{
	{"llama-2-7b", 1, 0, 4096, 8192},
	{"llama-2-70b", 2, 0, 2048, 2048},
	{"llama-2-70b", 4, 4224, 256, 8192},
	{"llama-2-70b", 4, 0, 4096, 8192},
	{"llama-2-70b", 8, 2176, 1024, 16384},
	{"llama-2-70b", 8, 0, 8192, 16384},
	{"falcon-180b", 4, 0, 4096, 8192},
	{"falcon-180b", 8, 0, 2048, 8192},
	{"gpt-j", 1, 256, 2048, 2048},
	{"gpt-j", 1, 0, 128, 2048},
	{"llama-3-8b", 1, 0, 2048, 8192},
	{"llama-3-70b", 1, 0, 2048, 2048},
	{"llama-3-70b", 2, 4096, 2048, 1024},
	{"llama-3-70b", 2, 0, 256, 1024},
	{"llama-3-70b", 4, 0, 2048, 1024},
	{"llama-3-70b", 8, 0, 8192, 16384},
	{"mixtral-8x7b", 2, 0, 2048, 3072},
	{"mixtral-8x7b", 8, 0, 8192, 8192},
	{"mistral-7b", 1, 0, 4098, 8192},
}

// builtLimits sets the limits of an engine that trtllm-bench of version 0.14 built. Prompts are cut
// into chunks, as those beyond max_num_tokens have to be. Models that it has no entry for have the
// defaults of the engine.
func (o *trial) builtLimits() {
	o.chunked = true
	name := strings.NewReplacer("3.1", "3", "3.3", "3").Replace(o.model.Name)
	for _, b := range builtEngines {
		if strings.HasPrefix(name, b.model) && o.tensor <= b.tensor &&
			(b.length == 0 || b.length == o.prompt+o.output) {
			o.maxSequences, o.tokenBudget = b.sequences, b.tokens
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
	ranks, stages := max(1, o.data), float64(max(1, o.pipeline))
	group := o.tensor * ranks
	memory := float64(group)*stages*o.accelerator.Memory - float64(o.model.WeightBytes(o.weights))
	room := 0.95 * memory / (o.tunedCache(group) * float64(o.prompt+o.output))
	sequences := max(1, min(room, 4096)/stages)
	tokens := min(sequences*(1+float64(o.prompt)/float64(o.output)), 32768)
	o.maxSequences = int(roundTo(sequences, 256, 32, 1024, 128, 256))
	o.maxSequences = max(64, o.maxSequences)
	o.tokenBudget = max(2048, int(roundTo(tokens, 4096, 256, 8192, 512, 1024)))
	o.tokenBudget = max(o.tokenBudget, o.prompt+o.maxSequences)
	o.limitRanks()
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
	if l.data > 1 {
		l.rankWait = 60
	}
	chat := l.prompt == 1024 && l.output == 1024
	switch {
	case strings.HasPrefix(l.model.Name, "llama"):
		l.tokenBudget = 16384
		if chat && l.tensor < 8 {
			l.waitSteps, l.waitTokens = 20, 0.9
		}
	case strings.HasPrefix(l.model.Name, "gpt-oss"):
		l.maxSequences, l.tokenBudget, l.kvShare = 512, 20000, 0.85
	default:
		l.tokenBudget, l.kvShare = (l.count+l.prompt+64+63)/64*64, 0.8
		if month >= "2026" {
			l.tokenBudget = max(8192, l.tokenBudget)
			l.captureFlags(chat)
		}
	}
}

// captureFlags are the flags of 2026 for DeepSeek: which loads have their prompts launched as
// graphs (enable_piecewise_cuda_graph), and which let newcomers wait for each other.
func (l *trial) captureFlags(chat bool) {
	if l.weights == hardware.FP4 {
		l.captured = chat && l.tensor == 8 && l.expert == 8
		return
	}
	if l.accelerator.Generation != "blackwell" {
		return
	}
	if chat && l.count >= 64 {
		l.waitSteps, l.waitTokens = 40, 0.8
	}
	l.captured = l.count >= 128 || l.count >= 64 && (chat || l.output == 1024)
}
