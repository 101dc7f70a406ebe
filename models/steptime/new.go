package steptime

import (
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// New returns the clock of one replica, or an error that says why the configuration cannot run. New
// does not check whether the model fits into memory: see Plan.
func New(cfg Config) (*Clock, error) {
	cfg, warnings, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	cfg.Engine.Served = servedBy(&cfg)
	if cfg.Engine.Sorted {
		cfg.Engine.Served.Sampling = 1
	}
	c := &Clock{
		cfg: cfg, engine: &cfg.Engine,
		constants: cfg.Factors.on(cfg.Engine.Served.on(cfg.Constants)),
		kernels:   cfg.Kernels, tables: cfg.Operators, outside: outside{}, warnings: warnings,
		bandwidth:       cfg.Accelerator.Bandwidth / or1(cfg.Factors.Memory),
		activationBytes: bytesOf(cfg.Activations),
		crossesNodes:    cfg.crossesNodes(),
		ranks:           cfg.Parallel.Data,
		linear:          cfg.Model.LinearLayers(cfg.Parallel.Tensor),
		pointwise:       cfg.Model.ElementwiseKernels(cfg.Parallel.Tensor),
	}
	if c.operand, err = c.peakRate(cfg.Weights); err != nil {
		return nil, err
	}
	if c.wide, err = c.peakRate(cfg.Activations); err != nil {
		return nil, err
	}
	if err := c.findRates(); err != nil {
		return nil, err
	}
	if err := c.chooseImages(); err != nil {
		return nil, err
	}
	c.chooseExperts()
	c.cacheRate = cfg.Accelerator.Bandwidth * c.constants.Attention.DecodeMemory /
		or1(cfg.Factors.Cache)
	if narrow := c.constants.Attention.DecodeNarrow; narrow > 0 && c.narrowCache() &&
		!c.engine.NativeFP8Attention {
		c.cacheRate *= narrow
	}
	if err := c.priceStage(); err != nil {
		return nil, err
	}
	c.work = newWorkForm(&cfg)
	c.findTables()
	if c.tables != nil {
		c.warnings = append(c.warnings, c.coverage()...)
	}
	return c, nil
}

// priceStage chooses and prices a pipeline stage: the last, which has the output head, or one of
// those with the most layers, where the stages cannot be equal. Remaining layers go to stages other
// than the last. One may be slower for decoding and the other for prompts: it takes the stage that
// the other exceeds by less.
func (c *Clock) priceStage() error {
	layers, stages := c.cfg.Model.Layers(), c.cfg.Parallel.Pipeline
	c.allLayers = float64(layers)
	most, fewest := (layers+stages-1)/stages, layers/stages
	if err := c.price(fewest, true); err != nil || most == fewest {
		return err
	}
	last := c.probe()
	if err := c.price(most, false); err != nil {
		return err
	}
	if longest := c.probe(); exceeds(longest, last) > exceeds(last, longest) {
		return nil
	}
	return c.price(fewest, true)
}

// probe returns the times of a decode step for one sequence and of a prompt. They do not run.
func (c *Clock) probe() [2]sim.Time {
	aside := c.Aside()
	aside.outside = outside{}
	return [2]sim.Time{aside.Duration(&sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1}),
		aside.Duration(&sim.Step{Prefill: []sim.Chunk{{New: 512, Last: true}}})}
}

// exceeds returns the largest ratio of times in a to those in b.
func exceeds(a, b [2]sim.Time) float64 {
	return max(float64(a[0])/float64(b[0]), float64(a[1])/float64(b[1]))
}

// price prices attention and the host's work for a stage with the given layers, which may be the
// last.
func (c *Clock) price(layers int, last bool) error {
	c.layers, c.last = float64(layers), last
	c.attention, c.latentLayers = nil, 0
	c.decodeKernels, c.prefillKernels, c.expand = 0, 0, 0
	for _, l := range c.cfg.Model.AttentionLayers(c.cfg.Parallel.Tensor, c.cfg.KV) {
		a, err := c.newAttention(l)
		if err != nil {
			return err
		}
		c.attention = append(c.attention, a)
		if l.Latent {
			c.latentLayers += a.count
		}
		c.decodeKernels += times(a.count, a.decodeKernel)
		c.prefillKernels += times(a.count, a.prefillKernel)
	}
	for i := range c.linear {
		if l := &c.linear[i]; l.Rows == models.ExpandedRows {
			c.expand += times(c.share(l.Count),
				2*float64(l.N)*float64(l.K)/(c.rateOf(l).peak*c.rateOf(l).efficiency))
		}
	}
	c.findHostTimes()
	c.forget()
	return nil
}

// totalOf returns the time of the operators that list appends, in space that is used again.
func totalOf(list func(ops []Operator, n int) []Operator) func(n int) sim.Time {
	var space []Operator
	return func(n int) sim.Time {
		space = list(space[:0], n)
		return total(space)
	}
}

func total(ops []Operator) sim.Time {
	var t sim.Time
	for i := range ops {
		t += ops[i].Time
	}
	return t
}
