package gpt2

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/engine/safetensors"
	"github.com/llmsim/llmsim/internal/testkit"
)

func layerName(l int) string { return fmt.Sprintf("h.%d.", l) }

// drawConfig draws a shape that fits no panel, head size or power of two in particular.
func drawConfig(t *rapid.T) Config {
	heads := rapid.SampledFrom([]int{1, 2, 3, 4, 6}).Draw(t, "heads")
	c := DefaultConfig()
	c.Heads, c.Width = heads, heads*rapid.IntRange(1, 80/heads).Draw(t, "head size")
	c.Layers = rapid.IntRange(1, 3).Draw(t, "layers")
	c.Inner = rapid.IntRange(1, 70).Draw(t, "inner")
	c.Vocab = rapid.IntRange(1, 80).Draw(t, "vocab")
	c.Context = rapid.IntRange(1, 90).Draw(t, "context")
	c.Tied = rapid.Bool().Draw(t, "tied")
	c.ScaleAttention = rapid.Bool().Draw(t, "scale attention")
	c.ScaleByLayer = rapid.Bool().Draw(t, "scale by layer")
	return c
}

// writeModel writes a model of shape c with random weights, with or without the prefix and the old
// masks, and returns them.
func writeModel(t rapid.TB, dir string, c Config, rng *rand.Rand,
	prefix string) map[string][]float32 {
	text, err := json.Marshal(c)
	testkit.OK(t, err)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600))
	specs := slices.Collect(tensorSpecs(c))
	names := make([]string, len(specs))
	for i := range specs {
		names[i] = specs[i].Name
		if names[i] != "lm_head.weight" {
			specs[i].Name = prefix + specs[i].Name
		}
	}
	specs = append(specs, safetensors.Spec{Name: prefix + "h.0.attn.bias",
		Shape: []int64{1, 1, 2, 2}})
	weights := map[string][]float32{}
	err = safetensors.Create(filepath.Join(dir, "model.safetensors"), specs,
		func(i int, row []float32) error {
			for j := range row {
				row[j] = float32(rng.NormFloat64() * 0.3)
			}
			if i < len(names) {
				weights[names[i]] = append(weights[names[i]], row...)
			}
			return nil
		})
	testkit.OK(t, err)
	return weights
}

// TestAnyShape compares models of odd shapes, with heads merged or not, with the float64 reference,
// computed in chunks; and whole, in chunks beside another sequence, and again after a rollback the
// results must be the same bits.
func TestAnyShape(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		weights := writeModel(t, dir, c, rng,
			rapid.SampledFrom([]string{"", transformerPrefix}).Draw(t, "prefix"))
		divisors := slices.DeleteFunc([]int{1, 2, 3, 4, 5, 6},
			func(d int) bool { return c.Heads%d != 0 })
		kvHeads := rapid.SampledFrom(divisors).Draw(t, "KV heads")
		m, err := Load(dir, Options{KVHeads: kvHeads})
		testkit.OK(t, err)
		defer m.Close()
		tokens := make([]int32, rapid.IntRange(1, c.Context).Draw(t, "tokens"))
		for i := range tokens {
			tokens[i] = int32(rng.IntN(c.Vocab))
		}
		want := reference(c, kvHeads, weights, tokens)
		for _, set := range kernels.Available() {
			r := newRunner(t, m, 10, 2, set)
			whole := inChunks(t, r, tokens, func() int { return len(tokens) }, false)
			for i := range want {
				for j := range want[i] {
					if diff := math.Abs(float64(whole[i][j]) - want[i][j]); !(diff < 1e-3) {
						t.Fatalf("%s: logit %d at position %d of %d is %v, want %v", set.Name, j, i,
							len(tokens), whole[i][j], want[i][j])
					}
				}
			}
			parts := inChunks(t, r, tokens,
				func() int { return rapid.IntRange(1, 20).Draw(t, "chunk") }, true)
			for i := range whole {
				if !slices.Equal(whole[i], parts[i]) {
					t.Fatalf("%s: logits at position %d differ between one pass and chunks",
						set.Name, i)
				}
			}
		}
	})
}

// inChunks computes the logits of all tokens in chunks whose sizes size gives. With company,
// another sequence of one token runs along, and each chunk is computed two times more with wrong
// tokens: before, as after a rejected draft, and afterwards, without storing anything.
func inChunks(t *rapid.T, r *Runner, tokens []int32, size func() int, company bool) [][]float32 {
	var logits [][]float32
	blocks := []int32{7, 2, 5}
	for start := 0; start < len(tokens); {
		n := min(size(), len(tokens)-start)
		chunk := Segment{Tokens: tokens[start : start+n], Start: start, Blocks: blocks, Logits: n}
		batch := []Segment{chunk}
		if company {
			wrong := chunk
			wrong.Tokens = slices.Repeat([]int32{0}, n)
			testkit.OK(t, r.Forward([]Segment{wrong}))
			batch = append(batch, Segment{Tokens: tokens[:1], Blocks: []int32{9}})
		}
		testkit.OK(t, r.Forward(batch))
		for i := range n {
			logits = append(logits, slices.Clone(r.Logits(i)))
		}
		if company {
			wrong := chunk
			wrong.Tokens, wrong.Stored = slices.Repeat([]int32{0}, n), n
			testkit.OK(t, r.Forward([]Segment{wrong}))
		}
		start += n
	}
	return logits
}
