package engines

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// Place is where an engine runs, as far as its settings depend on it.
type Place struct {
	Accelerator *hardware.Accelerator
	// Tensor is the degree of tensor parallelism, over all data-parallel ranks as the engine counts
	// it; 0 means 1.
	Tensor int
	// Context is the longest context that is served, in tokens; 0 means that it is not known.
	Context int
	// Plain reports whether each token of the model attends to all before it, without latents, and
	// nothing is adapted: vLLM V0 then cuts prompts where contexts are long.
	Plain bool
	// Expert is the number of groups over which routed experts are spread, and Data the number of
	// data-parallel ranks; 0 means 1.
	Expert, Data int
	// Model is the name of the model.
	Model string
	// Attention is the kind of attention of the model: "heads", "latent", or "sparse", where an
	// indexer chooses among latents.
	Attention string
}

// Setting returns what the release does without further flags, and false if the registry does not
// say.
func (r *Release) Setting(key string, at Place) (Setting, bool) {
	for _, s := range r.Settings {
		if s.Key == key && (len(s.Presets) == 0 || slices.Contains(s.Presets, r.Preset)) &&
			(r.Version.IsZero() || s.Versions.Has(r.Version)) && s.When.hold(at) {
			return s, true
		}
	}
	return Setting{}, false
}

// Takes returns the accelerator memory that the release itself takes, and false if the registry
// does not say.
func (r *Release) Takes(at Place) (Memory, bool) {
	if r.Engine == nil || r.Version.IsZero() {
		return Memory{}, false
	}
	for _, m := range r.Memory {
		if m.Versions.Has(r.Version) && m.When.hold(at) {
			return m, true
		}
	}
	return Memory{}, false
}

// Count returns a setting that is a number, or 0 if the registry does not say.
func (r *Release) Count(key string, at Place) int {
	s, _ := r.Setting(key, at)
	n, _ := strconv.Atoi(s.Value)
	return n
}

// Is reports whether a setting has the given value.
func (r *Release) Is(key, value string) bool {
	s, ok := r.Setting(key, Place{Accelerator: &hardware.Accelerator{}})
	return ok && s.Value == value
}

// hold reports whether the conditions hold at a place.
func (c Conditions) hold(at Place) bool {
	const gib = 1 << 30
	memory, tensor := at.Accelerator.Memory/gib, max(1, at.Tensor)
	return memory >= c.MemoryFrom && (c.MemoryBelow == 0 || memory < c.MemoryBelow) &&
		tensor >= c.TensorFrom && (c.TensorBelow == 0 || tensor < c.TensorBelow) &&
		(c.ContextAbove == 0 || at.Plain && at.Context > c.ContextAbove) &&
		(c.Not == "" || !strings.HasPrefix(at.Accelerator.Name, c.Not)) &&
		strings.HasPrefix(at.Accelerator.Name, c.Only) &&
		(c.Expert == nil || *c.Expert == (at.Expert > 1)) &&
		(c.Data == nil || *c.Data == (at.Data > 1)) &&
		(len(c.Models) == 0 || slices.ContainsFunc(c.Models, func(prefix string) bool {
			return strings.HasPrefix(at.Model, prefix)
		}))
}
