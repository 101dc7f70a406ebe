package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies/speculation"
)

// Speculation is speculative decoding: who drafts, what becomes of the drafts, and how long they are.
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

// drafts tells whether the scenario has speculative decoding.
func (s *Scenario) drafts() bool { return s.Speculation != nil }

// chooseSpeculation fills in the defaults of speculative decoding, and finds what it names.
func (b *builder) chooseSpeculation() {
	if !b.s.drafts() {
		return
	}
	if b.s.Parallelism.Data > 1 {
		b.problem("speculation", "drafts are not predicted for data-parallel ranks; leave out speculation, or parallelism.data")
		return
	}
	own := *b.s.Speculation // the scenario as it was given stays
	sp := &own
	b.s.Speculation = sp
	b.Speculation = sp.Method
	sp.Tokens = orDefault(sp.Tokens, 4)
	sp.Acceptance.Law = orDefault(sp.Acceptance.Law, "constant")
	sp.Baseline = orDefault(sp.Baseline, "run")
	if sp.Tree != nil {
		tree := *sp.Tree
		tree.Siblings = orDefault(tree.Siblings, defaultSiblings)
		sp.Tree = &tree
	}
	b.drafting.lengths = choose(b, "speculation.length", &b.registry.Drafting, &sp.Length.Policy, &sp.Length.Params)
	b.chooseScheduling(sp)
	b.readAcceptance(sp)
	b.findDrafter(sp)
	if p := b.s.Parallelism.Pipeline; p > 1 {
		b.problem("parallelism.pipeline", "found %d; drafts are verified in a replica of one stage, since a sequence's next step depends on how many of its tokens were accepted. Use parallelism.tensor instead", p)
	}
}

// chooseScheduling settles whether steps are scheduled ahead.
func (b *builder) chooseScheduling(sp *Speculation) {
	onHost := sp.Method == "medusa" || sp.Method == "n-gram"
	switch {
	case sp.Scheduling == "asynchronous" && b.Engine.Lookahead == 0:
		b.problem("speculation.scheduling", "found asynchronous; the engine %s schedules step by step", b.s.Engine.Preset)
	case sp.Scheduling == "asynchronous" && onHost:
		b.problem("speculation.scheduling", "found asynchronous; %s drafts from tokens that the host must have seen (vLLM allows it for EAGLE, MTP and draft models)", sp.Method)
	case sp.Scheduling == "" && (onHost || b.Engine.Lookahead == 0):
		sp.Scheduling = "synchronous"
	}
	sp.Scheduling = orDefault(sp.Scheduling, "asynchronous")
	if sp.Scheduling == "synchronous" {
		b.Engine.Lookahead = 0
	}
}

// readAcceptance makes the law of acceptance.
func (b *builder) readAcceptance(sp *Speculation) {
	a := &sp.Acceptance
	var err error
	switch a.Law {
	case "by-position":
		b.drafting.acceptance, err = speculation.ByPosition(a.Positions)
	case "beta":
		b.drafting.acceptance, err = speculation.Beta(a.Mean, a.Std)
	case "measured":
		var table *speculation.Table
		if table, err = b.acceptanceTable(a.File); err == nil {
			b.drafting.acceptance = table.Acceptance()
			if sp.Method == "n-gram" {
				sp.Match = orDefault(sp.Match, table.Match())
			}
		}
	default:
		b.drafting.acceptance, err = speculation.Constant(a.Rate)
	}
	if err != nil {
		b.problem("speculation.acceptance", "%v", err)
		return
	}
	if sp.Method == "n-gram" {
		sp.Match = orDefault(sp.Match, 1)
	}
	if _, err := sp.shape().Drafts(b.drafting.acceptance); err != nil {
		b.problem("speculation.tree", "%v", err)
	}
}

// mostAcceptance bounds a table of acceptance, in bytes; those that llmsim gpt2 writes have some thousand.
const mostAcceptance = 4 << 20

func (b *builder) acceptanceTable(name string) (*speculation.Table, error) {
	path := b.locate("speculation.acceptance.file", name)
	file, err := b.file.files().Open(path)
	if err != nil {
		return nil, plainPathError(err)
	}
	defer file.Close()
	table, err := speculation.ReadTable(files.Limit(file, path, mostAcceptance))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}

// shape returns the form of drafts.
func (sp *Speculation) shape() speculation.Shape {
	if sp.Tree == nil {
		return speculation.Shape{Depth: sp.Tokens, Width: 1}
	}
	return speculation.Shape{Depth: sp.Tokens, Width: sp.Tree.Width, Nodes: sp.Tree.Nodes, Siblings: sp.Tree.Siblings}
}

// findDrafter finds the model that drafts, and refuses what cannot.
func (b *builder) findDrafter(sp *Speculation) {
	d := &b.drafting
	switch sp.Method {
	case "eagle":
		d.model = speculation.FeatureHead(b.Model, sp.Vocabulary)
		if sp.Vocabulary > b.Model.Vocab {
			b.problem("speculation.vocabulary", "found %d; %s has %d tokens", sp.Vocabulary, b.Model.Name, b.Model.Vocab)
		}
	case "mtp":
		d.model = speculation.PredictionModule(b.Model)
	case "layer-skip":
		if sp.Layers >= b.Model.Layers() {
			b.problem("speculation.layers", "found %d; allowed: 1 to %d, fewer than the layers of %s", sp.Layers, b.Model.Layers()-1, b.Model.Name)
			return
		}
		d.model = speculation.SkippedLayers(b.Model, sp.Layers)
	case "draft-model":
		b.findDraftModel(sp)
	}
}

// findDraftModel looks the draft model up, and its accelerators.
func (b *builder) findDraftModel(sp *Speculation) {
	d := &b.drafting
	model, warnings, err := findModel(b.file.files(), sp.Draft, b.locate("speculation.draft", sp.Draft), "")
	if err != nil {
		b.problem("speculation.draft", "%v", err)
		return
	}
	d.model = model
	b.addWarnings(warnings)
	if !sameTokens(model, b.Model) {
		b.problem("speculation.draft", "%s has %d tokens and %s has %d: a draft must be in the model's own tokens. %s", model.Name, model.Vocab, b.Model.Name, b.Model.Vocab, b.drafters())
	}
	if model.WeightBytes(model.DType) >= b.Model.WeightBytes(b.Model.DType) {
		b.warn("the draft model %s is no smaller than %s", model.Name, b.Model.Name)
	}
	d.accelerator = *b.Accelerator
	if sp.Accelerator == "" {
		if sp.Ahead {
			b.problem("speculation.ahead", "needs accelerators of the draft model's own: set speculation.accelerator")
		}
		return
	}
	if d.accelerator, err = b.catalog.Accelerator(sp.Accelerator); err != nil {
		b.problem("speculation.accelerator", "%v", err)
	}
	sp.Tensor = orDefault(sp.Tensor, 1)
}

// sameTokens tells whether two models may share a vocabulary. Sizes differ by the padding of embeddings, at most one in a hundred.
func sameTokens(a, b *models.Architecture) bool {
	return 100*max(a.Vocab-b.Vocab, b.Vocab-a.Vocab) <= max(a.Vocab, b.Vocab)
}

// drafters names the smaller models of the catalogue with the same vocabulary.
func (b *builder) drafters() string {
	catalog, err := models.Load()
	if err != nil {
		return ""
	}
	var names []string
	for _, m := range catalog.All() {
		if sameTokens(m, b.Model) && m.Family == b.Model.Family && m.Parameters().Total() < b.Model.Parameters().Total()/2 {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "The catalogue has none; eagle, mtp, medusa, n-gram and layer-skip need no other model."
	}
	return "It could be " + strings.Join(names, ", ") + "."
}
