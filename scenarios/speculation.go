package scenarios

import (
	"github.com/llmsim/llmsim/policies/speculation"
)

// Speculation describes speculative decoding: the drafter, the acceptance of drafts, and their
// length.
type Speculation struct {
	Method      string        `json:"method" kind:"true" enum:"draft-model,eagle,mtp,medusa,n-gram,layer-skip" jsonschema:"Drafter."`
	Draft       string        `json:"draft,omitempty" need:"draft-model" jsonschema:"Draft model, as with model."`
	Weights     string        `json:"weights,omitempty" only:"draft-model" enum:"fp32,fp16,bf16,fp8,fp8-block,int8,int4,fp4,mxfp4,q4_0,q4_k_m" jsonschema:"Number format of the draft model's weights. Default: as published."`
	Tensor      int           `json:"tensor,omitempty" only:"draft-model" min:"1" max:"4096" jsonschema:"Number of accelerators that share the draft model. Default: as the model, or 1 on accelerators of its own."`
	Accelerator string        `json:"accelerator,omitempty" only:"draft-model" jsonschema:"Accelerators of the draft model's own, in addition to each replica's. Default: it shares those of the model."`
	Ahead       bool          `json:"ahead,omitempty" only:"draft-model" jsonschema:"Whether the next draft is made while the last one is verified, on accelerators of its own."`
	Vocabulary  int           `json:"vocabulary,omitempty" only:"eagle" min:"1" jsonschema:"Number of tokens that the head can draft, 32000 for EAGLE-3. Default: all, with the model's output head."`
	Layers      int           `json:"layers,omitempty" need:"layer-skip" min:"1" jsonschema:"Number of layers of the model that draft."`
	Match       float64       `json:"match,omitempty" only:"n-gram" above:"0" max:"1" jsonschema:"Share of steps in which the look-up finds a draft. Default: 1, or the measured share."`
	Tokens      int           `json:"tokens,omitempty" min:"1" max:"64" jsonschema:"Largest number of tokens drafted in a row. Default: 4."`
	Tree        *Tree         `json:"tree,omitempty" only:"draft-model,eagle,medusa" jsonschema:"Shape of drafts that are trees. Default: drafts are chains."`
	Acceptance  Acceptance    `json:"acceptance" required:"true" jsonschema:"Probability that drafted tokens are accepted."`
	Length      Policy        `json:"length,omitzero" jsonschema:"How many tokens are drafted in a step. Default: fixed."`
	Scheduling  string        `json:"scheduling,omitempty" enum:"asynchronous,synchronous" jsonschema:"Whether a step is scheduled before the last one's drafts are verified. Default: as the engine does; synchronous for medusa and n-gram."`
	Overhead    DraftOverhead `json:"overhead,omitzero" jsonschema:"Host's time for drafting, without the drafter itself."`
	Baseline    string        `json:"baseline,omitempty" enum:"run,skip" jsonschema:"Whether the scenario also runs without drafts, for the speed-up. Default: run."`
}

// Tree is the shape of drafts with alternatives.
type Tree struct {
	Width    int     `json:"width" required:"true" min:"1" max:"64" jsonschema:"Number of candidates after each token, and of tokens at each depth that get candidates."`
	Nodes    int     `json:"nodes,omitempty" min:"1" jsonschema:"Number of tokens to verify, the most likely ones of the tree. Default: all."`
	Siblings float64 `json:"siblings,omitempty" above:"0" max:"1" jsonschema:"Probability that a candidate is right if those before it are wrong. Default: 0.22 (SpecInfer, arXiv:2305.09781, section 3)."`
}

// defaultSiblings is s in 1 − (1 − s)⁴ = 0.19/0.30, see Tree.
const defaultSiblings = 0.22

// Acceptance gives the probability that drafted tokens are accepted.
type Acceptance struct {
	Law       string    `json:"law,omitempty" kind:"true" enum:"constant,by-position,beta,measured" jsonschema:"Kind of distribution."`
	Rate      float64   `json:"rate,omitempty" short:"true" need:"constant" above:"0" max:"1" jsonschema:"Acceptance rate of every token, given that the tokens before it were accepted."`
	Positions []float64 `json:"positions,omitempty" need:"by-position" min:"0" max:"1" jsonschema:"Acceptance rate at each position of a draft; the last rate holds for all further positions."`
	Mean      float64   `json:"mean,omitempty" need:"beta" above:"0" below:"1" jsonschema:"Mean of the requests' acceptance rates."`
	Std       float64   `json:"std,omitempty" need:"beta" above:"0" below:"0.5" jsonschema:"Their standard deviation."`
	File      string    `json:"file,omitempty" need:"measured" jsonschema:"A table of acceptance in JSON, as llmsim gpt2 writes it."`
}

// DraftOverhead is time of the host.
type DraftOverhead struct {
	Step     Span `json:"step,omitempty" min:"0" jsonschema:"Time for each step with drafts."`
	Sequence Span `json:"sequence,omitempty" min:"0" jsonschema:"Additional time for each sequence with a draft in the step."`
}

// shape returns the form of drafts.
func (sp *Speculation) shape() speculation.Shape {
	if sp.Tree == nil {
		return speculation.Shape{Depth: sp.Tokens, Width: 1}
	}
	return speculation.Shape{Depth: sp.Tokens, Width: sp.Tree.Width, Nodes: sp.Tree.Nodes,
		Siblings: sp.Tree.Siblings}
}
