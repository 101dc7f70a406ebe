package steptime

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Clock predicts step times. Only one goroutine may use it at a time.
type Clock struct {
	cfg       Config
	engine    *Engine
	constants *hardware.Constants
	// kernels are those of the engine, nil where none were measured.
	kernels *hardware.Kernels
	tables  *Tables
	// productTables are the measured times of the matrix products, by their rows.
	productTables map[*models.Linear]curve
	outside       outside
	warnings      []string

	// layers is the number of layers of the slowest pipeline stage, last reports whether it has the
	// output head. allLayers is the number of layers of the model, latentLayers that of layers with
	// latent attention in the stage.
	layers, allLayers, latentLayers float64
	last                            bool
	// bandwidth is in B/s, as Factors have it; operand and wide are the rates of quantised matrix
	// products and of all other arithmetic.
	bandwidth       float64
	operand, wide   peakRate
	activationBytes float64
	// byFormat are the rates of products of matrices that are stored in other formats than most.
	byFormat map[hardware.DType]*peakRate
	// experts holds the constants of the kernels of routed experts.
	experts hardware.ExpertKernel
	// expertOverlap joins their compute and memory time. expertsWhole reports whether their fixed
	// time has all that comes between and after the two products in it.
	expertOverlap float64
	expertsWhole  bool
	// cacheRate is the rate in B/s at which decode attention reads the cache.
	cacheRate    float64
	crossesNodes bool
	// ranks is the number of data-parallel ranks.
	ranks int

	linear    []models.Linear
	pointwise []models.ElementwiseKernel
	attention []attention

	byTokens, byRows, byRouted, byExchanged memo

	// launch and launchPrompt are the times in which the host launches a step without and with
	// prompts. scheduling has the time that the host takes to schedule a step, by the number of
	// sequences, and serial the time for which the accelerators wait for the host.
	launch, launchPrompt sim.Time
	scheduling, serial   memo

	forms []*form // by the number of sequences
	// decodeKernels and prefillKernels are the fixed times of attention in a step, expand that of
	// computing the keys and values of a cached token anew (MLA).
	decodeKernels, prefillKernels, expand sim.Time
	images                                imageCost
	different                             []float64 // adapters, by sequences; -1 where unknown
	work                                  workForm
}

var _ sim.LeapClock = (*Clock)(nil)

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
	c.chooseStage()
	for _, l := range cfg.Model.AttentionLayers(cfg.Parallel.Tensor, cfg.KV) {
		a := c.newAttention(l)
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
	c.byTokens.fill = totalOf(func(ops []Operator, n int) []Operator {
		return c.tokenOperators(ops, n, 0)
	})
	c.byRouted.fill = totalOf(func(ops []Operator, n int) []Operator {
		return c.tokenOperators(ops, 0, n)
	})
	c.byExchanged.fill = totalOf(c.allToAll)
	c.byRows.fill = totalOf(c.headOperators)
	c.findHostTimes()
	c.work = newWorkForm(&cfg)
	c.findTables()
	if c.tables != nil {
		c.warnings = append(c.warnings, c.coverage()...)
	}
	return c, nil
}

// Warnings returns facts about the basis of the predictions that a reader should know.
func (c *Clock) Warnings() []string { return c.warnings }

// decodeCompute returns the fraction of the peak that decode attention reaches.
func (c *Clock) decodeCompute(l *models.Attention) float64 {
	reached := c.constants.Attention.DecodeCompute
	// an indexer scores all tokens with tensor cores, as latent attention does
	if l.Latent || l.Scan {
		reached = c.constants.Attention.LatentCompute
	}
	if c.engine.DecodeCompute > 0 {
		reached = min(reached, c.engine.DecodeCompute)
	}
	return reached
}

// narrowCache reports whether the elements of the KV cache have 8 bits.
func (c *Clock) narrowCache() bool { return bytesOf(c.cfg.KV) == 1 }

// chooseStage finds the pipeline stage that takes longest: the last, which has the output head, or
// one of those with the most layers, where the stages cannot be equal. Remaining layers go to
// stages other than the last.
func (c *Clock) chooseStage() {
	layers, stages := c.cfg.Model.Layers(), c.cfg.Parallel.Pipeline
	c.allLayers = float64(layers)
	most, fewest := (layers+stages-1)/stages, layers/stages
	var perLayer, head float64
	for i := range c.linear {
		l := &c.linear[i]
		if bytes := l.Matrices(l.Active) * float64(
			l.MatrixBytes(c.cfg.Weights)); l.Rows == models.SampledRows {
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
	return float64(count) * c.layers / c.allLayers
}

// Duration returns the time of step s in the slowest pipeline stage, including the send to the next
// stage.
func (c *Clock) Duration(s *sim.Step) sim.Time {
	if n, context, ok := decoding(s); ok && c.cfg.Given == nil {
		return c.Decode(n, context).At(context)
	}
	return c.slowed(c.predicted(s))
}

// predicted returns the time of step s without the configured slowdown.
func (c *Clock) predicted(s *sim.Step) sim.Time {
	if c.cfg.Given != nil {
		return c.cfg.Given.duration(s)
	}
	if n, context, ok := decoding(s); ok {
		return c.decode(n, context).At(context)
	}
	l := c.busiest(s)
	t := c.byTokens.at(l.tokens) + c.byRows.at(l.rows) + c.routed(l.routed) + c.prefillAttention(s)
	if s.Decodes > 0 {
		t += c.decodeAttention(s)
	}
	t -= c.overlapped(t, l.tokens)
	t = c.mixed(t, s)
	t += c.encode(s) + c.adapt(l.tokens, l.sequences)
	return max(1, max(t, c.hostFloor(l.tokens, l.sequences, len(s.Prefill) > 0))+
		c.serial.at(l.sequences))
}

// decoding reports whether s has one row for each sequence, for how many, and the context they
// attend to. To kernels and captured graphs one token of a prompt after others that are stored is a
// row like decoding sequences: so a request goes on that comes from a prefill replica or from host
// memory, and so a static batch feeds what prompts are longer than the shortest.
func decoding(s *sim.Step) (n int, context int64, ok bool) {
	n, context = s.Decodes, s.Context
	for i := range s.Prefill {
		if c := &s.Prefill[i]; c.Rows() > 1 || c.Cached == 0 {
			return 0, 0, false
		}
		n++
		context += int64(s.Prefill[i].Cached) + 1
	}
	return n, context, s.DecodeTokens == s.Decodes
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
