package generate

import "github.com/llmsim/llmsim/internal/engine"

// Serving drafts and verifies for an engine.Clock, so that schedulers decide which sequences
// decode, and with how many drafted tokens.
type Serving struct {
	decoder *Decoder
	streams map[*engine.Sequence]*Stream
	active  []*Stream
}

var _ engine.Drafting = (*Serving)(nil)

// NewServing returns what decodes with the decoder, whose target is the clock's engine. The
// decoder's own streams are left alone.
func NewServing(d *Decoder) *Serving {
	return &Serving{decoder: d, streams: map[*engine.Sequence]*Stream{}}
}

// Draft implements engine.Drafting.
func (v *Serving) Draft(decodes, prompts []engine.Chunk) error {
	v.active = v.active[:0]
	for _, c := range decodes {
		if s := v.stream(c.Sequence, c.New-1); s.Want > 0 {
			v.active = append(v.active, s)
		}
	}
	for _, c := range prompts {
		s := v.stream(c.Sequence, 0)
		s.Prompt = c.Sequence.Cached() + c.New
		v.active = append(v.active, s)
	}
	if err := v.decoder.drafter.Draft(v.active); err != nil {
		return err
	}
	for i := range decodes {
		c := &decodes[i]
		s := v.streams[c.Sequence]
		for _, t := range s.Drafted {
			if err := c.Sequence.Append(t); err != nil {
				return err
			}
		}
		c.New = 1 + len(s.Drafted)
		c.Logits = c.New
	}
	return nil
}

// Verify implements engine.Drafting.
func (v *Serving) Verify(decodes, prompts []engine.Chunk) error {
	row := 0
	for _, c := range decodes {
		if err := v.decoder.verify(v.streams[c.Sequence], row); err != nil {
			return err
		}
		row += c.Logits
	}
	for _, c := range prompts {
		if c.Logits == 0 {
			continue
		}
		if err := v.extend(c.Sequence, row); err != nil {
			return err
		}
		row++
	}
	return nil
}

// extend draws the token that follows a prompt. After a preemption the text is there already, and
// is kept.
func (v *Serving) extend(s *engine.Sequence, row int) error {
	d := v.decoder
	if err := d.sampler.Distribution(d.p[0], d.target.Logits(row)); err != nil {
		return err
	}
	token := Draw(d.p[0], v.streams[s].rng.Float64())
	if s.Len() > s.Cached() {
		return nil
	}
	return s.Append(token)
}

// Forget implements engine.Drafting.
func (v *Serving) Forget(s *engine.Sequence) {
	if stream := v.streams[s]; stream != nil {
		v.decoder.drafter.Forget(stream)
		delete(v.streams, s)
	}
}

// Accepted returns how many drafted tokens of s were accepted in its last step.
func (v *Serving) Accepted(s *engine.Sequence) int { return len(v.streams[s].New) - 1 }

// stream returns the stream of a sequence that wants the given number of drafted tokens.
func (v *Serving) stream(s *engine.Sequence, want int) *Stream {
	stream := v.streams[s]
	if stream == nil {
		stream = v.decoder.follow(s)
		v.streams[s] = stream
	}
	stream.reset(want)
	return stream
}
