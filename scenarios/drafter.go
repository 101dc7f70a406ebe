package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies/speculation"
)

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
