package scenarios

import (
	"cmp"

	"github.com/llmsim/llmsim/models/steptime"
)

// Factors multiply the times of parts of a step and of a request. 0 means 1.
type Factors struct {
	Prompts   float64 `json:"prompts,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of what grows with the tokens of a step: arithmetic, the attention of prompts, and activations."`
	Memory    float64 `json:"memory,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of reading weights."`
	Cache     float64 `json:"cache,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of reading the KV cache to decode."`
	Exchanges float64 `json:"exchanges,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time in which accelerators exchange data."`
	Step      float64 `json:"step,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the host's time for each step."`
	Sequence  float64 `json:"sequence,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the host's time for each sequence of a step."`
	Request   float64 `json:"request,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the host's time for each request, outside of steps."`
	Mixed     float64 `json:"mixed,omitempty" min:"0.1" max:"10" jsonschema:"Factor on the time of the accelerators in steps that compute prompts beside very many decoding sequences. With p tokens of prompts and n sequences, n/(n+64)·p/(p+n) of it applies."`
}

// fitted returns the factors as the clock takes them.
func (f Factors) fitted() steptime.Factors {
	return steptime.Factors{
		Prompts: f.Prompts, Memory: f.Memory, Cache: f.Cache, Exchanges: f.Exchanges,
		Step: f.Step, Sequence: f.Sequence, Request: f.Request, Mixed: f.Mixed,
	}
}

// or returns f, with the factors of g where f gives none.
func (f Factors) or(g Factors) Factors {
	return Factors{
		Prompts: cmp.Or(f.Prompts, g.Prompts), Memory: cmp.Or(f.Memory, g.Memory),
		Cache:     cmp.Or(f.Cache, g.Cache),
		Exchanges: cmp.Or(f.Exchanges, g.Exchanges), Step: cmp.Or(f.Step, g.Step),
		Sequence: cmp.Or(f.Sequence, g.Sequence), Request: cmp.Or(f.Request, g.Request),
		Mixed: cmp.Or(f.Mixed, g.Mixed),
	}
}
