package generate

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/engine"
)

// Drafter proposes tokens.
type Drafter interface {
	// Draft fills in Drafted and Distributions of each stream, with at most Want tokens. Of a
	// stream with a Prompt it computes that.
	Draft(streams []*Stream) error
	// Forget means that a stream is over.
	Forget(s *Stream)
	// Name describes the drafter for tables.
	Name() string
}

// Proposal holds the tokens that a drafter proposes for one stream.
type Proposal struct {
	// Want is the largest number of tokens wanted; at least 0.
	Want int
	// Prompt is the number of tokens of the text that the target is about to have computed, where
	// it computes a prompt; 0 where the stream decodes. A drafter that computes prompts too can do
	// so at the same time.
	Prompt int
	// Drafted are the proposed tokens.
	Drafted []int32
	// Distributions are the ones from which the tokens were drawn; nil if the proposer was certain.
	Distributions [][]float64
}

// reset makes room for a new proposal, keeping the space of the last.
func (p *Proposal) reset(want int) {
	p.Want, p.Prompt, p.Drafted, p.Distributions = want, 0, p.Drafted[:0], p.Distributions[:0]
}

// room adds a distribution over vocab tokens and returns it to be filled in.
func (p *Proposal) room(vocab int) []float64 {
	n := len(p.Distributions)
	if n < cap(p.Distributions) {
		p.Distributions = p.Distributions[:n+1]
	} else {
		p.Distributions = append(p.Distributions, nil)
	}
	if p.Distributions[n] == nil {
		p.Distributions[n] = make([]float64, vocab)
	}
	return p.Distributions[n]
}

// NGram proposes what followed the last occurrence of the last few tokens in the text so far:
// prompt look-up decoding (Saxena 2023, github.com/apoorvumang/prompt-lookup-decoding; also Yang et
// al. 2023, arXiv:2304.04487). It costs next to nothing and pays where an answer quotes its prompt.
type NGram struct {
	// Longest and Shortest bound the number of tokens that must match, 1 ≤ Shortest ≤ Longest;
	// longer matches are tried first.
	Longest, Shortest int
}

// Draft implements Drafter.
func (g NGram) Draft(streams []*Stream) error {
	for _, s := range streams {
		for _, token := range g.lookUp(s.Tokens(), s.Want) {
			s.Drafted = append(s.Drafted, token)
			s.Distributions = append(s.Distributions, nil)
		}
	}
	return nil
}

// Forget implements Drafter.
func (g NGram) Forget(*Stream) {}

// Name implements Drafter.
func (g NGram) Name() string { return fmt.Sprintf("ngram-%d-%d", g.Shortest, g.Longest) }

// lookUp returns up to n tokens that followed an earlier occurrence of the longest matching end of
// tokens: the latest occurrence that n tokens follow, or else the one that most do.
func (g NGram) lookUp(tokens []int32, n int) []int32 {
	for length := min(g.Longest, len(tokens)-1); length >= max(g.Shortest, 1); length-- {
		end := tokens[len(tokens)-length:]
		var best []int32
		for at := len(tokens) - length - 1; at >= 0 && len(best) < n; at-- {
			if slices.Equal(tokens[at:at+length], end) {
				follow := tokens[at+length:]
				best = follow[:min(n, len(follow))]
			}
		}
		if len(best) > 0 {
			return best
		}
	}
	return nil
}

// ModelDrafter drafts with a smaller model, or with some layers of the target itself
// (gpt2.Model.Keep).
type ModelDrafter struct {
	name    string
	engine  *engine.Engine
	sampler *Sampler
	// sequences are the drafts under way, with the same tokens as their streams as far as those
	// were drafted.
	sequences map[*Stream]*engine.Sequence
	active    []*Stream
	chunks    []engine.Chunk
}

// NewModelDrafter returns a drafter that runs the draft model of e, which must have the target's
// vocabulary, and samples with the given parameters. It is a good choice to use the target's.
func NewModelDrafter(name string, e *engine.Engine, p SamplingParams) (*ModelDrafter, error) {
	sampler, err := NewSampler(p)
	if err != nil {
		return nil, err
	}
	return &ModelDrafter{name: name, engine: e, sampler: sampler,
		sequences: map[*Stream]*engine.Sequence{}}, nil
}

// Name implements Drafter.
func (m *ModelDrafter) Name() string { return m.name }

// Forget implements Drafter.
func (m *ModelDrafter) Forget(s *Stream) {
	if draft := m.sequences[s]; draft != nil {
		draft.Free()
		delete(m.sequences, s)
	}
}

// Draft implements Drafter: one token of all streams a step. Prompts are part of the first.
func (m *ModelDrafter) Draft(streams []*Stream) error {
	m.active = append(m.active[:0], streams...)
	for _, s := range streams {
		if err := m.follow(s); err != nil {
			return err
		}
	}
	for first := true; ; first = false {
		m.chunks = m.chunks[:0]
		active := m.active[:0]
		for _, s := range m.active {
			if draft := m.sequences[s]; len(s.Drafted) < s.Want {
				m.chunks = append(m.chunks,
					engine.Chunk{Sequence: draft, New: draft.Len() - draft.Cached(), Logits: 1})
				active = append(active, s)
			}
		}
		m.active = active
		if first {
			m.addPrompts(streams)
		}
		if len(m.chunks) == 0 {
			return nil
		}
		if err := m.engine.Step(m.chunks); err != nil {
			return err
		}
		for i, s := range active {
			if err := m.extend(s, m.engine.Logits(i)); err != nil {
				return err
			}
		}
	}
}

// addPrompts adds the parts of prompts that the target computes meanwhile.
func (m *ModelDrafter) addPrompts(streams []*Stream) {
	for _, s := range streams {
		if draft := m.sequences[s]; s.Prompt > draft.Cached() {
			m.chunks = append(m.chunks,
				engine.Chunk{Sequence: draft, New: s.Prompt - draft.Cached()})
		}
	}
}

// follow brings the draft of a stream to the stream's tokens, keeping what was drafted right.
func (m *ModelDrafter) follow(s *Stream) error {
	tokens := s.Tokens()
	draft := m.sequences[s]
	if draft == nil {
		draft, err := m.engine.Start(tokens)
		if err != nil {
			return err
		}
		m.sequences[s] = draft
		return nil
	}
	same := 0
	for same < min(len(tokens), draft.Len()) && tokens[same] == draft.Tokens()[same] {
		same++
	}
	draft.Truncate(same)
	for _, t := range tokens[same:] {
		if err := draft.Append(t); err != nil {
			return err
		}
	}
	if draft.Cached() == draft.Len() {
		draft.Evict(draft.Len() - 1) // its last logits are needed again
	}
	return nil
}

// extend draws the next drafted token.
func (m *ModelDrafter) extend(s *Stream, logits []float32) error {
	q := s.room(len(logits))
	if err := m.sampler.Distribution(q, logits); err != nil {
		return err
	}
	token := Draw(q, s.rng.Float64())
	s.Drafted = append(s.Drafted, token)
	return m.sequences[s].Append(token)
}
