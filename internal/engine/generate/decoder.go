package generate

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/engine"
)

// DecoderOptions configures a decoder.
type DecoderOptions struct {
	// Gamma is the largest number of drafted tokens a step and stream, at least 1.
	Gamma     int
	Algorithm Algorithm
	// Sampling shapes the target's distribution.
	Sampling SamplingParams
	// Seed determines all random choices; stream i has a generator of its own, so that its text
	// does not depend on the others.
	Seed uint64
}

// Stream is one text that is decoded with drafts.
type Stream struct {
	*engine.Sequence
	Proposal
	// New are the tokens that the last step added.
	New []int32

	rng *rand.Rand
}

// Decoder decodes a batch of streams, each several tokens a step.
type Decoder struct {
	target  *engine.Engine
	drafter Drafter
	options DecoderOptions
	sampler *Sampler
	started uint64
	chunks  []engine.Chunk
	p       [][]float64 // the target's distributions of one stream
	counts  []int64     // steps by number of accepted tokens
	tries   []positionCount
}

// positionCount counts the drafted tokens at one place of the draft that were looked at, and how
// many of them were accepted.
type positionCount struct{ drafted, accepted int64 }

// NewDecoder returns a decoder that checks the drafter's proposals with the target.
func NewDecoder(target *engine.Engine, drafter Drafter, o DecoderOptions) (*Decoder, error) {
	if o.Gamma < 1 {
		return nil, fmt.Errorf("%d drafted tokens a step: at least 1 is needed", o.Gamma)
	}
	sampler, err := NewSampler(o.Sampling)
	if err != nil {
		return nil, err
	}
	d := &Decoder{target: target, drafter: drafter, options: o, sampler: sampler,
		counts: make([]int64, o.Gamma+1), tries: make([]positionCount, o.Gamma)}
	for range o.Gamma + 1 {
		d.p = append(d.p, make([]float64, target.Model().Config.Vocab))
	}
	return d, nil
}

// Start adds a text that begins with prompt.
func (d *Decoder) Start(prompt []int32) (*Stream, error) {
	sequence, err := d.target.Start(prompt)
	if err != nil {
		return nil, err
	}
	return d.follow(sequence), nil
}

// follow makes a stream of a sequence.
func (d *Decoder) follow(sequence *engine.Sequence) *Stream {
	s := &Stream{Sequence: sequence, rng: rand.New(rand.NewPCG(d.options.Seed, d.started))}
	d.started++
	return s
}

// Stop ends a stream and frees what it holds.
func (d *Decoder) Stop(s *Stream) {
	d.drafter.Forget(s)
	s.Free()
}

// ErrContextFull is returned when a stream has no room for another token.
var ErrContextFull = errors.New("the context is full")

// Step drafts and checks tokens for the given streams, in one step of the target. Each gets between
// 1 and Gamma+1 new tokens. The first step of a stream also computes its prompt. After an error of
// the target, an exhausted KV cache for one, the streams are as before.
func (d *Decoder) Step(streams []*Stream) error {
	context := d.target.Model().Config.Context
	for _, s := range streams {
		room := context - s.Len()
		if room < 1 {
			return ErrContextFull
		}
		s.reset(min(d.options.Gamma, room-1))
	}
	if err := d.drafter.Draft(streams); err != nil {
		return fmt.Errorf("drafting: %w", err)
	}
	d.chunks = d.chunks[:0]
	for _, s := range streams {
		for _, t := range s.Drafted {
			if err := s.Append(t); err != nil {
				return err
			}
		}
		d.chunks = append(d.chunks, engine.Chunk{Sequence: s.Sequence, New: s.Len() - s.Cached(),
			Logits: len(s.Drafted) + 1})
	}
	if err := d.target.Step(d.chunks); err != nil {
		for _, s := range streams {
			s.Truncate(s.Len() - len(s.Drafted))
		}
		return err
	}
	first := 0
	for _, s := range streams {
		if err := d.verify(s, first); err != nil {
			return err
		}
		first += len(s.Drafted) + 1
	}
	return nil
}

// verify accepts and rejects the tokens drafted for s, whose logits begin at first.
func (d *Decoder) verify(s *Stream, first int) error {
	drafted := len(s.Drafted)
	for i := range drafted + 1 {
		if err := d.sampler.Distribution(d.p[i], d.target.Logits(first+i)); err != nil {
			return err
		}
	}
	accepted, next := d.options.Algorithm.Verify(d.p[:drafted+1], s.Distributions, s.Drafted, s.rng)
	s.Truncate(s.Len() - drafted + accepted)
	if err := s.Append(next); err != nil {
		return err
	}
	s.New = append(append(s.New[:0], s.Drafted[:accepted]...), next)
	d.count(drafted, accepted)
	return nil
}

func (d *Decoder) count(drafted, accepted int) {
	d.counts[accepted]++
	for i := range min(accepted+1, drafted) {
		d.tries[i].drafted++
		if i < accepted {
			d.tries[i].accepted++
		}
	}
}
