package engine

import (
	"errors"
	"fmt"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/sim"
)

// prepare brings every sequence of the step to the state that the simulator says it is in. If
// memory is short because sequences hold blocks of their own where the simulator lets them share a
// prefix, all are loaded again, sharing blocks.
//
// The simulator also lets sequences share blocks that the step itself fills. A newcomer begins with
// a block that another chunk of the step computes, as in vLLM, where a block has its name once its
// tokens are scheduled; and of two chunks that fill equal blocks, one gives its own back. These
// blocks are therefore filled beforehand, and the step computes their tokens again.
func (c *Clock) prepare(s *sim.Step) error {
	c.steps++
	err := c.bringAll(s, false)
	if errors.Is(err, ErrKVExhausted) {
		c.Reset()
		c.freePadding()
		err = c.bringAll(s, true)
	}
	if err != nil {
		c.freePadding()
	}
	return err
}

func (c *Clock) freePadding() {
	for _, p := range c.padding {
		if c.Drafting != nil {
			c.Drafting.Forget(p)
		}
		p.Free()
	}
	c.padding = c.padding[:0]
}

// bringAll lists the chunks of a step, decoding sequences first. With share, the blocks of prompts
// that the step fills are filled beforehand; no sequence may be loaded then.
func (c *Clock) bringAll(s *sim.Step, share bool) error {
	c.chunks = c.chunks[:0]
	if s.Sequences != nil {
		for q := range s.Sequences {
			n := 1 + q.Verifying()
			if err := c.bring(&q.Request, q.Context(), q.Context(), n, n); err != nil {
				return err
			}
		}
	}
	c.decodes = len(c.chunks)
	for i := range s.Prefill {
		p := &s.Prefill[i]
		if p.Sequence == nil {
			return fmt.Errorf(
				"a chunk of %d tokens belongs to no sequence, so that it cannot be executed", p.New)
		}
		logits := 0
		if p.Last {
			logits = 1
		}
		stored := p.Cached
		if share {
			stored = max(stored, (p.Cached+p.New)/gpt2.BlockTokens*gpt2.BlockTokens)
		}
		if err := c.bring(&p.Sequence.Request, p.Cached, stored, p.New, logits); err != nil {
			return err
		}
		if p.Padding > 0 {
			if err := c.pad(p.Padding); err != nil {
				return err
			}
		}
	}
	for range s.Decodes - c.decodes {
		if err := c.pad(1); err != nil {
			return err
		}
	}
	return c.makeRoom(c.chunks)
}

// bring adds a chunk of n tokens of a request after the first cached ones. It makes sure that the
// first stored tokens are stored, which are the cached ones and may be some of the n. Tokens whose
// logits are wanted are drafts, but for the first.
func (c *Clock) bring(r *sim.Request, cached, stored, n, logits int) error {
	s := c.sequences[r.ID]
	if s == nil {
		sequence, err := c.engine.Start(text(r, min(cached+n, r.Prompt),
			c.engine.model.Config.Vocab))
		if err != nil {
			return fmt.Errorf("request %d: %w", r.ID, err)
		}
		if stored > cached {
			sequence.Evict(0) // Start leaves the last token out, but the last block may be shared
		}
		s = &served{Sequence: sequence, id: r.ID}
		c.sequences[r.ID] = s
	}
	s.used = c.steps
	known := cached + n
	if c.Drafting != nil && logits > 1 {
		known = cached + 1
	}
	for s.Len() < known {
		if err := s.Append(token(r, s.Len(), c.engine.model.Config.Vocab)); err != nil {
			return fmt.Errorf("request %d: %w", r.ID, err)
		}
	}
	if s.Cached() > stored {
		s.Evict(stored)
	} else if s.Cached() == 0 {
		s.reuse(stored)
	}
	const most = 512 // tokens at a time
	for s.Cached() < stored {
		fill := []Chunk{{Sequence: s.Sequence, New: min(stored-s.Cached(), most)}}
		if err := c.makeRoom(fill); err != nil {
			return fmt.Errorf("request %d: %w", r.ID, err)
		}
		if err := c.engine.Step(fill); err != nil {
			return fmt.Errorf("request %d: %w", r.ID, err)
		}
	}
	if stored > cached {
		s.repeat(cached)
	}
	c.chunks = append(c.chunks, Chunk{Sequence: s.Sequence, New: n, Logits: logits})
	return nil
}

// pad adds n tokens of made-up text as padding.
func (c *Clock) pad(n int) error {
	s, err := c.engine.Start(make([]int32, n))
	if err != nil {
		return fmt.Errorf("padding: %w", err)
	}
	s.Evict(0)
	c.padding = append(c.padding, s)
	c.chunks = append(c.chunks, Chunk{Sequence: s, New: n})
	return nil
}

// makeRoom takes memory from the requests that were unused for longest until the chunks fit.
func (c *Clock) makeRoom(chunks []Chunk) error {
	for {
		need := 0
		for _, chunk := range chunks {
			need += chunk.Sequence.missing(chunk.New)
		}
		if need <= c.engine.Available() {
			return nil
		}
		var oldest *served
		for _, s := range c.sequences {
			if s.used < c.steps &&
				(oldest == nil || s.used < oldest.used || s.used == oldest.used &&
					s.id < oldest.id) {
				oldest = s
			}
		}
		if oldest == nil {
			return fmt.Errorf(
				"%w: the step needs %d blocks of %d tokens more, %d of %d are available",
				ErrKVExhausted, need, gpt2.BlockTokens, c.engine.Available(),
				c.engine.cache.Blocks())
		}
		c.Release(oldest.id)
	}
}
