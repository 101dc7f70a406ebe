package scenarios

import (
	"math"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// workMeter adds up what the steps of the replicas of a pool computed and moved.
type workMeter struct {
	clock   *steptime.Clock
	decodes decodeMeter
	// counts has all steps, and verifying the decoding sequences of steps that verify drafts.
	counts, verifying steptime.WorkCounts
	// decodeSteps is the number of steps in which sequences decode, and promptSteps the number of
	// steps with prompts.
	decodeSteps, promptSteps int64
	// prompts and decoding divide the time of steps between the two.
	prompts, decoding sim.Time
}

// runObserver is a sim.Observer that sums up latencies and work.
type runObserver struct {
	*metrics.Collector
	work *fleetWork
}

// Steps implements sim.Observer.
func (o runObserver) Steps(l *sim.Leap) {
	o.Collector.Steps(l)
	o.work.byReplica[l.Replica].add(l)
}

// fleetWork adds up the work of each pool.
type fleetWork struct {
	meters    []workMeter
	byReplica []*workMeter
}

func newFleetWork(pools []pool) *fleetWork {
	w := &fleetWork{meters: make([]workMeter, len(pools))}
	for i := range pools {
		w.meters[i].clock = pools[i].Clock
		for range pools[i].size {
			w.byReplica = append(w.byReplica, &w.meters[i])
		}
	}
	return w
}

// total returns the FLOPs of all pools, the FLOPs of the decoding sequences in steps that verify
// drafts, and the number of their tokens.
func (w *fleetWork) total() (all, verifying float64, tokens int64) {
	for i := range w.meters {
		m := &w.meters[i]
		all += m.work().FLOPs
		verifying += m.clock.WorkOf(&m.verifying).FLOPs
		tokens += m.verifying.DecodeTokens
	}
	return all, verifying, tokens
}

// add adds a leap.
func (m *workMeter) add(l *sim.Leap) {
	m.clock.Count(&m.counts, l)
	if l.DecodeTokens > l.Decodes {
		decoding := *l
		decoding.Prefill = nil
		m.clock.Count(&m.verifying, &decoding)
	}
	m.divide(l)
	m.decodes.add(l)
	if len(l.Prefill) > 0 {
		m.promptSteps += l.Steps
	}
	if l.Decodes > 0 {
		m.decodeSteps += l.Steps
	}
}

// work returns the work of all steps.
func (m *workMeter) work() steptime.Work { return m.clock.WorkOf(&m.counts) }

// divide adds the time of a leap to the times of prompts and decoding. Of a step for both, decoding
// counts the time that it would take alone, and prompts count the rest.
func (m *workMeter) divide(l *sim.Leap) {
	decoding := l.End - l.Start
	if len(l.Prefill) > 0 {
		alone := sim.Time(0)
		if l.Decodes > 0 {
			alone = m.clock.Decode(l.Decodes, l.Context).At(l.Context)
		}
		decoding = min(alone, decoding)
	}
	m.decoding += decoding
	m.prompts += l.End - l.Start - decoding
}

// meanDecode returns the mean of the steps in which sequences decoded, or nil if no sequence did.
func (m *workMeter) meanDecode() *sim.Step {
	if m.decodeSteps == 0 {
		return nil
	}
	steps, decodes := float64(m.decodeSteps), float64(m.counts.Decodes)
	batch := max(1, int(math.Round(decodes/steps)))
	tokens := max(batch, int(math.Round(float64(m.counts.DecodeTokens)/steps)))
	each := float64(m.counts.Context) / decodes
	context := max(int64(batch), int64(math.Round(each*float64(batch))))
	return &sim.Step{Decodes: batch, DecodeTokens: tokens, Context: context}
}

// decodeMeter sums up the steps that ran in which sequences decoded: without prompts, and beside
// prompts.
type decodeMeter struct{ plain, mixed decodeSums }

// decodeSums are sums over steps in which sequences decoded.
type decodeSums struct {
	steps, decodes, tokens, context int64
	// chunks is the number of chunks of prompts; lasts of them complete one. They have prompts
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

// phenomenon describes the steps that ran in which sequences decoded; nil without such steps. Their
// mean time is exact. The ledgers of two mean steps, without prompts and beside prompts, say what
// it is spent on.
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
