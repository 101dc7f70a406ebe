package validation

import (
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// trtllmFlags are those of InferenceX' scripts for TensorRT-LLM (SemiAnalysisAI/InferenceX,
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

// captureFlags are those of 2026 for DeepSeek: which loads have their prompts launched as graphs
// (enable_piecewise_cuda_graph), and which let newcomers wait for each other.
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
