package models

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
)

//go:embed checkpoints.csv
var releaseTable string

// Release is a published form of a model with quantised weights.
type Release struct {
	// Repository is its name on Hugging Face, Of the name of the checkpoint that it is a form of.
	Repository string `csv:"repository"`
	Of         string `csv:"of"`
	// Weights is the number format of most of its weights.
	Weights hardware.DType `csv:"weights"`
	// Source says where Weights is from.
	Source string `csv:"source"`
}

// Releases returns the checkpoints with quantised weights that are known. They are shared: do not
// change them.
func Releases() []Release { return readReleases() }

// readReleases reads the table once: it never changes.
var readReleases = sync.OnceValue(func() []Release {
	return files.MustReadTable[Release]("checkpoints.csv", releaseTable)
})

// releaseEndings lists what the names of checkpoints end with where they say the number format of
// their weights, the longer ones first, with the organisations for which that holds; nil for all.
func releaseEndings() []releaseEnding {
	blocks := []string{"qwen/", "deepseek-ai/", "minimaxai/", "sgl-project/"}
	return []releaseEnding{
		{"-fp8-static-pertensor", hardware.FP8, nil}, {"-fp8-block", hardware.FP8Block, nil},
		{"-nvfp4-fp8", hardware.FP4, nil}, // experts in the first, attention in the second
		// Scales for blocks of 128×128: Qwen/Qwen3-32B-FP8, sgl-project/DeepSeek-V4-Flash-FP8 and
		// the others of the table.
		{"-fp8", hardware.FP8Block, blocks},
		{"-fp8-dynamic", hardware.FP8, nil}, {"-fp8-kv", hardware.FP8, nil},
		{"-fp8", hardware.FP8, nil},
		{"-gptq-int8", hardware.INT8, nil}, {"-quantized.w8a8", hardware.INT8, nil},
		{"-w8a8", hardware.INT8, nil}, {"-int8", hardware.INT8, nil},
		{"-awq-int4", hardware.INT4, nil}, {"-awq", hardware.INT4, nil},
		{"-gptq-int4", hardware.INT4, nil}, {"-gptq", hardware.INT4, nil},
		{"-quantized.w4a16", hardware.INT4, nil}, {"-w4a16", hardware.INT4, nil},
		{"-nvfp4", hardware.FP4, nil}, {"-mxfp4", hardware.MXFP4, nil},
		{"-fp4", hardware.FP4, nil},
	}
}

// releaseEnding is what the end of a name says of the weights.
type releaseEnding struct {
	text          string
	weights       hardware.DType
	organisations []string
}

// ReadRelease returns what a checkpoint is a form of, the number format of its weights, and whether
// its name says so: by the table, or by its ending.
func ReadRelease(repository string) (form Release, ok bool) {
	for _, c := range Releases() {
		if strings.EqualFold(c.Repository, repository) {
			return c, true
		}
	}
	lower := strings.ToLower(repository)
	for _, e := range releaseEndings() {
		of := slices.ContainsFunc(e.organisations, func(prefix string) bool {
			return strings.HasPrefix(lower, prefix)
		})
		if cut := len(lower) - len(e.text); cut > 0 && lower[cut:] == e.text &&
			(of || e.organisations == nil) {
			return Release{repository, repository[:cut], e.weights, "its name"}, true
		}
	}
	return Release{}, false
}

var instructed = regexp.MustCompile(`(?i)[-_](instruct|chat|it)([-_.]|$)`)

// NativeRelease returns the checkpoint of a model as its publisher stores it: the one that was
// named, or for a name of the catalogue the one that follows instructions, where there is one.
func NativeRelease(model *Architecture, called string) string {
	if strings.Contains(called, "/") {
		return called
	}
	native := called
	for _, alias := range slices.Backward(model.Aliases) {
		if strings.Contains(alias, "/") && (native == called || !instructed.MatchString(native) ||
			instructed.MatchString(alias)) {
			native = alias
		}
	}
	return native
}

// ReleaseOf returns the checkpoint that a server loads for a model with weights in a number format,
// and whether one is published that is known. If no release is, it returns the repository of the
// model as it is published.
func ReleaseOf(model *Architecture, called string, weights hardware.DType) (string, bool) {
	native := NativeRelease(model, called)
	if weights == model.DType || weights == "" {
		return native, true
	}
	forms := []string{native}
	if !strings.Contains(called, "/") {
		forms = append(forms, model.Aliases...)
	}
	for _, form := range forms {
		for _, c := range Releases() {
			if c.Weights == weights && strings.EqualFold(c.Of, form) {
				return c.Repository, true
			}
		}
	}
	return native, false
}

// Gated reports whether a checkpoint is known to be downloaded only with the token of an account
// that its publisher has let in: "Cannot access gated repo" is what others read
// (huggingface/optimum-neuron issue 535 of meta-llama/Llama-2, huggingface/transformers issue 29177
// of Llama 3, ariG23498/gemma3-object-detection issue 5 of Gemma 3).
func Gated(repository string) bool {
	lower := strings.ToLower(repository)
	return strings.HasPrefix(lower, "meta-llama/") || strings.HasPrefix(lower, "google/gemma-2") ||
		strings.HasPrefix(lower, "google/gemma-3") || strings.HasPrefix(lower, "google/gemma-7b")
}
