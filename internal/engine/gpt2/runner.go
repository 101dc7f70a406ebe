package gpt2

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// Runner runs forward passes of a model. It owns the KV memory and the scratch space of a pass, and
// is used by one goroutine.
type Runner struct {
	// Trace, if set, is called with the hidden states of all rows of a pass: after the embedding
	// (stage 0) and after each layer (1 … layers), row r at states[r*stride:][:Width].
	Trace func(stage int, states []float32, stride int)
	// Naive computes attention as three passes over a whole matrix of scores, for comparison with
	// the tiled one.
	Naive bool

	model *Model
	kv    *KV
	set   *kernels.Set
	pool  *kernels.Pool

	batch  []Segment
	rows   int       // tokens of the batch
	x      []float32 // residual stream
	normed []float32
	qkv    []float32
	mixed  []float32 // attention's output
	inner  []float32
	logits []float32 // one row for each that was asked for

	logitRows []int32 // the row of the batch that each row of logits belongs to
	work      []attentionItem
	scratch   []scratch // one a worker

	embedding embedTask
	normal    normTask
	product   linearTask
	storing   storeTask
	attention attentionTask
}

// Segment is the part of one sequence that a pass computes.
type Segment struct {
	// Tokens are the next tokens of the sequence, at least one; the keys and values of those before
	// are in the cache.
	Tokens []int32
	// Start is the position of the first of Tokens.
	Start int
	// Blocks is the sequence's block table; it must cover Start + len(Tokens) tokens.
	Blocks []int32
	// Logits is the number of tokens, counted from the last, for which logits are wanted: 0 …
	// len(Tokens).
	Logits int
	// Stored is the number of tokens, counted from the first, whose keys and values are in the
	// cache already, 0 … len(Tokens). They are computed, but not stored again, so that segments
	// can share these blocks.
	Stored int
}

// NewRunner returns a runner. pool and set may be shared with other runners as long as their passes
// do not overlap.
func NewRunner(m *Model, kv *KV, set *kernels.Set, pool *kernels.Pool) *Runner {
	r := &Runner{model: m, kv: kv, set: set, pool: pool, scratch: make([]scratch, pool.Threads())}
	group := m.Config.Heads / m.KVHeads
	for i := range r.scratch {
		r.scratch[i] = newScratch(max(queryRows, group), kv.valueWidth)
	}
	r.embedding.r, r.normal.r, r.product.r, r.storing.r, r.attention.r = r, r, r, r, r
	return r
}

// KV returns the runner's KV memory.
func (r *Runner) KV() *KV { return r.kv }

// Logits returns the logits that the last pass computed as its i-th, over segments and then tokens,
// of length Config.Vocab. They are overwritten by the next pass.
func (r *Runner) Logits(i int) []float32 {
	stride := stride(r.model.Config.Vocab)
	return r.logits[i*stride:][:r.model.Config.Vocab]
}

// Forward computes a batch of segments of different sequences: prompts or chunks of them, single
// tokens, drafted tokens to verify, in any mixture. It stores their keys and values. The results of
// a segment are the same bits whatever else is in the batch and however its sequence was cut into
// segments before. After an error nothing has been computed.
func (r *Runner) Forward(batch []Segment) error {
	for i := range batch {
		if err := r.check(&batch[i]); err != nil {
			return fmt.Errorf("segment %d: %w", i, err)
		}
	}
	r.prepare(batch)
	if r.rows == 0 {
		return nil
	}
	width := r.model.Config.Width
	r.pool.Run(r.rows, &r.embedding)
	r.trace(0)
	for l := range r.model.layers {
		layer := &r.model.layers[l]
		r.layerNorm(&layer.norm1, nil)
		r.linear(&layer.qkv, r.qkv, r.normed, width, r.rows, replace)
		r.attend(l, layer.scale)
		r.linear(&layer.out, r.x, r.mixed, width, r.rows, addResidual)
		r.layerNorm(&layer.norm2, nil)
		r.linear(&layer.up, r.inner, r.normed, width, r.rows, activate)
		r.linear(&layer.down, r.x, r.inner, r.model.Config.Inner, r.rows, addResidual)
		r.trace(l + 1)
	}
	if len(r.logitRows) > 0 {
		r.layerNorm(&r.model.norm, r.logitRows)
		r.linear(&r.model.head, r.logits, r.normed, width, len(r.logitRows), replace)
	}
	return nil
}

// check reports what a pass over the segment would get wrong.
func (r *Runner) check(s *Segment) error {
	c := &r.model.Config
	end := s.Start + len(s.Tokens)
	switch {
	case len(s.Tokens) == 0:
		return fmt.Errorf("no tokens")
	case s.Start < 0 || end > c.Context:
		return fmt.Errorf("tokens at positions %d to %d of a model with a context of %d", s.Start,
			end-1, c.Context)
	case len(s.Blocks)*BlockTokens < end:
		return fmt.Errorf("%d KV blocks hold %d tokens, not %d", len(s.Blocks),
			len(s.Blocks)*BlockTokens, end)
	case s.Logits < 0 || s.Logits > len(s.Tokens):
		return fmt.Errorf("logits of %d of %d tokens", s.Logits, len(s.Tokens))
	case s.Stored < 0 || s.Stored > len(s.Tokens):
		return fmt.Errorf("%d of %d tokens stored already", s.Stored, len(s.Tokens))
	}
	for i, t := range s.Tokens {
		if t < 0 || int(t) >= c.Vocab {
			return fmt.Errorf("token %d at position %d is outside the vocabulary of %d", t,
				s.Start+i, c.Vocab)
		}
	}
	for _, b := range s.Blocks {
		if b < 0 || int(b) >= r.kv.blocks {
			return fmt.Errorf("KV block %d of %d", b, r.kv.blocks)
		}
	}
	return nil
}

// prepare lists the work of a pass and makes room for it. It allocates only when the batch is
// larger than any before.
func (r *Runner) prepare(batch []Segment) {
	r.batch, r.rows, r.logitRows, r.work = batch, 0, r.logitRows[:0], r.work[:0]
	for i := range batch {
		s := &batch[i]
		for t := len(s.Tokens) - s.Logits; t < len(s.Tokens); t++ {
			r.logitRows = append(r.logitRows, int32(r.rows+t))
		}
		r.listAttention(i, r.rows)
		r.rows += len(s.Tokens)
	}
	c := &r.model.Config
	grow(&r.x, r.rows, c.Width)
	grow(&r.normed, r.rows, c.Width)
	grow(&r.mixed, r.rows, c.Width)
	grow(&r.qkv, r.rows, qkvWidth(*c, r.model.KVHeads))
	grow(&r.inner, r.rows, c.Inner)
	grow(&r.logits, len(r.logitRows), c.Vocab)
	r.embedding.prepare()
}

// grow makes sure that a buffer has the given number of rows.
func grow(buffer *[]float32, rows, width int) {
	if n := rows * stride(width); n > len(*buffer) {
		*buffer = make([]float32, n)
	}
}

// stride returns the distance between rows of the given width: whole panels, and a cache line more,
// so that the rows that a micro-kernel reads at once do not fall into the same cache sets.
func stride(width int) int { return roundUp(width) + 16 }

func (r *Runner) trace(stage int) {
	if r.Trace != nil {
		r.Trace(stage, r.x, stride(r.model.Config.Width))
	}
}

// attentionScale returns the factor of attention scores in a layer.
func attentionScale(c Config, layer int) float32 {
	scale := 1.0
	if c.ScaleAttention {
		scale /= math.Sqrt(float64(c.HeadSize()))
	}
	if c.ScaleByLayer {
		scale /= float64(layer + 1)
	}
	return float32(scale)
}
