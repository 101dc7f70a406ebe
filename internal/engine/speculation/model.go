package speculation

import (
	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/sampling"
)

// Model drafts with a smaller model, or with some layers of the target itself (gpt2.Model.Keep).
type Model struct {
	name    string
	engine  *engine.Engine
	sampler *sampling.Sampler
	// sequences are the drafts under way, with the same tokens as their streams as far as those
	// were drafted.
	sequences map[*Stream]*engine.Sequence
	active    []*Stream
	chunks    []engine.Chunk
}

// NewModel returns a drafter that runs the draft model of e, which must have the target's
// vocabulary, and samples with the given parameters. It is a good choice to use the target's.
func NewModel(name string, e *engine.Engine, p sampling.Params) (*Model, error) {
	sampler, err := sampling.NewSampler(p)
	if err != nil {
		return nil, err
	}
	return &Model{name: name, engine: e, sampler: sampler,
		sequences: map[*Stream]*engine.Sequence{}}, nil
}

// Name implements Drafter.
func (m *Model) Name() string { return m.name }

// Forget implements Drafter.
func (m *Model) Forget(s *Stream) {
	if draft := m.sequences[s]; draft != nil {
		draft.Free()
		delete(m.sequences, s)
	}
}

// Draft implements Drafter: one token of all streams a step. Prompts are part of the first.
func (m *Model) Draft(streams []*Stream) error {
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
func (m *Model) addPrompts(streams []*Stream) {
	for _, s := range streams {
		if draft := m.sequences[s]; s.Prompt > draft.Cached() {
			m.chunks = append(m.chunks,
				engine.Chunk{Sequence: draft, New: s.Prompt - draft.Cached()})
		}
	}
}

// follow brings the draft of a stream to the stream's tokens, keeping what was drafted right.
func (m *Model) follow(s *Stream) error {
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
func (m *Model) extend(s *Stream, logits []float32) error {
	q := s.room(len(logits))
	if err := m.sampler.Distribution(q, logits); err != nil {
		return err
	}
	token := sampling.Draw(q, s.rng.Float64())
	s.Drafted = append(s.Drafted, token)
	return m.sequences[s].Append(token)
}
