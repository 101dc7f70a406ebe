package models

import "math"

// Pages is how layers of several kinds share one cache in vLLM (vllm/v1/core/kv_cache_utils.py:
// _get_kv_cache_groups_uniform_page_size, and vllm/model_executor/models/config.py:
// HybridAttentionMambaModelConfig, v0.11 to v0.25). Layers of each kind are cut into groups of
// equally many, the last one filled up with layers that do not exist, and a page holds one block of
// tokens, or one state, of all layers of a group. So that pages of all kinds have the same size,
// blocks of attention become as long as the largest state, and states are filled up to a block;
// kinds that store less of a token have longer blocks. The zero Pages stands for a model whose
// layers are all of one kind, or compress their context (DeepSeek-V4), which is packed otherwise.
type Pages struct {
	// Bytes is the size of a page on one GPU.
	Bytes float64
	Kinds []PagedKind
}

// PagedKind is the groups of alike layers.
type PagedKind struct {
	// Groups is the number of groups, at least 1; each group has pages of its own.
	Groups int
	// Tokens is the number of tokens of a page; 0 for state of fixed size.
	Tokens int
	// Window is the number of last tokens that are kept; 0 means all.
	Window int
}

// unevenGroups is the ratio of the layers of the most frequent kind to the layers of the rarest
// below which groups have as many layers as the former: 12 layers with a window and 13 without are
// two groups of 13. Earlier releases have 1.25; no model of the catalogue lies between.
const unevenGroups = 1.5

// SharePages returns how kinds of layers share a cache of blocks of that many tokens.
func SharePages(kinds []State, block int) Pages {
	least, most, state, token := math.MaxInt, 0, int64(0), int64(0)
	for _, s := range kinds {
		if s.Every > 1 || s.TokenBits%8 != 0 {
			return Pages{}
		}
		least, most = min(least, s.Layers), max(most, s.Layers)
		state, token = max(state, s.FixedBytes), max(token, s.TokenBits/8)
	}
	if len(kinds) < 2 || token == 0 || !bounded(kinds) {
		return Pages{}
	}
	group := least
	if float64(most) < unevenGroups*float64(least) {
		group = most
	}
	block *= int(max(1, ceilDiv(state, token*int64(block))))
	page := token * int64(block) // of one layer
	p := Pages{Bytes: float64(int64(group) * page)}
	for _, s := range kinds {
		k := PagedKind{Groups: (s.Layers + group - 1) / group, Window: s.Window}
		if own := s.TokenBits / 8 * int64(block); own > 0 {
			k.Tokens = block
			if page%own == 0 {
				k.Tokens *= int(page / own)
			}
		}
		p.Kinds = append(p.Kinds, k)
	}
	return p
}

// bounded reports whether some layers keep less than a part of each token.
func bounded(kinds []State) bool {
	for _, s := range kinds {
		if s.Window > 0 || s.FixedBytes > 0 {
			return true
		}
	}
	return false
}

// State returns what a sequence takes of the pages, filled up or not.
func (p Pages) State() SequenceState {
	var k SequenceState
	for _, of := range p.Kinds {
		switch bytes := float64(of.Groups) * p.Bytes; {
		case of.Tokens == 0:
			k.Fixed += bytes
		case of.Window > 0:
			k.Windowed += bytes / float64(of.Tokens)
			k.Window = max(k.Window, of.Window)
		default:
			k.Growing += bytes / float64(of.Tokens)
		}
	}
	for _, of := range p.Kinds {
		if k.Fixed > 0 {
			k.StateTokens = max(k.StateTokens, of.Tokens)
		}
	}
	return k
}

// Of returns the number of pages that a sequence of n tokens takes while a step computes so many of
// them, as vLLM counts it: a layer with a window keeps the tokens before the step that it sees, the
// tokens of the step, and one block more.
func (p Pages) Of(n, step int) (pages int) {
	for _, of := range p.Kinds {
		each := 1
		switch {
		case of.Window > 0:
			each += (min(n, of.Window-1+step) + of.Tokens - 1) / of.Tokens
		case of.Tokens > 0:
			each = (n + of.Tokens - 1) / of.Tokens
		}
		pages += of.Groups * each
	}
	return pages
}

// Logged returns the size in tokens of a cache of that many bytes as vLLM logs it up to v0.20: the
// pages of a group of each, however many of them a sequence takes.
func (p Pages) Logged(bytes float64) int {
	groups, tokens := 0, math.MaxInt
	for _, of := range p.Kinds {
		if groups += of.Groups; of.Tokens > 0 {
			tokens = min(tokens, of.Tokens)
		}
	}
	return int(bytes/p.Bytes) / groups * tokens
}
