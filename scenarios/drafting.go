package scenarios

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// bytes returns the memory in bytes that the drafter takes on each accelerator of a replica: for
// its weights, and for each token of its cache.
func (d *drafting) bytes(c *deployment.Config) (weights, kv float64) {
	sp, a, tp := &d.written, d.model, max(1, c.Parallel.Tensor)
	wide := float64(2 * c.Model.Hidden)
	head := func(vocabulary int) float64 { return wide * float64((vocabulary+tp-1)/tp) }
	format := d.weights(c)
	switch sp.Method {
	case "draft-model":
		if sp.Accelerator != "" {
			return 0, 0
		}
		tp = cmp.Or(sp.Tensor, tp)
		weights = float64(a.WeightBytesPerGPU(format, tp, 1))
	case "eagle", "mtp":
		two := *a
		two.Groups = slices.Concat(a.Groups, a.Groups)
		weights = float64(two.WeightBytesPerGPU(format, tp, 1) - a.WeightBytesPerGPU(format, tp, 1))
		if ranks := float64(c.Parallel.Data); ranks > 1 { // each has a part of the experts
			experts := two.ExpertBytesPerGPU(format, tp, 1) - a.ExpertBytesPerGPU(format, tp, 1)
			weights -= float64(experts) * (1 - 1/ranks)
		}
		if sp.Vocabulary > 0 {
			weights += head(sp.Vocabulary)
		}
	case "medusa":
		return float64(sp.Tokens) * (head(c.Model.Vocab) + wide*float64(c.Model.Hidden)), 0
	default:
		return 0, 0
	}
	return weights, float64(a.KVBytesPerTokenPerGPU(c.KV, tp))
}

// weights is the number format of the drafter's weights: a prediction module and skipped layers are
// part of the model, EAGLE heads are published in 16 bits.
func (d *drafting) weights(c *deployment.Config) hardware.DType {
	switch d.written.Method {
	case "draft-model":
		return hardware.DType(cmp.Or(d.written.Weights, string(d.model.DType)))
	case "mtp", "layer-skip":
		return c.Weights
	}
	if c.Model.DType == hardware.FP16 {
		return hardware.FP16
	}
	return hardware.BF16
}

// findDrafting fills in the defaults of speculative decoding, and finds what it names.
func (f *server) findDrafting() drafting {
	d := drafting{written: *f.s.Speculation}
	sp := &d.written
	sp.Method = cmp.Or(sp.Method, "draft-model")
	if f.s.Parallelism.Data > 1 && sp.Method != "mtp" {
		f.problem("speculation.method", "found %s; of data-parallel ranks only drafts of mtp are "+
			"predicted, whose module is spread as the model is. Use mtp, or leave out "+
			"parallelism.data", sp.Method)
		return d
	}
	sp.Tokens = cmp.Or(sp.Tokens, 4)
	f.published(sp)
	sp.Acceptance.Law = cmp.Or(sp.Acceptance.Law, "constant")
	sp.Baseline = cmp.Or(sp.Baseline, "run")
	if sp.Tree != nil {
		tree := *sp.Tree
		tree.Siblings = cmp.Or(tree.Siblings, defaultSiblings)
		sp.Tree = &tree
	}
	d.lengths = choose(&f.view, f.Config.Anywhere(), "speculation.length", &f.registry.Drafting,
		sp.Length.slot("speculation.length"), nil)
	sp.Scheduling = f.scheduling(sp)
	d.acceptance = f.readAcceptance(sp)
	f.findDrafter(&d)
	if p := f.s.Parallelism.Pipeline; p > 1 {
		f.problem("parallelism.pipeline",
			"found %d; drafts are verified in a replica of one stage, since a "+
				"sequence's next step depends on how many of its tokens were accepted. Use "+
				"parallelism.tensor instead", p)
	}
	return d
}

// published takes the acceptance and the vocabulary of a published head where they are not given.
func (f *server) published(sp *Speculation) {
	model := f.Config.Model.Name
	none := reflect.DeepEqual(sp.Acceptance, Acceptance{})
	if sp.Head == "" {
		if names := models.HeadsOf(model, sp.Method); none && len(names) > 0 {
			f.problem("speculation.acceptance", "must be given, such as 0.7, or "+
				"speculation.head: measured for %s are %s", model, strings.Join(names, ", "))
		} else if none {
			f.problem("speculation.acceptance", "must be given, such as 0.7: no measured "+
				"acceptance of %s is known for %s", sp.Method, model)
		}
		return
	}
	h, err := models.FindHead(sp.Head)
	switch {
	case err != nil:
		f.problem("speculation.head", "%v", err)
		return
	case h.Model != model || h.Method != sp.Method:
		f.problem("speculation.head", "found %s, which is for %s and method %s; here the model "+
			"is %s and the method %s", h.Name, h.Model, h.Method, model, sp.Method)
		return
	}
	sp.Vocabulary = cmp.Or(sp.Vocabulary, h.Vocabulary)
	if !none {
		return
	}
	f.warn("%s", sp.Provenance())
	sp.Acceptance.Law = "by-position"
	if sp.Acceptance.Positions, err = speculation.Published(h); err != nil {
		f.problem("speculation.head", "%v", err)
	}
}

// Provenance says where the acceptance of a published head is from; empty where it is given.
func (sp *Speculation) Provenance() string {
	h, err := models.FindHead(sp.Head)
	if err != nil || !reflect.DeepEqual(sp.Acceptance, Acceptance{}) {
		return ""
	}
	return fmt.Sprintf("the acceptance of drafts is that of %s with %s (%s); that of your texts "+
		"may be other: speculation.acceptance gives it", h.Name, h.Texts, h.Source)
}

// scheduling decides whether steps are scheduled ahead.
func (f *server) scheduling(sp *Speculation) string {
	onHost, stepByStep := sp.Method == "medusa" ||
		sp.Method == "n-gram", f.Config.Engine.Lookahead == 0
	switch {
	case sp.Scheduling == "asynchronous" && stepByStep:
		f.problem("speculation.scheduling",
			"found asynchronous; the engine %s schedules step by step",
			f.s.Engine.Preset)
	case sp.Scheduling == "asynchronous" && onHost:
		f.problem("speculation.scheduling",
			"found asynchronous; %s drafts from tokens that the host must have "+
				"seen (vLLM allows it for EAGLE, MTP and draft models)", sp.Method)
	case sp.Scheduling == "" && (onHost || stepByStep):
		return "synchronous"
	}
	own, _ := f.Config.Release.Setting("speculation.scheduling",
		engines.Place{Accelerator: &hardware.Accelerator{}})
	return cmp.Or(sp.Scheduling, own.Value, "asynchronous")
}

// readAcceptance returns the probabilities of acceptance.
func (f *server) readAcceptance(sp *Speculation) (law speculation.Acceptance) {
	a := &sp.Acceptance
	var err error
	switch a.Law {
	case "by-position":
		law, err = speculation.ByPosition(a.Positions)
	case "beta":
		law, err = speculation.Beta(a.Mean, a.Std)
	case "measured":
		var table *speculation.Table
		if table, err = f.acceptanceTable(a.File); err == nil {
			law = table.Acceptance()
			if sp.Method == "n-gram" {
				sp.Match = cmp.Or(sp.Match, table.Match())
			}
		}
	default:
		law, err = speculation.Constant(a.Rate)
	}
	if err != nil {
		f.problem("speculation.acceptance", "%v", err)
		return law
	}
	if sp.Method == "n-gram" {
		sp.Match = cmp.Or(sp.Match, 1)
	}
	if _, err := sp.shape().Drafts(law); err != nil {
		f.problem("speculation.tree", "%v", err)
	}
	return law
}

// mostAcceptance bounds a table of acceptance, in bytes; the tables of llmsim gpt2 have some
// thousand.
const mostAcceptance = 4 << 20

func (f *server) acceptanceTable(name string) (*speculation.Table, error) {
	path := f.locate("speculation.acceptance.file", name)
	file, err := f.file.files().Open(path)
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

// findDrafter finds the model that drafts, and refuses a model that cannot draft.
func (f *server) findDrafter(d *drafting) {
	sp, model := &d.written, f.Config.Model
	switch sp.Method {
	case "eagle":
		d.model = speculation.FeatureHead(model, sp.Vocabulary)
		if sp.Vocabulary > model.Vocab {
			f.problem("speculation.vocabulary", "found %d; %s has %d tokens", sp.Vocabulary,
				model.Name, model.Vocab)
		}
	case "mtp":
		d.model = speculation.PredictionModule(model)
	case "layer-skip":
		if sp.Layers >= model.Layers() {
			f.problem("speculation.layers",
				"found %d; allowed: 1 to %d, fewer than the layers of %s",
				sp.Layers, model.Layers()-1, model.Name)
			return
		}
		d.model = speculation.SkippedLayers(model, sp.Layers)
	case "draft-model":
		f.findDraftModel(d)
	}
}

// findDraftModel looks the draft model up, and its accelerators.
func (f *server) findDraftModel(d *drafting) {
	sp, model := &d.written, f.Config.Model
	draft, warnings, err := findModel(f.file.files(), sp.Draft,
		f.locate("speculation.draft", sp.Draft), "")
	if err != nil {
		f.problem("speculation.draft", "%v", err)
		return
	}
	d.model = draft
	f.addWarnings(warnings)
	if !sameTokens(draft, model) {
		f.problem("speculation.draft",
			"%s has %d tokens and %s has %d: a draft must be in the model's own tokens. %s",
			draft.Name, draft.Vocab, model.Name, model.Vocab, drafters(model))
	}
	if draft.WeightBytes(draft.DType) >= model.WeightBytes(model.DType) {
		f.warn("the draft model %s is no smaller than %s", draft.Name, model.Name)
	}
	d.accelerator = *f.Config.Accelerator
	if sp.Accelerator == "" {
		if sp.Ahead {
			f.problem("speculation.ahead",
				"needs accelerators of the draft model's own: set speculation.accelerator")
		}
		return
	}
	if d.accelerator, err = f.catalog.Accelerator(sp.Accelerator); err != nil {
		f.problem("speculation.accelerator", "%v", err)
	}
	sp.Tensor = cmp.Or(sp.Tensor, 1)
}

// sameTokens reports whether two models may share a vocabulary. Sizes differ by the padding of
// embeddings, at most one in a hundred.
func sameTokens(a, b *models.Architecture) bool {
	return 100*max(a.Vocab-b.Vocab, b.Vocab-a.Vocab) <= max(a.Vocab, b.Vocab)
}

// drafters names the smaller models of the catalogue that share the vocabulary of a model.
func drafters(model *models.Architecture) string {
	catalog, err := models.Load()
	if err != nil {
		return ""
	}
	var names []string
	for _, m := range catalog.All() {
		smaller := m.Parameters().Total() < model.Parameters().Total()/2
		if sameTokens(m, model) && m.Family == model.Family && smaller {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "The catalogue has none; eagle, mtp, medusa, n-gram and layer-skip need no " +
			"other model."
	}
	return "It could be " + strings.Join(names, ", ") + "."
}
