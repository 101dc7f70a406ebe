package deployment

import (
	"github.com/llmsim/llmsim/hardware"
)

// Key holds the properties of a server on which the accuracy of its predictions depends. A
// measurement of one key says nothing about another.
type Key struct {
	// Engine is the name of a preset, which names an engine and a family of its versions.
	Engine string `json:"engine" csv:"engine"`
	// Accelerator and Model are names of the catalogues.
	Accelerator string `json:"gpu" csv:"gpu"`
	Model       string `json:"model" csv:"model"`
	// Weights and KV are number formats.
	Weights hardware.DType `json:"weights" csv:"weights"`
	KV      hardware.DType `json:"kv_cache" csv:"kv_cache"`
	// Tensor, Pipeline, Expert and Data are the degrees of parallelism. Link joins the accelerators
	// of a node; "" if there is only one.
	Tensor   int    `json:"tensor_parallel" csv:"tensor"`
	Pipeline int    `json:"pipeline_parallel" csv:"pipeline"`
	Expert   int    `json:"expert_parallel" csv:"expert"`
	Data     int    `json:"data_parallel" csv:"data"`
	Link     string `json:"link,omitempty" csv:"link"`
	// Batching and Memory are names of policies. A KV cache in blocks counts as "paged", whether it
	// keeps prefixes or not, because that makes no difference if no prompts are alike.
	Batching string `json:"batching" csv:"batching"`
	Memory   string `json:"memory" csv:"memory"`
	// Speculation is the method of speculative decoding; "" without it.
	Speculation string `json:"speculation,omitempty" csv:"speculation"`
}

// Key returns the key of a server. It returns false if the step times are not the ones that llmsim
// predicts for the engine, so that no measurement applies. A slowdown is a factor on these, and a
// host of the machine's own is one on their parts.
func (c *Config) Key() (Key, bool) {
	p := c.Parallel.Complete()
	k := Key{
		Engine: c.Engine.Name, Accelerator: c.Accelerator.Name, Model: c.Model.Name,
		Weights: c.Weights, KV: c.kv(), Tensor: p.Tensor, Pipeline: p.Pipeline, Expert: p.Expert,
		Data:     p.Data,
		Batching: c.Policies.Batching.Name(), Memory: c.Policies.Memory.Name(),
		Speculation: c.Speculation,
	}
	if p.GPUs() > 1 && c.ScaleUp != nil {
		k.Link = c.ScaleUp.Name
	}
	if k.Memory == "prefix-cache" || k.Memory == "radix" {
		k.Memory = "paged"
	}
	f := &c.Physics
	return k, !f.Adjusted && f.Operators == nil && f.Given == nil
}
