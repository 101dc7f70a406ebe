package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/engine"
)

// Stats says what a continuation took.
type Stats struct {
	// Prompt and Output are numbers of tokens.
	Prompt, Output int
	// FirstToken is the time to the first token, Total that to the last.
	FirstToken, Total time.Duration
}

// TokensPerSecond returns the rate of the tokens after the first; 0 without drafts.
func (s Stats) TokensPerSecond() float64 {
	if s.Output < 2 {
		return 0
	}
	return float64(s.Output-1) / (s.Total - s.FirstToken).Seconds()
}

// Generate continues prompt by at most n tokens and writes them to w as they come: as text, or as
// numbers where the model has no vocabulary. It ends early at the model's end-of-text token, at the
// end of its context, and where one of the stop texts begins, which is not written.
func (s *Session) Generate(ctx context.Context, prompt []int32, n int, stop []string,
	w io.Writer) (Stats, error) {
	source, err := s.source(prompt)
	if err != nil {
		return Stats{}, err
	}
	defer source.end()
	out := newOutput(w, s.words, stop)
	stats := Stats{Prompt: len(prompt)}
	begin := time.Now()
	for stats.Output < n && source.len() < s.engine.Model().Config.Context {
		if err := ctx.Err(); err != nil {
			return stats, err
		}
		tokens, err := source.next()
		if err != nil {
			return stats, err
		}
		if stats.Output == 0 {
			stats.FirstToken = time.Since(begin)
		}
		for _, t := range tokens[:min(len(tokens), n-stats.Output)] {
			if int(t) == s.engine.Model().Config.EndOfText {
				stats.Total = time.Since(begin)
				return stats, out.flush()
			}
			stats.Output++
			stopped, err := out.write(t)
			if stopped || err != nil {
				stats.Total = time.Since(begin)
				return stats, err
			}
		}
		stats.Total = time.Since(begin)
	}
	return stats, out.flush()
}

// source yields the tokens of a continuation, one or more at a time.
type source interface {
	next() ([]int32, error)
	len() int
	end()
}

func (s *Session) source(prompt []int32) (source, error) {
	if s.decoder != nil {
		stream, err := s.decoder.Start(prompt)
		return &drafted{s.decoder, []*Stream{stream}}, err
	}
	sampler, err := NewSampler(s.settings.Sampling)
	if err != nil {
		return nil, err
	}
	sequence, err := s.engine.Start(prompt)
	return &plain{
		engine: s.engine, sequence: sequence, sampler: sampler, noCache: s.settings.NoCache,
		rng: rand.New(rand.NewPCG(s.settings.Seed, 0)), p: make([]float64,
			s.engine.Model().Config.Vocab),
	}, err
}

// plain decodes token by token.
type plain struct {
	engine   *engine.Engine
	sequence *engine.Sequence
	sampler  *Sampler
	noCache  bool
	rng      *rand.Rand
	p        []float64
	token    [1]int32
}

func (p *plain) next() ([]int32, error) {
	if p.noCache {
		p.sequence.Evict(0)
	}
	chunk := engine.Chunk{Sequence: p.sequence, New: p.sequence.Len() - p.sequence.Cached(),
		Logits: 1}
	if err := p.engine.Step([]engine.Chunk{chunk}); err != nil {
		return nil, err
	}
	if err := p.sampler.Distribution(p.p, p.engine.Logits(0)); err != nil {
		return nil, err
	}
	p.token[0] = Draw(p.p, p.rng.Float64())
	return p.token[:], p.sequence.Append(p.token[0])
}

func (p *plain) len() int { return p.sequence.Len() }
func (p *plain) end()     { p.sequence.Free() }

// drafted decodes several tokens a step.
type drafted struct {
	decoder *Decoder
	stream  []*Stream // one
}

func (d *drafted) next() ([]int32, error) {
	err := d.decoder.Step(d.stream)
	return d.stream[0].New, err
}

func (d *drafted) len() int { return d.stream[0].Len() }
func (d *drafted) end()     { d.decoder.Stop(d.stream[0]) }

// Measure continues prompt in Settings.Streams streams at once, by at least n tokens each where the
// context has room, only to fill the acceptance table. It needs drafts.
func (s *Session) Measure(ctx context.Context, prompt []int32, n int) error {
	end := min(len(prompt)+n, s.engine.Model().Config.Context)
	var streams []*Stream
	defer func() {
		for _, stream := range streams {
			s.decoder.Stop(stream)
		}
	}()
	for range s.settings.Streams {
		stream, err := s.decoder.Start(prompt)
		if err != nil {
			return err
		}
		streams = append(streams, stream)
	}
	for running := streams; ; {
		running = slices.DeleteFunc(slices.Clone(running), func(stream *Stream) bool {
			return stream.Len() >= end
		})
		if len(running) == 0 {
			return nil
		}
		if err := errors.Join(ctx.Err(), s.decoder.Step(running)); err != nil {
			return err
		}
	}
}

// ParseTokens reads token numbers separated by commas or spaces.
func ParseTokens(text string) ([]int32, error) {
	var tokens []int32
	for _, field := range strings.FieldsFunc(text,
		func(r rune) bool { return r == ',' || r == ' ' }) {
		var t int32
		if n, err := fmt.Sscanf(field, "%d", &t); n != 1 || err != nil || fmt.Sprint(t) != field {
			return nil, fmt.Errorf("%q is not a token number", field)
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}
