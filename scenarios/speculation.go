package scenarios

import (
	"github.com/llmsim/llmsim/policies/speculation"
)

// Speculation is speculative decoding: who drafts, what becomes of the drafts, and how long they
// are.
type Speculation struct {
	Method      string        `json:"method" kind:"true" enum:"draft-model,eagle,mtp,medusa,n-gram,layer-skip" jsonschema:"Who drafts: a smaller model, an EAGLE head, a multi-token prediction module, Medusa heads, a look-up in the text so far, or some layers of the model itself."`
	Draft       string        `json:"draft,omitempty" need:"draft-model" jsonschema:"The draft model: a name of the catalogue, or the path of a Hugging Face config.json."`
	Weights     string        `json:"weights,omitempty" only:"draft-model" enum:"fp32,fp16,bf16,fp8,fp8-block,int8,int4,fp4,mxfp4,q4_0,q4_k_m" jsonschema:"The number format of the draft model's weights. Default: as published."`
	Tensor      int           `json:"tensor,omitempty" only:"draft-model" min:"1" max:"4096" jsonschema:"Over how many accelerators the draft model is split. Default: as the model, or 1 on accelerators of its own."`
	Accelerator string        `json:"accelerator,omitempty" only:"draft-model" jsonschema:"The accelerators that the draft model has of its own, beside each replica's. Default: none, it shares those of the model."`
	Ahead       bool          `json:"ahead,omitempty" only:"draft-model" jsonschema:"Makes the next draft while one is verified, on the guess that all of it is accepted. It needs accelerators of its own."`
	Vocabulary  int           `json:"vocabulary,omitempty" only:"eagle" min:"1" jsonschema:"The tokens that the head can draft, 32000 for EAGLE-3. Default: all, with the model's own output head."`
	Layers      int           `json:"layers,omitempty" need:"layer-skip" min:"1" jsonschema:"How many layers of the model draft."`
	Match       float64       `json:"match,omitempty" only:"n-gram" above:"0" max:"1" jsonschema:"The share of steps in which the look-up finds something. Default: 1, or what was measured."`
	Tokens      int           `json:"tokens,omitempty" min:"1" max:"64" jsonschema:"The largest number of tokens drafted in a row. Default: 4."`
	Tree        *Tree         `json:"tree,omitempty" only:"draft-model,eagle,medusa" jsonschema:"Makes drafts trees. Default: chains."`
	Acceptance  Acceptance    `json:"acceptance" required:"true" jsonschema:"How likely drafted tokens are accepted: a rate, or a mapping."`
	Length      Policy        `json:"length,omitzero" jsonschema:"How many tokens are drafted when: a draft-length policy and its parameters. Default: fixed."`
	Scheduling  string        `json:"scheduling,omitempty" enum:"asynchronous,synchronous" jsonschema:"Whether a step is scheduled before the drafts of the one before are verified. Default: as the engine; synchronous for drafters on the host (medusa, n-gram), as in vLLM."`
	Overhead    DraftOverhead `json:"overhead,omitzero" jsonschema:"What drafting costs the host beside the drafter, while the accelerators wait. Default: nothing."`
	Baseline    string        `json:"baseline,omitempty" enum:"run,skip" jsonschema:"Whether the scenario also runs without speculative decoding, for the speed-up. Default: run."`
}

// Tree is the shape of drafts with alternatives.
type Tree struct {
	Width    int     `json:"width" required:"true" min:"1" max:"64" jsonschema:"How many candidates follow a token, and how many tokens of a depth are followed further."`
	Nodes    int     `json:"nodes,omitempty" min:"1" jsonschema:"How many tokens are verified, the likeliest of the tree. Default: all."`
	Siblings float64 `json:"siblings,omitempty" above:"0" max:"1" jsonschema:"The chance that a further candidate is right where those before it are not. Default: 0.22 (SpecInfer, arXiv:2305.09781, section 3: of the tokens that the first candidate misses with greedy decoding, 30%, four more find 19%)."`
}

// defaultSiblings is s in 1 − (1 − s)⁴ = 0.19/0.30, see Tree.
const defaultSiblings = 0.22

// Acceptance says how likely drafted tokens are accepted.
type Acceptance struct {
	Law       string    `json:"law,omitempty" kind:"true" enum:"constant,by-position,beta,measured" jsonschema:"The kind of law."`
	Rate      float64   `json:"rate,omitempty" short:"true" need:"constant" above:"0" max:"1" jsonschema:"The acceptance rate of every token, given that those before it were accepted."`
	Positions []float64 `json:"positions,omitempty" need:"by-position" min:"0" max:"1" jsonschema:"The acceptance rate at each position of a draft; the last one holds beyond."`
	Mean      float64   `json:"mean,omitempty" need:"beta" above:"0" below:"1" jsonschema:"The mean over requests, each of which has a rate of its own."`
	Std       float64   `json:"std,omitempty" need:"beta" above:"0" below:"0.5" jsonschema:"The standard deviation over requests."`
	File      string    `json:"file,omitempty" need:"measured" jsonschema:"A table of acceptance in JSON, as llmsim gpt2 writes it."`
}

// DraftOverhead is time of the host.
type DraftOverhead struct {
	Step     Span `json:"step,omitempty" min:"0" jsonschema:"A step with drafts."`
	Sequence Span `json:"sequence,omitempty" min:"0" jsonschema:"Each sequence with a draft in it."`
}

// shape returns the form of drafts.
func (sp *Speculation) shape() speculation.Shape {
	if sp.Tree == nil {
		return speculation.Shape{Depth: sp.Tokens, Width: 1}
	}
	return speculation.Shape{Depth: sp.Tokens, Width: sp.Tree.Width, Nodes: sp.Tree.Nodes,
		Siblings: sp.Tree.Siblings}
}
