package speculation_test

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// verification returns how many times as long a step takes for the given number of sequences when
// four drafted tokens of each are verified.
func verification(clock *steptime.Clock, sequences int) float64 {
	context := int64(500 * sequences)
	plain := clock.Duration(&sim.Step{Decodes: sequences, DecodeTokens: sequences,
		Context: context})
	drafts := clock.Duration(&sim.Step{Decodes: sequences, DecodeTokens: 5 * sequences,
		Context: context + int64(4*sequences)})
	return float64(drafts) / float64(plain)
}

// Drafts make a mixture of experts read more of them: alone, a sequence of Qwen3-30B-A3B touches 8
// of 128 experts with one token and 33 with five. A dense model reads its weights once for all
// five, and costs hardly more. Once the batch touches all experts anyway, the difference is gone.
func TestDraftsTouchMoreExperts(t *testing.T) {
	dense, mixture := clockOf(t, modelOf(t, "llama-3.1-8b")),
		clockOf(t, modelOf(t, "qwen3-30b-a3b"))
	if alone := verification(dense, 1); alone > 1.15 {
		t.Errorf("the dense model takes %.2f times as long with drafts", alone)
	}
	if alone := verification(mixture, 1); alone < 1.5 {
		t.Errorf("the mixture of experts takes %.2f times as long with drafts, want much more",
			alone)
	}
	touched := func(tokens int) float64 {
		for _, l := range modelOf(t, "qwen3-30b-a3b").LinearLayers(1) {
			if l.Experts > 0 {
				return l.Matrices(l.Active * tokens)
			}
		}
		t.Fatal("no experts")
		return 0
	}
	if one, five := touched(1), touched(5); math.Abs(one-8) > 1e-9 || five < 28 || five > 34 {
		t.Errorf("one token touches %.1f experts, five %.1f, want 8 and about 30", one, five)
	}
	if many, alone := verification(mixture, 64)/verification(dense, 64),
		verification(mixture, 1)/verification(dense, 1); many > 0.75*alone {
		t.Errorf("beside the dense model, drafts cost %.2f times as much alone and %.2f times in "+
			"a batch of 64", alone, many)
	}
}
