package memory

import (
	"container/list"
	"fmt"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// Encodings keeps what an encoder made of images or sounds; every prompt begins with the same
// number of them; the least recently used one is dropped first. The same image comes again where
// prompts share the text that it is in (sim.Segment). Like vLLM's cache, it counts tokens and has
// room for one image at least (vllm/v1/core/encoder_cache_manager.py, v0.15). Unlike there, an
// image whose prompt is computed in several steps may be dropped between them, since it is not
// encoded again.
type Encodings struct {
	// count is the number of images of a prompt, tokens the tokens of an image, and room the number
	// of images that are kept; each is at least 1.
	count, tokens, room int
	// held finds the elements of order by name: len(held) = order.Len() <= room.
	held  map[uint64]*list.Element
	order *list.List // of the names of images, the least recently used first
}

// NewEncodings returns a cache of the given size in tokens, at least 1, for prompts that begin with
// count images of so many tokens each.
func NewEncodings(size, count, tokens int) (*Encodings, error) {
	if size < 1 || count < 1 || tokens < 1 {
		return nil, fmt.Errorf("a cache of %d tokens for %d images of %d, want 1 or more of each",
			size, count, tokens)
	}
	return &Encodings{count, tokens, max(1, size/tokens), map[uint64]*list.Element{}, list.New()},
		nil
}

// Encoded implements sim.EncoderCache.
func (e *Encodings) Encoded(s *sim.Sequence, n int) int {
	found := 0
	begun := func(tokens int) int { return min(e.count, (tokens+e.tokens-1)/e.tokens) }
	for i := begun(s.Stored); i < begun(s.Stored+n); i++ {
		if e.use(e.name(s, i)) {
			found++
		}
	}
	return found
}

// name returns the name of image number i of s: its place in the text that it is in, or in the
// prompt if it reaches beyond what other prompts share.
func (e *Encodings) name(s *sim.Sequence, i int) uint64 {
	start := i * e.tokens
	for _, text := range s.Content {
		if start < text.Tokens {
			if start+e.tokens > text.Tokens {
				break
			}
			return content.Hash(text.ID) + uint64(start)
		}
		start -= text.Tokens
	}
	return content.Hash(content.Hash(uint64(s.ID)) + uint64(i))
}

// use reports whether an image is kept, and keeps it as the most recently used.
func (e *Encodings) use(name uint64) bool {
	if at := e.held[name]; at != nil {
		e.order.MoveToBack(at)
		return true
	}
	if len(e.held) == e.room {
		delete(e.held, e.order.Remove(e.order.Front()).(uint64))
	}
	e.held[name] = e.order.PushBack(name)
	return false
}

// Forget implements sim.EncoderCache.
func (e *Encodings) Forget() {
	clear(e.held)
	e.order.Init()
}
