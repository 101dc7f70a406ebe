package validation

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
)

// speculation returns what drafts a number of tokens in a row, each accepted with a probability if
// the ones before it were.
func speculation(method string, tokens int, rate float64) *scenarios.Speculation {
	return &scenarios.Speculation{Method: method, Tokens: tokens, Baseline: "skip",
		Acceptance: scenarios.Acceptance{Rate: rate}}
}

// nightlyAcceptance is that probability for InferenceX' prompts of random tokens and answers of
// about a thousand tokens: a step with three drafted tokens gives 2.46 and 2.61 tokens for
// DeepSeek-V3 and V3.2 (sgl-project/sgl-cookbook, docs/autoregressive, 7b5bd9c0, accept length),
// and 1 + a + a² + a³ is the mean of both. Qwen3.5-397B, with 3.12 and 3.31 there, is taken to
// accept the same number here as DeepSeek, since the text is the same.
const nightlyAcceptance = 0.7

// Answers that go on after their end, since benchmarks have servers ignore it, repeat themselves,
// and repetitions are drafted well (Blackwellboy/model-serving-minefield, issue 108). A token takes
// 1.19 and 1.24 times less time in answers of 8,192 than in answers of 1,024 with drafts, under
// TensorRT-LLM and SGLang, and 1.03 and 1.11 times without (silicon_2026.csv, up to 16 clients): a
// step gives 1.14 times the tokens, with repeatedRejection of the rejections.
const (
	longAnswer        = 4096
	repeatedRejection = 0.72
)

// acceptanceOf returns that probability for answers of a number of tokens.
func acceptanceOf(output int) float64 {
	if output > longAnswer {
		return 1 - repeatedRejection*(1-nightlyAcceptance)
	}
	return nightlyAcceptance
}

// acceptanceFor returns the probability with which steps of a number of drafted tokens give a mean
// number of tokens, one at least.
func acceptanceFor(drafted int, length float64) float64 {
	low, high := 0.0, 1.0
	for range 40 {
		middle, sum := (low+high)/2, 0.0
		for i := 0; i <= drafted; i++ {
			sum = sum*middle + 1
		}
		if sum < length {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// drafters are the beginnings of the names of models that bring modules that draft.
var drafters = []string{"deepseek", "qwen3.5"}

// draft has the server draft a number of tokens that are accepted with a probability, and reports
// whether the model brings what drafts.
func (d *deployment) draft(tokens int, rate float64) bool {
	if !slices.ContainsFunc(drafters, func(name string) bool {
		return strings.HasPrefix(d.model.Name, name)
	}) || tokens < 1 || tokens > maxDrafted {
		return false
	}
	d.Speculation = speculation("mtp", tokens, rate)
	d.Engine.Graph *= tokens + 1 // it counts sequences, and each has its drafts in the step
	return true
}

// maxDrafted bounds the tokens that are drafted in a row.
const maxDrafted = 16

// nightlyDrafts returns the number of tokens that servers of InferenceX' application, whose rows do
// not say it, are taken to draft: three, as flags of TensorRT-LLM's runs in silicon_2026 have it.
// With data-parallel attention one is assumed; its flag is not known.
func nightlyDrafts(engine string, ranks bool) int {
	if engine == "trtllm" && ranks {
		return 1
	}
	return 3
}
