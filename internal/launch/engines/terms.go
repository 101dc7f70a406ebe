package engines

import (
	"strconv"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
)

// common returns the terms that all engines have alike.
func (d *Replica) common() options.Terms {
	p := d.Parallelism
	t := options.Terms{"model": d.Model, "parallelism.tensor": strconv.Itoa(max(1, p.Tensor)),
		"engine.max-model-len": strconv.Itoa(d.Engine.MaxModelLen)}
	t.Degree("parallelism.pipeline", p.Pipeline)
	t.Degree("parallelism.data", p.Data)
	t.Set("parallelism.redundant-experts", strconv.Itoa(p.Redundant))
	d.setLimit(t, policies.Sequences)
	d.setParameters(t)
	form, _ := models.ReadRelease(d.Model)
	switch {
	case d.Engine.KVCache == "fp8":
		t["engine.kv-cache"] = "fp8"
	case form.Cache != "": // which engines take where no format is asked for
		t["engine.kv-cache"] = "bf16"
	}
	if d.Role != "mixed" {
		t["pool"] = d.Role
	}
	switch {
	case d.Engine.Eager:
		t["engine.eager"] = "true"
	case d.Graph > 0:
		t["engine.graph"] = strconv.Itoa(d.Graph)
	}
	t.Set("engine.scheduling", d.Engine.Scheduling)
	for of, name := range d.Engine.Asked() {
		t[of.Key()] = name
	}
	return t
}

// ofAllRanks sets tensor parallelism to the accelerators of all data-parallel ranks, as SGLang and
// TensorRT-LLM count it.
func (d *Replica) ofAllRanks(t options.Terms) {
	t["parallelism.tensor"] = strconv.Itoa(max(1, d.Parallelism.Tensor) * d.Ranks())
	t.Degree("parallelism.expert", d.Parallelism.Expert)
}

// asksWeights returns the number format in which the engine is asked to store weights; empty where
// they are stored as it is, or no engine can.
func (d *Replica) asksWeights() string {
	wide := map[hardware.DType]bool{hardware.BF16: true, hardware.FP16: true, hardware.FP32: true}
	weights := hardware.DType(d.Engine.Weights)
	if d.Stored || !wide[d.Server.Model.DType] || !wide[weights] && weights != hardware.FP8 {
		return ""
	}
	return string(weights)
}

// caches reports whether a memory policy keeps prompts for later requests.
func caches(policy string) bool {
	return policy == "prefix-cache" || policy == "radix" || policy == "hybrid" ||
		policies.Offloads(policy)
}

// Reading is the terms of a command while they become keys of a scenario.
type Reading struct {
	*options.Reading
	Model *models.Architecture // nil where it is not in the catalogue
}

// experts reports whether the model is known to be a mixture of experts.
func (r *Reading) experts() bool { return r.Model != nil && r.Model.Experts() != nil }

// layers returns the number of layers of the model, 0 where it is not known.
func (r *Reading) layers() int {
	if r.Model == nil {
		return 0
	}
	return r.Model.Layers()
}

// keepsParts reports whether the model is known to have layers with windows or states of fixed
// size.
func (r *Reading) keepsParts() bool {
	if r.Model == nil {
		return false
	}
	kept := r.Model.SequenceState(1, hardware.BF16)
	return kept.Windowed+kept.Fixed > 0
}

// keepsWhole reads that layers with windows keep all tokens, which a memory policy means.
func (r *Reading) keepsWhole(policy, words string) {
	if _, given := r.Terms["memory.policy"]; r.keepsParts() && !given {
		r.Set("memory.policy", policy)
		r.Note("layers with windows keep all tokens: %s", words)
	}
}

// Interpret turns the terms that a command sets into keys of a scenario, and returns why they
// cannot be.
func (e *Engine) Interpret(r *Reading) error {
	format, given := r.Take("state-format")
	for i := 0; given && r.Model != nil && i < len(r.Model.Groups); i++ {
		m, recurrent := r.Model.Groups[i].Mixer.(*models.Recurrent)
		if recurrent && string(m.StateType) != format {
			r.Refuse("%s %s: states are simulated in %s, as the model's config has them",
				r.Flags["state-format"], format, m.StateType)
		}
	}
	e.interpret(r)
	return r.Err()
}
