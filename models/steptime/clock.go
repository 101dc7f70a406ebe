package steptime

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Clock predicts step times. It is used by one goroutine at a time.
type Clock struct {
	cfg       Config
	engine    *Engine
	constants *hardware.Constants
	warnings  []string

	// layers is the number of layers of the slowest pipeline stage, last tells that it has the output head.
	layers float64
	last   bool
	// bandwidth is in B/s; operand and wide are the rates of quantised matrix products and of all other arithmetic.
	bandwidth       float64
	operand, wide   peakRate
	activationBytes float64
	// expertEfficiency is the fraction of the operands' peak that routed experts reach.
	expertEfficiency float64
	crossesNodes     bool

	linear    []models.Linear
	pointwise []models.ElementwiseKernel
	attention []attention

	byTokens, byRows memo
	forms            []form
	// decodeKernels and prefillKernels are the fixed times of attention in a step, expand that of computing the keys and values of a
	// cached token anew (MLA).
	decodeKernels, prefillKernels, expand sim.Time
	// tailPerToken is the idle time of the last tiles for each token of the longest prompt.
	tailPerToken sim.Time

	work workForm
}

// peakRate is a peak in FLOP/s and the fraction of it that large matrix products reach.
type peakRate struct{ peak, efficiency float64 }

var _ sim.LeapClock = (*Clock)(nil)

// New returns the clock of one replica, or an error that says why the configuration cannot run. Whether the model fits into
// memory is another question: see Plan.
func New(cfg Config) (*Clock, error) {
	cfg, warnings, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	c := &Clock{
		cfg: cfg, engine: &cfg.Engine, constants: cfg.Constants, warnings: warnings,
		bandwidth:       cfg.Accelerator.Bandwidth,
		activationBytes: bytesOf(cfg.Activations),
		crossesNodes:    cfg.crossesNodes(),
		linear:          cfg.Model.LinearLayers(cfg.Parallel.Tensor),
		pointwise:       cfg.Model.ElementwiseKernels(cfg.Parallel.Tensor),
	}
	if c.operand, err = c.peakRate(operand(&cfg)); err != nil {
		return nil, err
	}
	if c.wide, err = c.peakRate(cfg.Activations); err != nil {
		return nil, err
	}
	c.expertEfficiency = efficiency(c.constants.Experts.Compute, operand(&cfg))
	c.chooseStage()
	for _, l := range cfg.Model.AttentionLayers(cfg.Parallel.Tensor, cfg.KV) {
		a := c.newAttention(l)
		c.attention = append(c.attention, a)
		c.decodeKernels += times(a.count, float64(c.constants.Attention.DecodeKernel))
		c.prefillKernels += times(a.count, float64(c.constants.Attention.PrefillKernel))
		perHead := l.PrefillFLOPs * float64(cfg.Parallel.Tensor) / float64(cfg.Model.Heads)
		wave := 128 * float64(cfg.Accelerator.SMs) * c.constants.Attention.PrefillTail
		c.tailPerToken += times(a.count, wave*perHead/(c.wide.peak*c.constants.Attention.PrefillCompute))
	}
	for i := range c.linear {
		if l := &c.linear[i]; l.Rows == models.ExpandedRows {
			c.expand += times(c.share(l.Count), 2*float64(l.N)*float64(l.K)/(c.operand.peak*c.operand.efficiency))
		}
	}
	c.byTokens.fill = func(n int) sim.Time { return total(c.tokenOperators(nil, n)) }
	c.byRows.fill = func(n int) sim.Time { return total(c.headOperators(nil, n)) }
	c.work = newWorkForm(&cfg)
	return c, nil
}

// Warnings tells what the predictions rest on that a reader should know.
func (c *Clock) Warnings() []string { return c.warnings }

// peakRate returns the rate of arithmetic in d, and notes where another format stands in for it.
func (c *Clock) peakRate(d hardware.DType) (peakRate, error) {
	peak, used, err := rate(c.cfg.Accelerator, d)
	if err != nil {
		return peakRate{}, err
	}
	if used != d && !(used == hardware.BF16 && d == hardware.FP16) {
		c.warnings = append(c.warnings, fmt.Sprintf("%s has no peak rate for %s: computed in %s", c.cfg.Accelerator.Name, d, used))
	}
	reached := efficiency(c.constants.Linear.Compute, used)
	if c.engine.Compute > 0 {
		reached *= c.engine.Compute
	}
	return peakRate{peak, reached}, nil
}

// efficiency returns the efficiency fitted for a number format, or that for 16 bits where it was not measured.
func efficiency(fitted map[hardware.DType]float64, d hardware.DType) float64 {
	if e := fitted[d]; e > 0 {
		return e
	}
	return fitted[hardware.BF16]
}

// chooseStage finds the pipeline stage that takes longest: the last, which has the output head, or one of those with the most
// layers, where the stages cannot be equal. Remaining layers go to stages other than the last.
func (c *Clock) chooseStage() {
	layers, stages := c.cfg.Model.Layers, c.cfg.Parallel.Pipeline
	most, fewest := (layers+stages-1)/stages, layers/stages
	var perLayer, head float64
	for i := range c.linear {
		l := &c.linear[i]
		if bytes := l.Matrices(l.Active) * float64(l.MatrixBytes(c.cfg.Weights)); l.Rows == models.SampledRows {
			head += bytes
		} else {
			perLayer += bytes * float64(l.Count) / float64(layers)
		}
	}
	c.layers, c.last = float64(fewest), true
	if float64(most)*perLayer > float64(fewest)*perLayer+head {
		c.layers, c.last = float64(most), false
	}
}

// share returns how many of count kernels of the model are in the stage.
func (c *Clock) share(count int) float64 {
	if count <= 1 {
		return float64(count)
	}
	return float64(count) * c.layers / float64(c.cfg.Model.Layers)
}

// Duration returns the time of step s in the slowest pipeline stage, the send to the next stage included.
func (c *Clock) Duration(s *sim.Step) sim.Time {
	if len(s.Prefill) == 0 && s.DecodeTokens == s.Decodes {
		return c.Decode(s.Decodes, s.Context).At(s.Context)
	}
	tokens, rows, longest, t := s.DecodeTokens, s.DecodeTokens, 0, sim.Time(0)
	if len(s.Prefill) > 0 {
		t = c.prefillKernels
	}
	for i := range s.Prefill {
		chunk := &s.Prefill[i]
		tokens += chunk.Rows()
		if chunk.Last {
			rows++
		}
		longest = max(longest, chunk.Rows()+chunk.Cached)
		t += c.expand * sim.Time(chunk.Cached)
		for j := range c.attention {
			t += c.prefill(&c.attention[j], chunk.Rows(), chunk.Cached)
		}
	}
	if s.Decodes > 0 {
		t += c.decodeKernels
		for j := range c.attention {
			t += c.attention[j].decode(s.Decodes, s.DecodeTokens, s.Context)
		}
	}
	sequences := s.Decodes + len(s.Prefill)
	t += c.tailPerToken*sim.Time(longest) + c.byTokens.at(tokens) + c.byRows.at(rows)
	return max(1, max(t, c.hostFloor(tokens, sequences))+c.serial(sequences))
}

// hostFloor returns the time that the host needs for a step of so many tokens and sequences, less than which it cannot take: to
// launch it, and to schedule the next one meanwhile.
func (c *Clock) hostFloor(tokens, sequences int) sim.Time {
	var floor float64
	if tokens > c.engine.Graph {
		floor = c.layers * float64(c.engine.Launch)
	}
	if c.engine.Lookahead > 0 {
		floor = max(floor, c.hostWork(sequences))
	}
	return sim.Seconds(floor * c.constants.Host)
}

// serial returns the time for which the accelerators wait for the host in a step of so many sequences.
func (c *Clock) serial(sequences int) sim.Time {
	wait := float64(c.engine.Step) + float64(sequences)*float64(c.engine.Sequence)
	if c.engine.Lookahead == 0 {
		wait += c.hostWork(sequences)
	}
	return sim.Seconds(wait * c.constants.Host)
}

// hostWork returns the seconds in which the reference host schedules a step of so many sequences and handles what comes out.
func (c *Clock) hostWork(sequences int) float64 {
	return float64(c.engine.HostStep) + float64(sequences)*float64(c.engine.HostSequence)
}

// RequestLatency returns what the host adds to the time to the first token of a request besides steps.
func (c *Clock) RequestLatency() sim.Time {
	return sim.Seconds(float64(c.engine.Request) * c.constants.Host)
}

// Decode returns the form of a step in which n sequences decode one token each.
func (c *Clock) Decode(n int, context int64) sim.Affine {
	for n >= len(c.forms) {
		c.forms = append(c.forms, form{})
	}
	f := &c.forms[n]
	if f.last == 0 {
		*f = c.newForm(n)
	}
	i := 0
	for context > f.segments[i].Through {
		i++
	}
	return f.segments[i]
}

// form is the duration of a pure decode step of some number of sequences: affine segments in order of context, the last of
// which has no end.
type form struct {
	segments [6]sim.Affine
	last     int
}

// newForm builds the form for n sequences: the affine time of the accelerators, which bends where sliding windows are full, and
// the floor of the host under it.
func (c *Clock) newForm(n int) form {
	var f form
	if n == 0 {
		f.append(sim.Affine{Base: 1, Through: math.MaxInt64})
		return f
	}
	base, slope := c.byTokens.at(n)+c.byRows.at(n)+c.decodeKernels, sim.Time(0)
	bend := int64(math.MaxInt64)
	for i := range c.attention {
		a := &c.attention[i]
		base += a.perQuery * sim.Time(n)
		slope += a.perContext
		if b := a.BendsAt(n); b > 0 {
			bend = b
		}
	}
	floor, serial := c.hostFloor(n, n), c.serial(n)
	f.appendAbove(floor, serial, sim.Affine{Base: base, PerToken: slope, Through: bend})
	if bend < math.MaxInt64 {
		for i := range c.attention {
			if a := &c.attention[i]; a.BendsAt(n) > 0 {
				base += a.perContext * sim.Time(bend)
				slope -= a.perContext
			}
		}
		f.appendAbove(floor, serial, sim.Affine{Base: base, PerToken: slope, Through: math.MaxInt64})
	}
	return f
}

// appendAbove appends the larger of a floor and a segment, plus serial.
func (f *form) appendAbove(floor, serial sim.Time, s sim.Affine) {
	crossing := int64(-1)
	switch {
	case s.Base >= floor:
	case s.PerToken == 0:
		crossing = s.Through
	default:
		crossing = min(int64((floor-s.Base)/s.PerToken), s.Through)
	}
	if crossing >= 0 {
		f.append(sim.Affine{Base: max(1, floor+serial), Through: crossing})
	}
	if crossing < s.Through {
		s.Base = max(1, s.Base+serial)
		f.append(s)
	}
}

func (f *form) append(s sim.Affine) {
	f.segments[f.last] = s
	f.last++
}

// memo keeps the times of a cost that depends on a count. Counts beyond its limit are computed each time.
type memo struct {
	times []sim.Time
	fill  func(n int) sim.Time
}

// memoLimit bounds the memory of a memo: 8 MiB.
const memoLimit = 1 << 20

func (m *memo) at(n int) sim.Time {
	if n < len(m.times) && m.times[n] > 0 {
		return m.times[n]
	}
	if n == 0 || n >= memoLimit {
		return m.fill(n)
	}
	for n >= len(m.times) {
		m.times = append(m.times, 0)
	}
	m.times[n] = m.fill(n)
	return m.times[n]
}

func total(ops []Operator) sim.Time {
	var t sim.Time
	for i := range ops {
		t += ops[i].Time
	}
	return t
}
