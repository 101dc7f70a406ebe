package scenarios

import (
	"math"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// decodeMeter sums up the steps that ran in which sequences decoded: without prompts, and beside
// prompts.
type decodeMeter struct{ plain, mixed decodeSums }

// decodeSums are sums over steps in which sequences decoded.
type decodeSums struct {
	steps, decodes, tokens, context int64
	// chunks is the number of chunks of prompts, of which lasts complete one. They have prompts
	// tokens, after cached ones.
	chunks, lasts, prompts, cached int64
	time                           sim.Time
}

// add adds the steps of a leap, if sequences decode in them.
func (m *decodeMeter) add(l *sim.Leap) {
	switch {
	case l.Decodes == 0:
	case len(l.Prefill) == 0:
		m.plain.add(l)
	default:
		m.mixed.add(l)
	}
}

func (d *decodeSums) add(l *sim.Leap) {
	d.steps += l.Steps
	d.decodes += l.Steps * int64(l.Decodes)
	d.tokens += l.Steps * int64(l.DecodeTokens)
	d.context += l.ContextSum()
	d.time += l.End - l.Start
	for i := range l.Prefill {
		c := &l.Prefill[i]
		d.chunks++
		d.prompts += int64(c.New)
		d.cached += int64(c.Cached)
		if c.Last {
			d.lasts++
		}
	}
}

// mean returns the mean step, with one chunk of a prompt if there were any.
func (d *decodeSums) mean() *sim.Step {
	each := func(n, of int64) int { return int(math.Round(float64(n) / float64(of))) }
	s := &sim.Step{Decodes: max(1, each(d.decodes, d.steps))}
	s.DecodeTokens = max(s.Decodes, each(d.tokens, d.steps))
	perSequence := float64(d.context) / float64(d.decodes)
	s.Context = max(int64(s.DecodeTokens), int64(math.Round(perSequence*float64(s.Decodes))))
	if d.chunks > 0 {
		s.Prefill = []sim.Chunk{{New: max(1, each(d.prompts, d.steps)),
			Cached: each(d.cached, d.chunks), Last: 2*d.lasts >= d.steps}}
	}
	return s
}

// phenomenon describes the steps that ran in which sequences decoded; nil where none did. Their
// mean time is exact. What it is spent on is that of their mean, without prompts and beside them.
func (m *decodeMeter) phenomenon(clock *steptime.Clock, drafts bool) *Phenomenon {
	all := m.plain
	all.steps += m.mixed.steps
	if all.steps == 0 {
		return nil
	}
	all.decodes += m.mixed.decodes
	all.tokens += m.mixed.tokens
	all.context += m.mixed.context
	all.time += m.mixed.time
	step := all.mean()
	p := &Phenomenon{Batch: step.Decodes, Tokens: step.DecodeTokens, Context: step.Context,
		Prompts: float64(m.mixed.prompts) / float64(all.steps), Parts: map[string]float64{}}
	steps := float64(all.steps)
	p.Step = all.time.Milliseconds() / steps
	if n := m.plain.steps; n > 0 {
		p.Plain = m.plain.time.Milliseconds() / float64(n)
	}
	bounds := map[steptime.Bound]float64{}
	for _, d := range []*decodeSums{&m.plain, &m.mixed} {
		if d.steps == 0 {
			continue
		}
		l := clock.Whole(d.mean())
		if rest := d.time/sim.Time(d.steps) - l.Time(); drafts {
			l = l.WithDrafts(rest)
		}
		// The mean of the steps' times differs a little from the time of their mean.
		scale := d.time.Milliseconds() / l.Time().Milliseconds()
		for b, t := range l.ByBound() {
			bounds[b] += float64(t.Milliseconds() * scale)
		}
		for part, seconds := range l.Sum().Parts.Seconds() {
			p.Parts[part] += float64(1000 * seconds * scale / steps)
		}
	}
	most := 0.0
	for _, b := range steptime.Bounds() {
		if bounds[b] > most {
			most, p.Bound = bounds[b], b
		}
	}
	p.Share = most / all.time.Milliseconds()
	return p
}
