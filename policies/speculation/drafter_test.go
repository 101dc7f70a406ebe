package speculation_test

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// Drafting takes what its passes take one by one, by hand: three sequences draft a token, two of
// them another; four tokens are behind, and a chunk of a prompt comes along. A drafter that shares
// the model's cache has no prompt and nothing behind to compute.
func TestDraftingIsItsPasses(t *testing.T) {
	clock := clockOf(t, modelOf(t, "llama-3.1-8b"))
	load := &speculation.Load{Sequences: []int{3, 2, 0}, Expanded: []int{1, 2, 1}, Behind: 4,
		Context: 300, Prefill: []sim.Chunk{{New: 10, Cached: 5}}}
	second := sim.Step{Decodes: 2, DecodeTokens: 4, Context: 200 + 2 + 4}
	token := clock.Work(&sim.Step{Decodes: 1, DecodeTokens: 1}).FLOPs
	pair := clock.Work(&sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1}).FLOPs - token
	for shares, c := range map[bool]struct {
		first         sim.Step
		tokens, pairs float64
	}{
		true: {sim.Step{Decodes: 3, DecodeTokens: 3, Context: 303}, 3 + 4, 303 + 206*2},
		false: {sim.Step{Decodes: 3, DecodeTokens: 7, Context: 307, Prefill: load.Prefill},
			7 + 10 + 4, 307.*7/3 + 10*(5+5.5) + 206*2},
	} {
		m := speculation.NewModel(clock, shares)
		if got, want := m.Duration(load), clock.Duration(&c.first)+clock.Duration(&second); got !=
			want {
			t.Errorf("shared %v: drafting takes %v, want %v", shares, got, want)
		}
		want := token*c.tokens + pair*c.pairs
		if got := m.FLOPs(load); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("shared %v: drafting takes %g FLOPs, want %g", shares, got, want)
		}
	}
	target := modelOf(t, "llama-3.1-8b")
	with, without := clockOf(t, speculation.OutputHead(target, 0)),
		clockOf(t, speculation.OutputHead(target, 1))
	heads, row := speculation.NewHeads(with, without), &sim.Step{Decodes: 3, DecodeTokens: 3,
		Context: 3}
	want := 2 * (with.Duration(row) - without.Duration(row)) // two tokens in a row are guessed
	if got := heads.Duration(load); got != want || want <= 0 {
		t.Errorf("heads take %v, want %v", got, want)
	}
	one := 2 * float64(target.Hidden) * float64(target.Vocab-1)
	if got := heads.FLOPs(load); math.Abs(got/(6*one)-1) > 1e-9 {
		t.Errorf("heads take %g FLOPs, want %g", got, 6*one)
	}
	lookup := speculation.Lookup{Token: 7}
	if lookup.Duration(load) != 2100 || lookup.Duration(&speculation.Load{Context: 9}) != 0 ||
		heads.Duration(&speculation.Load{}) != 0 || lookup.FLOPs(load) != 0 {
		t.Errorf("a search of 300 tokens takes %v", lookup.Duration(load))
	}
}

// Drafters made of their target have the matrices that their papers give.
func TestShapesOfDrafters(t *testing.T) {
	for _, name := range []string{"llama-3.1-8b", "gpt2", "qwen3-30b-a3b", "gpt-oss-20b"} {
		target := modelOf(t, name)
		width, matrices := 0, 2
		if experts := target.Experts(); experts != nil {
			width, matrices = experts.Active*experts.Intermediate+experts.SharedIntermediate, 3
		} else {
			dense := target.Groups[0].MLP.(*models.Dense)
			if width = dense.Intermediate; dense.Gated {
				matrices = 3
			}
		}
		head := speculation.OutputHead(target, 99)
		if m := head.Groups[0].MLP.(*models.Dense); head.Layers() != 1 || head.Vocab != 99 ||
			m.Intermediate != width || m.Gated != (matrices == 3) ||
			speculation.OutputHead(target, 0).Vocab != target.Vocab {
			t.Errorf("%s: an output head of %d tokens on %+v", name, head.Vocab, m)
		}
		feature := speculation.FeatureHead(target, 0)
		// The matrix that joins two vectors adds 2·hidden² weights, but for rounding.
		more := matrices * (feature.Groups[0].MLP.(*models.Dense).Intermediate - width)
		if d := more - 2*target.Hidden; d < 0 || d > matrices || feature.Layers() != 1 ||
			feature.Vocab != target.Vocab || speculation.FeatureHead(target, 7).Vocab != 7 {
			t.Errorf("%s: a feature head has %d weights more a row, want %d", name, more,
				2*target.Hidden)
		}
		if m := speculation.PredictionModule(target); m.Layers() != 1 ||
			(m.Experts() == nil) != (target.Experts() == nil) {
			t.Errorf("%s: a module of %d layers with experts %v", name, m.Layers(), m.Experts())
		}
		for layers := 1; layers < target.Layers(); layers++ {
			skipped := speculation.SkippedLayers(target, layers)
			if skipped.Layers() != layers || len(skipped.Groups) > len(target.Groups) {
				t.Errorf("%s: %d layers of %d are %d", name, layers, target.Layers(),
					skipped.Layers())
			}
			for _, g := range skipped.Groups {
				if g.Count < 1 {
					t.Errorf("%s: a group of %d layers", name, g.Count)
				}
			}
		}
	}
}
