// Package engine serves GPT-2 the way real servers do: sequences of different lengths in one
// continuous batch, prompts in chunks, keys and values in a paged cache with prefix reuse, and
// rollback of rejected tokens. A step computes exactly the chunks that it is given, so that any
// scheduler can drive it; Clock lets the simulator's do so. Bench times steps of the model beside
// what the machine can do at the same moment, which a Probe measures.
package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// ErrKVExhausted is wrapped by the error of a step that needs more KV blocks than are available.
var ErrKVExhausted = errors.New("KV cache exhausted")

// Options configures an engine.
type Options struct {
	// Blocks is the size of the KV cache in blocks of gpt2.BlockTokens tokens; 0 makes room for one
	// sequence of full length.
	Blocks int
	// Threads is the number of threads; 0 means one a processor. Ignored with Pool.
	Threads int
	// Pool shares the threads of another engine, whose steps must not run at the same time.
	Pool *kernels.Pool
	// Kernels computes; nil means the fastest for this machine.
	Kernels *kernels.Set
	// PrefixCaching reuses the blocks of earlier sequences that begin with the same tokens.
	PrefixCaching bool
	// Scattered gives out KV blocks in random order, as after long service; timings depend on it.
	Scattered bool
	// NaiveAttention computes attention without tiling, for comparison.
	NaiveAttention bool
}

// Engine runs steps of one model. It is used by one goroutine at a time.
type Engine struct {
	model    *gpt2.Model
	runner   *gpt2.Runner
	cache    *blockCache
	pool     *kernels.Pool
	ownsPool bool
	prefixes bool
	segments []gpt2.Segment
	steps    uint64
}

// New returns an engine for the model, which it does not own.
func New(m *gpt2.Model, o Options) (*Engine, error) {
	if o.Blocks == 0 {
		o.Blocks = blocksFor(m.Config.Context)
	}
	kv, err := gpt2.NewKV(m, o.Blocks)
	if err != nil {
		return nil, err
	}
	e := &Engine{model: m, cache: newBlockCache(o.Blocks, gpt2.BlockTokens), pool: o.Pool,
		prefixes: o.PrefixCaching}
	if e.pool == nil {
		if o.Threads == 0 {
			o.Threads = runtime.GOMAXPROCS(0)
		}
		e.pool, e.ownsPool = kernels.NewPool(o.Threads), true
	}
	if o.Scattered {
		e.cache.Scatter(1)
	}
	if o.Kernels == nil {
		o.Kernels = kernels.Best()
	}
	e.runner = gpt2.NewRunner(m, kv, o.Kernels, e.pool)
	e.runner.Naive = o.NaiveAttention
	return e, nil
}

// Close frees the KV cache and the threads.
func (e *Engine) Close() error {
	if e.ownsPool {
		e.pool.Close()
	}
	return e.runner.KV().Close()
}

// Model returns the engine's model.
func (e *Engine) Model() *gpt2.Model { return e.model }

// Pool returns the engine's threads, for Options.Pool.
func (e *Engine) Pool() *kernels.Pool { return e.pool }

// Available returns the number of KV blocks that no sequence uses.
func (e *Engine) Available() int { return e.cache.Available() }

// Chunk is the part of one sequence that a step computes.
type Chunk struct {
	Sequence *Sequence
	// New is the number of tokens computed, from the first whose keys and values are not stored
	// yet; at least 1.
	New int
	// Logits is the number of those, counted from the last, whose logits are wanted: 1 to sample
	// the next token, 0 for a prompt that goes on, all to verify drafted tokens.
	Logits int
}

// Step computes the chunks, of different sequences, in one pass. After an error nothing has been
// computed.
func (e *Engine) Step(chunks []Chunk) error {
	e.steps++
	need := 0
	for i, c := range chunks {
		s := c.Sequence
		switch {
		case s == nil || s.engine != e:
			return fmt.Errorf("chunk %d: the sequence belongs to another engine or was freed", i)
		case s.step == e.steps:
			return fmt.Errorf("chunk %d: the sequence is in the step twice", i)
		case c.New < 1 || c.New > s.Len()-s.cached:
			return fmt.Errorf("chunk %d: %d new tokens of a sequence of %d with %d cached", i,
				c.New, s.Len(), s.cached)
		case c.Logits < 0 || c.Logits > c.New:
			return fmt.Errorf("chunk %d: logits of %d of %d tokens", i, c.Logits, c.New)
		case s.cached+c.New > e.model.Config.Context:
			return fmt.Errorf("chunk %d: %d tokens exceed the context of %d", i, s.cached+c.New,
				e.model.Config.Context)
		}
		s.step = e.steps
		need += s.missing(c.New)
	}
	if available := e.cache.Available(); need > available {
		return fmt.Errorf("%w: the step needs %d blocks more, %d of %d are available",
			ErrKVExhausted, need, available, e.cache.Blocks())
	}
	e.segments = e.segments[:0]
	for _, c := range chunks {
		s := c.Sequence
		s.reserve(c.New)
		e.segments = append(e.segments, gpt2.Segment{
			Tokens: s.tokens[s.cached : s.cached+c.New], Start: s.cached, Blocks: s.blocks,
			Logits: c.Logits, Stored: min(s.ahead, c.New),
		})
	}
	if err := e.runner.Forward(e.segments); err != nil {
		return err
	}
	for _, c := range chunks {
		c.Sequence.stored(c.New)
	}
	return nil
}

// Logits returns the logits that the last step computed as its i-th, counted over chunks and their
// tokens. They are overwritten by the next step.
func (e *Engine) Logits(i int) []float32 { return e.runner.Logits(i) }

// blocksFor returns the number of blocks that hold n tokens.
func blocksFor(n int) int { return (n + gpt2.BlockTokens - 1) / gpt2.BlockTokens }

// checkTokens reports the first token outside the vocabulary.
func (e *Engine) checkTokens(tokens []int32) error {
	vocab := e.model.Config.Vocab
	if i := slices.IndexFunc(tokens,
		func(t int32) bool { return t < 0 || int(t) >= vocab }); i >= 0 {
		return fmt.Errorf("token %d at position %d is outside the vocabulary of %d", tokens[i], i,
			vocab)
	}
	return nil
}
