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
	// Cache is the number format in which its config.json says to cache; empty where it does not
	// say one, or was not read.
	Cache hardware.DType `csv:"cache"`
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

// ReadRelease returns what a checkpoint is a form of, the number format of its weights, and whether
// its name says so: by the table, or by its words. The form is unknown where the words state a
// format that is not modelled, or a draft.
func ReadRelease(repository string) (form Release, ok bool) {
	if c, ok := released(repository); ok {
		return c, true
	}
	n := readName(repository)
	if c, ok := released(n.of); ok {
		n.of = c.Of
	}
	if n.weights == "" || n.microscaled || n.unmodelled != "" || n.draft != "" {
		return Release{}, false
	}
	source := "its name"
	if n.nearest != "" {
		source = "its name, of a format whose bytes are within 5 % of these,"
	}
	return Release{Repository: repository, Of: n.of, Weights: n.weights, Source: source}, true
}

// released returns the row of the table of a checkpoint, and whether it has one.
func released(repository string) (Release, bool) {
	for _, c := range Releases() {
		if strings.EqualFold(c.Repository, repository) {
			return c, true
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
	later := lookupKey(called) != lookupKey(model.Name) // a release of the same shape
	for _, alias := range slices.Backward(model.Aliases) {
		if later && strings.Contains(alias, "/") && lookupKey(alias) == lookupKey(called) {
			return alias
		}
		if strings.Contains(alias, "/") && (native == called || !instructed.MatchString(native) ||
			instructed.MatchString(alias)) {
			native = alias
		}
	}
	return native
}

// PublishedAs returns a name of a model with the organisation that publishes the model in place of
// the one that packed it: zai-org/GLM-5 for someone/GLM-5. Names without an organisation stay.
func PublishedAs(model *Architecture, name string) string {
	organisation, last := cutLast(name)
	publisher := ""
	for _, alias := range slices.Backward(model.Aliases) {
		own, _ := cutLast(alias)
		if own != "" && strings.EqualFold(own, organisation) {
			return name
		}
		if own != "" && (publisher == "" || lookupKey(alias) == lookupKey(name)) {
			publisher = own
		}
	}
	if publisher == "" || organisation == "" {
		return name
	}
	return publisher + "/" + last
}

// LoadsOn reports whether engines load the checkpoint on accelerators of a generation. NVIDIA
// publishes what ModelOpt made, which ROCm does not have (vllm-project/vllm pull request 34750).
func (c *Release) LoadsOn(generation string) bool {
	return !strings.HasPrefix(generation, "cdna") || !strings.HasPrefix(c.Repository, "nvidia/")
}

// ReleaseOf returns the checkpoint that a server loads for a model with weights in a number format
// on accelerators of a generation, and whether one is published that is known. If no release is, it
// returns the repository of the model as it is published.
func ReleaseOf(model *Architecture, called string, weights hardware.DType, generation string) (
	string, bool) {
	native := NativeRelease(model, called)
	if weights == model.DType || weights == "" {
		return native, true
	}
	forms := []string{native}
	if !strings.Contains(called, "/") && lookupKey(called) == lookupKey(model.Name) {
		forms = append(forms, model.Aliases...)
	}
	for _, form := range forms {
		for _, c := range Releases() {
			if c.Weights == weights && strings.EqualFold(c.Of, form) && c.LoadsOn(generation) {
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
