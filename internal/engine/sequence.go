package engine

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/sim"
)

// Sequence is a text under way in an engine: its tokens, and how many of them have keys and values
// stored.
type Sequence struct {
	engine *Engine
	tokens []int32
	cached int
	ahead  int // tokens after the cached ones that are stored too, see repeat
	blocks []int32
	// prefixes holds the prefix that ends with each of the first whole blocks, as far as they are
	// indexed.
	prefixes []prefixHash
	step     uint64 // the last step that the sequence was in
}

// Start returns a sequence of the given tokens, which are copied. With prefix caching, the whole
// blocks that an earlier sequence left behind are taken over, except for the last token, whose
// logits are wanted.
func (e *Engine) Start(tokens []int32) (*Sequence, error) {
	if len(tokens) == 0 {
		return nil, fmt.Errorf("a sequence needs at least one token")
	}
	if len(tokens) > e.model.Config.Context {
		return nil, fmt.Errorf("%d tokens exceed the context of %d", len(tokens),
			e.model.Config.Context)
	}
	if err := e.checkTokens(tokens); err != nil {
		return nil, err
	}
	context := e.model.Config.Context
	s := &Sequence{
		engine: e,
		tokens: append(make([]int32, 0, context), tokens...),
		blocks: make([]int32, 0, blocksFor(context)), prefixes: make([]prefixHash, 0,
			blocksFor(context)),
	}
	s.reuse(len(tokens) - 1)
	return s, nil
}

// reuse takes over, for a sequence that has nothing stored, what the cache knows of its first n
// tokens.
func (s *Sequence) reuse(n int) {
	if !s.engine.prefixes {
		return
	}
	s.blocks, _ = s.engine.cache.Match(s.tokens[:n], s.blocks)
	s.cached = len(s.blocks) * gpt2.BlockTokens
	s.index()
}

// Len returns the number of tokens.
func (s *Sequence) Len() int { return len(s.tokens) }

// Cached returns the number of tokens whose keys and values are stored.
func (s *Sequence) Cached() int { return s.cached }

// Tokens returns the tokens. The slice must not be changed and is valid until the next Append or
// Truncate.
func (s *Sequence) Tokens() []int32 { return s.tokens }

// Append adds a token at the end, which a later step will compute.
func (s *Sequence) Append(token int32) error {
	if len(s.tokens) == s.engine.model.Config.Context {
		return fmt.Errorf("the context of %d tokens is full", len(s.tokens))
	}
	if token < 0 || int(token) >= s.engine.model.Config.Vocab {
		return fmt.Errorf("token %d is outside the vocabulary of %d", token,
			s.engine.model.Config.Vocab)
	}
	s.tokens = append(s.tokens, token)
	return nil
}

// Truncate keeps the first n tokens, 1 ≤ n ≤ Len, and gives back the blocks that only the others
// needed.
func (s *Sequence) Truncate(n int) {
	s.tokens = s.tokens[:n]
	s.Evict(min(n, s.cached))
}

// Evict forgets the keys and values after the first n tokens, but not the tokens: they are computed
// again, as after preemption by recomputation.
func (s *Sequence) Evict(n int) {
	keep := blocksFor(n)
	for _, b := range slices.Backward(s.blocks[keep:]) {
		s.engine.cache.Release(b)
	}
	s.blocks, s.cached, s.ahead = s.blocks[:keep], n, 0
	s.prefixes = s.prefixes[:min(len(s.prefixes), n/gpt2.BlockTokens)]
}

// repeat makes the next steps compute again what is stored after the first n tokens. The blocks
// stay as they are, so that other sequences can use them at the same time.
func (s *Sequence) repeat(n int) { s.cached, s.ahead = n, s.cached-n }

// Free gives back all blocks. The sequence cannot be used afterwards.
func (s *Sequence) Free() {
	if s.engine != nil {
		s.Evict(0)
		s.engine = nil
	}
}

// missing returns how many blocks must be allocated before n tokens more can be stored.
func (s *Sequence) missing(n int) int {
	more := blocksFor(s.cached+max(n, s.ahead)) - len(s.blocks)
	if s.lastIsShared() {
		more++
	}
	return more
}

// lastIsShared means that new tokens would go into a block that another sequence reads.
func (s *Sequence) lastIsShared() bool {
	return s.partial() && s.engine.cache.Shared(s.blocks[len(s.blocks)-1])
}

// partial means that new tokens would go into a block that holds others already.
func (s *Sequence) partial() bool { return (s.cached+s.ahead)%gpt2.BlockTokens != 0 }

// reserve allocates blocks for n tokens more, which are available. A block that is shared, or that
// others may find by its content, is not written to: it is copied or forgotten.
func (s *Sequence) reserve(n int) {
	cache := s.engine.cache
	if s.lastIsShared() {
		last := &s.blocks[len(s.blocks)-1]
		fresh, _ := cache.Allocate()
		s.engine.runner.KV().Copy(fresh, *last)
		cache.Release(*last)
		*last = fresh
	} else if s.partial() {
		cache.Forget(s.blocks[len(s.blocks)-1])
	}
	for len(s.blocks) < blocksFor(s.cached+n) {
		block, _ := cache.Allocate()
		s.blocks = append(s.blocks, block)
	}
}

// stored notes that the keys and values of n tokens more are in the cache.
func (s *Sequence) stored(n int) {
	s.cached += n
	s.ahead = max(0, s.ahead-n)
	if s.engine.prefixes {
		s.index()
	}
}

// index makes the whole blocks known to later sequences.
func (s *Sequence) index() {
	for i := len(s.prefixes); i < s.cached/gpt2.BlockTokens; i++ {
		parent := rootPrefix
		if i > 0 {
			parent = s.prefixes[i-1]
		}
		tokens := s.tokens[i*gpt2.BlockTokens:][:gpt2.BlockTokens]
		s.prefixes = append(s.prefixes, s.engine.cache.Index(parent, tokens, s.blocks[i]))
	}
}

// text returns the first n tokens of a request's text, prompt and answer.
func text(r *sim.Request, n, vocab int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = token(r, i, vocab)
	}
	return tokens
}

// token returns the token at position i of a request's text. It depends on the segment that the
// position lies in, and on the request alone outside of all.
func token(r *sim.Request, i, vocab int) int32 {
	if i >= r.Prompt && r.Answer != 0 {
		return mix(r.Answer, i-r.Prompt, vocab)
	}
	rest := i
	for _, segment := range r.Content {
		if rest < segment.Tokens {
			return mix(segment.ID, rest, vocab)
		}
		rest -= segment.Tokens
	}
	const unshared = 1 << 63 // keeps requests' numbers apart from segments'
	return mix(uint64(r.ID)|unshared, i, vocab)
}

// mix hashes an identity and a place to a token.
func mix(id uint64, i, vocab int) int32 {
	return int32(content.Finish(id*content.Increment+uint64(i)) % uint64(vocab))
}
