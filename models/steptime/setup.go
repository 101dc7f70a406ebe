package steptime

import (
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// setup is the configuration of a replica, resolved, with what follows from it alone. It does not
// change after newSetup, so that a clock and its forks share it.
type setup struct {
	cfg       Config
	engine    *Engine
	constants *hardware.Constants
	// kernels are the engine's; nil where they were not measured.
	kernels *hardware.Kernels
	// bandwidth is the rate in B/s at which an accelerator reads its memory, under Factors.Memory.
	bandwidth float64
	// activationBytes is the size of an element of an activation in bytes.
	activationBytes float64
	// crossesNodes reports whether the accelerators of the replica are in more than one node.
	crossesNodes bool
	// ranks is the number of data-parallel ranks, at least 1.
	ranks int
	// linear and pointwise are the kernels of all layers. productTables has the measured times of
	// linear's products by their rows, and is empty without tables.
	linear        []models.Linear
	pointwise     []models.ElementwiseKernel
	productTables map[*models.Linear]curve
}

// newSetup returns the setup of a configuration that was resolved.
func newSetup(cfg Config) *setup {
	cfg.Engine.Served = servedBy(&cfg)
	if cfg.Engine.Sorted {
		cfg.Engine.Served.Sampling = 1
	}
	c := &setup{
		cfg: cfg, engine: &cfg.Engine,
		constants:       cfg.Factors.applied(cfg.Engine.applied(cfg.Constants)),
		kernels:         cfg.Kernels,
		bandwidth:       cfg.Accelerator.Bandwidth / or1(cfg.Factors.Memory),
		activationBytes: bytesOf(cfg.Activations),
		crossesNodes:    cfg.crossesNodes(),
		ranks:           cfg.Parallel.Data,
		linear:          cfg.linearLayers(cfg.Parallel.Tensor),
		pointwise:       cfg.Model.ElementwiseKernels(cfg.Parallel.Tensor),
		productTables:   map[*models.Linear]curve{},
	}
	for i := range c.linear {
		l := &c.linear[i]
		c.productTables[l] = cfg.Operators.product(c.formatOf(l), l.N, l.K)
	}
	return c
}

// narrowCache reports whether the elements of the KV cache have 8 bits.
func (c *setup) narrowCache() bool { return bytesOf(c.cfg.KV) == 1 }

// perRank returns how many of n are on the busiest rank.
func (c *setup) perRank(n int) int {
	if c.ranks == 1 { // a division takes long
		return n
	}
	return (n + c.ranks - 1) / c.ranks
}

// onRank returns the part of t, which all n sequences take together, that the sequences of the
// busiest rank take.
func onRank[T sim.Time | perToken](c *setup, t T, n int) T {
	if c.ranks == 1 {
		return t
	}
	return (t*T(c.perRank(n)) + T(n) - 1) / T(n)
}

// load is the work of the busiest data-parallel rank in a step, for which the others wait: with
// each layer they exchange the tokens of routed experts. The router is taken to spread sequences
// and their contexts evenly, so that it has the nth part of them, rounded up. A chunk of a prompt
// is not divided: with one more of them than ranks, some rank has two.
type load struct {
	tokens    int // tokens that go through the linear layers, padding included
	rows      int // tokens of which the head computes logits, at most tokens
	sequences int // that decode or have a chunk in the step
	routed    int // the tokens of all ranks, at least tokens
}

// busiest returns the load of s.
func (c *setup) busiest(s *sim.Step) load {
	tokens, rows := s.DecodeTokens, s.DecodeTokens
	for i := range s.Prefill {
		tokens += s.Prefill[i].Rows()
		if s.Prefill[i].Last {
			rows++
		}
	}
	l := load{tokens: c.perRank(tokens), rows: c.perRank(rows),
		sequences: c.perRank(s.Decodes + len(s.Prefill)), routed: tokens}
	if c.ranks > 1 {
		chunks := make([]int, len(s.Prefill))
		for i := range s.Prefill {
			chunks[i] = s.Prefill[i].Rows()
		}
		l.tokens = max(l.tokens, fullest(chunks, c.ranks))
	}
	return l
}

// fullest returns what the rank with the most of some undivided loads has at least, however they
// are spread: of the n·ranks+1 largest, one rank has n+1, each at least as large as the last (the
// pigeonhole principle). It orders the loads.
func fullest[T int | sim.Time](loads []T, ranks int) T {
	slices.SortFunc(loads, func(a, b T) int { return int(min(max(b-a, -1), 1)) })
	var most T
	for i := 0; i < len(loads); i += ranks {
		most = max(most, T(i/ranks+1)*loads[i])
	}
	return most
}

// formatOf returns the number format in which the matrix is stored.
func (c *setup) formatOf(l *models.Linear) hardware.DType {
	if l.Quantised {
		return l.Format(c.cfg.Weights).DType
	}
	return c.cfg.Activations
}

// activationFactor returns what a factor on memory traffic must be multiplied by for activations:
// they grow with the tokens of prompts, and go with the factor on these.
func (c *setup) activationFactor() float64 {
	f := &c.cfg.Factors
	return or1(f.Prompts) / or1(f.Memory)
}

// routedPart returns the part of the rows of routed experts that an accelerator has: all of them
// where it has a slice of each expert.
func (c *setup) routedPart() float64 {
	if c.cfg.Parallel.Expert == 1 {
		return 1
	}
	return 1 / float64(c.ranks)
}

// heldExperts returns how many of a layer's routed experts one accelerator has, whole or in part.
func (c *setup) heldExperts() float64 {
	m := c.cfg.Model.Experts()
	if m == nil {
		return 0
	}
	return c.cfg.Parallel.copies(c.cfg.Model) * float64(m.Experts) / float64(c.cfg.Parallel.Expert)
}

// expertWidth returns how much of an expert's intermediate vector one accelerator has.
func (c *setup) expertWidth() float64 {
	p := c.cfg.Parallel
	return float64(c.cfg.Model.Experts().Intermediate) * float64(p.Expert) / float64(
		p.Tensor*p.Data)
}

// hostWork returns the seconds in which the reference host schedules a step of the given sequences
// and handles what comes out.
func (c *setup) hostWork(sequences int) float64 {
	f := &c.cfg.Factors
	return or1(f.Step)*float64(c.engine.HostStep) +
		or1(f.Sequence)*(float64(sequences)*float64(c.engine.HostSequence))
}

// hostWait returns the seconds for which the accelerators wait for the reference host in a step of
// the given sequences.
func (c *setup) hostWait(sequences int) float64 {
	f := &c.cfg.Factors
	wait := or1(f.Step)*float64(c.engine.Step) +
		or1(f.Sequence)*(float64(sequences)*float64(c.engine.Sequence))
	if c.engine.Lookahead == 0 {
		wait += c.hostWork(sequences)
	}
	return wait
}

// onHost returns the time that this host takes for what the constants say in seconds.
func (c *setup) onHost(seconds float64) sim.Time { return sim.Seconds(seconds * c.constants.Host) }
