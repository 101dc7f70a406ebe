package steptime

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// stage predicts the operators of a pipeline stage on one of its accelerators. Its costs never
// change after newStage; the memos, different and tables do, so that each fork has a stage of its
// own (see fresh).
type stage struct {
	*setup
	products  *productCosts
	exchanges exchangeCosts
	attention attentionCosts
	tables    *lookup
	// layers is the number of layers of the stage, in (0, allLayers], and allLayers the number of
	// layers of the model. last reports whether the stage has the output head.
	layers, allLayers float64
	last              bool

	// The times of tokenOperators by the tokens of a rank and of all ranks, of headOperators by
	// rows, and of allToAll by tokens.
	byTokens, byRouted, byRows, byExchanged memo
	// different has Adapters.distinct by sequences; -1 where it is not known yet.
	different []float64
}

// newStage prices a stage of the given layers.
func newStage(products *productCosts, layers int, last bool) (*stage, error) {
	c := &stage{setup: products.setup, products: products,
		tables: &lookup{Tables: products.cfg.Operators}, layers: float64(layers),
		allLayers: float64(products.cfg.Model.Layers()), last: last}
	c.exchanges.setup = c.setup
	expand := sim.Time(0)
	for i := range c.linear {
		if l := &c.linear[i]; l.Rows == models.ExpandedRows {
			rate := products.rateOf(l)
			expand += times(c.share(l.Count),
				2*float64(l.N)*float64(l.K)/(rate.peak*rate.efficiency))
		}
	}
	c.attention = newAttentionCosts(products, expand)
	for _, l := range c.cfg.Model.AttentionLayers(c.cfg.Parallel.Tensor, c.cfg.KV) {
		l.KVBytes /= float64(c.cfg.Parallel.Context)
		if err := c.attention.add(l, c.share(l.Count)); err != nil {
			return nil, err
		}
	}
	return c.fresh(), nil
}

// fresh returns the stage without what it remembers of steps.
func (c *stage) fresh() *stage {
	own := *c
	own.tables = &lookup{Tables: c.tables.Tables}
	own.exchanges.tables, own.attention.tables = own.tables, own.tables
	own.attention.exchanges = &own.exchanges
	own.byTokens = memo{fill: totalOf(func(ops []Operator, n int) []Operator {
		return own.tokenOperators(ops, n, 0)
	})}
	own.byRouted = memo{fill: totalOf(func(ops []Operator, n int) []Operator {
		return own.tokenOperators(ops, 0, n)
	})}
	own.byRows = memo{fill: totalOf(own.headOperators)}
	own.byExchanged = memo{fill: totalOf(own.allToAll)}
	own.attention.byPrompt = memo{fill: func(tokens int) sim.Time {
		return own.attention.chunks([]sim.Chunk{{New: tokens}})
	}}
	own.different = nil
	return &own
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

// share returns how many of count kernels of the model are in the stage.
func (c *stage) share(count int) float64 {
	if count <= 1 {
		return float64(count)
	}
	return float64(count) * c.layers / c.allLayers
}

// expertLayers returns the number of layers of the stage that have routed experts.
func (c *stage) expertLayers() float64 {
	return c.share(c.cfg.Model.ExpertLayers())
}

// unattended returns the time of all operators of a load, but for attention, images and adapters.
func (c *stage) unattended(l load) sim.Time {
	t := c.byTokens.at(l.tokens) + c.byRows.at(l.rows)
	if c.cfg.Model.Experts() != nil {
		t += c.byRouted.at(l.routed)
	}
	return t
}

// tokenOperators appends the operators whose cost depends on numbers of tokens alone: the matrix
// products of the layers, element-wise kernels, collectives and the send to the next pipeline
// stage, for the tokens of a rank, and the routed experts, for the tokens of all ranks. Without
// tokens, either is left out.
func (c *stage) tokenOperators(ops []Operator, tokens, routed int) []Operator {
	for i := range c.linear {
		l := &c.linear[i]
		switch {
		case l.Rows == models.SampledRows:
		case l.Rows == models.RoutedRows && routed > 0:
			ops = append(ops, c.routedExperts(l, routed))
		case l.Rows != models.RoutedRows && tokens > 0:
			ops = append(ops, c.product(l, tokens))
		}
	}
	if tokens == 0 {
		return ops
	}
	ops = c.elementwise(ops, tokens)
	ops = c.collectives(ops, tokens)
	if gap := float64(c.engine.Layer); gap > 0 {
		gaps := kernel("gaps", c.layers, 0, Traffic{}, 0, 0, 0, gap)
		gaps.divideTime(spending{})
		ops = append(ops, gaps)
	}
	return ops
}

// product returns a matrix product of m rows.
func (c *stage) product(l *models.Linear, m int) Operator {
	flops := 2 * float64(m) * float64(l.N) * float64(l.K)
	r := c.products.rateOf(l)
	padded := (2*roundUp(m, c.constants.Linear.Tile) + c.products.widening(l, r)) *
		float64(l.N) * float64(l.K)
	bytes := float64(l.MatrixBytes(c.cfg.Weights))
	compute, memory := padded/(r.peak*r.efficiency), bytes/(c.bandwidth*r.memory)
	launch, moved := c.products.quantise(l, m)
	both, fixed := overlap(compute, memory, r.overlap), r.kernel+(launch+moved)
	if l.Fused {
		fixed, moved = 0, 0
	}
	n := c.share(l.Count)
	o := kernel(l.Name, n, flops, Traffic{Weights: bytes}, compute, memory, both, fixed).filling(n,
		flops/(r.peak*r.efficiency))
	if seconds, ok := c.tables.measured(c.productTables[l], l.Name, "tokens", float64(m)); ok {
		o.Time = times(c.share(l.Count), seconds)
	}
	o.divideTime(spending{ReadingWeights: n * memory, MovingActivations: n * moved,
		FixedTimes: n * (fixed - moved)})
	return o
}

// roundUp rounds m rows up to a multiple of tile, or to a power of two from 16 below it. One row is
// a product with a vector, and a tile of 0 rounds nothing.
func roundUp(m, tile int) float64 {
	if m == 1 {
		return 1
	}
	for small := 16; small < tile; small *= 2 {
		if m <= small {
			return float64(small)
		}
	}
	if tile > 0 {
		m = (m + tile - 1) / tile * tile
	}
	return float64(m)
}

// elementwise appends norms, rotations and activations.
func (c *stage) elementwise(ops []Operator, tokens int) []Operator {
	if c.engine.Roofline {
		return ops
	}
	k := &c.constants.Elementwise
	var bytes, kernels float64
	for _, e := range c.pointwise {
		if c.products.expertsWhole &&
			(e.Name == models.ExpertActivation || e.Name == models.ExpertCombine) {
			continue
		}
		kernels += c.launches(&e)
		bytes += c.share(e.Count) * float64(tokens) * float64(e.Elements) * c.activationBytes
	}
	if c.narrowCache() { // queries are brought to the number format of the cache
		kernels += c.layers
		for i := range c.attention.kinds {
			a := &c.attention.kinds[i]
			bytes += a.count * float64(tokens) * a.IOBytes / 2 *
				(1 + bytesOf(c.cfg.KV)/c.activationBytes)
		}
	}
	memory := c.activationFactor() * bytes / (c.bandwidth * k.Memory)
	return append(ops, moving("elementwise", bytes, memory, kernels*float64(k.Kernel)))
}

// launches returns the number of times that the stage launches an element-wise kernel in a step.
// The norms that follow all-reduces may be theirs.
func (c *stage) launches(e *models.ElementwiseKernel) float64 {
	n := c.share(e.Count)
	if e.Name == models.Norm && c.engine.FusedAllReduce && c.cfg.Parallel.Tensor > 1 {
		n = max(0, n-c.share(c.cfg.Model.AllReduces()-1))
	}
	return n
}

// headOperators appends the output head and sampling for the given number of rows.
func (c *stage) headOperators(ops []Operator, rows int) []Operator {
	if rows == 0 || !c.last {
		return ops
	}
	for i := range c.linear {
		if l := &c.linear[i]; l.Rows == models.SampledRows {
			ops = append(ops, c.product(l, rows))
		}
	}
	k := &c.constants.Head
	if c.engine.Roofline {
		return ops
	}
	logits := float64(rows) * float64(c.cfg.Model.Vocab)
	if c.cfg.Parallel.Tensor > 1 {
		ops = append(ops, c.exchanges.gatherLogits(logits*c.activationBytes))
	}
	bytes := logits * 4 * k.Passes
	memory := bytes / c.bandwidth
	return append(ops, moving("sampling", bytes, memory, float64(k.Kernel)))
}

// moving returns an operator that moves activations of the given bytes in so many seconds, and has
// a fixed time.
func moving(name string, bytes, memory, fixed float64) Operator {
	o := kernel(name, 1, 0, Traffic{Activations: bytes}, 0, memory, memory, fixed)
	o.divideTime(spending{MovingActivations: memory, FixedTimes: fixed})
	return o
}

// collectives appends the all-reduces of tensor parallelism, the exchange of tokens between
// data-parallel ranks, and the send to the next pipeline stage.
func (c *stage) collectives(ops []Operator, tokens int) []Operator {
	if c.engine.Roofline {
		return ops
	}
	vector := float64(tokens) * float64(c.cfg.Model.Hidden) * c.activationBytes
	if c.cfg.Parallel.Tensor > 1 {
		count := c.share(c.cfg.Model.AllReduces())
		if c.ranks > 1 {
			count -= c.expertLayers() // the results of experts come back by all-to-all
		}
		ops = append(ops, c.exchanges.communication("all_reduce", count, vector,
			c.exchanges.stepAllReduce(vector, tokens)))
		if norms := c.share(c.cfg.Model.WideNorms()); norms > 0 {
			squares := float64(tokens) * squareBytes
			ops = append(ops, c.exchanges.communication("all_reduce_squares", norms, squares,
				c.exchanges.stepAllReduce(squares, tokens)))
		}
	}
	if c.ranks > 1 {
		ops = c.allToAll(ops, tokens)
	}
	if c.cfg.Parallel.Pipeline > 1 {
		link, k := c.cfg.ScaleUp, &c.constants.ScaleUp
		if c.crossesNodes || link == nil {
			link, k = c.cfg.Network, &c.constants.Network
		}
		// An all-reduce of two ranks waits for the link twice, a send once.
		send := float64(k.Library.Latency)/2 + vector/(link.Bandwidth*k.Library.Efficiency)
		ops = append(ops, c.exchanges.communication("pipeline_send", 1, vector, send))
	}
	return ops
}

// allToAll appends the exchange of the tokens of a rank with the accelerators that have their
// experts, there (dispatch, in the number format of the products) and back (combine, as
// activations), once a layer each (GShard, arXiv:2006.16668). Where each expert is split over all
// accelerators, all of them get all tokens, and sum what comes out: an all-gather and a
// reduce-scatter, both of activations.
func (c *stage) allToAll(ops []Operator, tokens int) []Operator {
	vectors := float64(tokens) / float64(c.cfg.Parallel.Tensor) * float64(c.cfg.Model.Hidden)
	for _, way := range []struct {
		name  string
		bytes float64
	}{
		{"dispatch", vectors * bytesOf(c.products.operand.format)},
		{"combine", vectors * c.activationBytes},
	} {
		seconds, sent := c.exchanges.exchange(way.bytes)
		if c.cfg.Parallel.Expert == 1 {
			seconds, sent = c.exchanges.gather(vectors * c.activationBytes)
		}
		seconds += c.exchanges.waitForRanks() / 2
		ops = append(ops, c.exchanges.communication(way.name, c.expertLayers(), sent, seconds))
	}
	return ops
}

// overlapped returns how much of the exchange of the given tokens of a rank is hidden in a step
// with prompts that would take so long.
func (c *stage) overlapped(whole sim.Time, tokens int) sim.Time {
	if !c.cfg.Parallel.TwoBatch || tokens == 0 {
		return 0
	}
	exchange := c.byExchanged.at(tokens)
	return sim.Time(twoBatchOverlap * float64(min(exchange, whole-exchange)))
}

// twoBatchOverlap is the part of the shorter of exchange and everything else that goes on beside
// the other. SGLang computes 27 to 35 % more prompt tokens so, with DeepSeek-V3 on 32 H100 (LMSYS,
// Deploying DeepSeek with PD Disaggregation and Large-scale Expert Parallelism on 96 H100 GPUs, May
// 2025, ablation study), where the exchange is a third of the predicted time.
const twoBatchOverlap = 0.7

// adapterOperator returns the two grouped products that each adapted matrix takes in a step of some
// tokens of some sequences: to the rank and back. They read the weights of each adapter in the
// batch once (Chen et al., Punica, arXiv:2310.18547, section 4; Sheng et al., S-LoRA, section 6),
// at the rates of other products, and each costs what a kernel does at least.
func (c *stage) adapterOperator(tokens, sequences int) Operator {
	a := &c.cfg.Adapters
	o := Operator{Name: "adapters", Bound: Memory}
	if a.Count == 0 || tokens == 0 {
		return o
	}
	different := c.differentAdapters(sequences)
	longer, reading, kernels := 0.0, 0.0, 0.0
	for i := range c.linear {
		l := &c.linear[i]
		weights := float64(a.Rank) * a.weights(l)
		if weights == 0 {
			continue
		}
		n := c.share(l.Count)
		flops, bytes := 2*float64(tokens)*weights, 2*different*weights
		compute := flops / (c.products.wide.peak * c.products.wide.efficiency)
		memory := bytes / (c.bandwidth * c.products.wide.memory)
		longer += n * max(compute, memory)
		reading += n * memory
		kernels += n * 2 * a.products(l)
		o.FLOPs += n * flops
		o.Weights += n * bytes
	}
	o.Time = times(1, longer+kernels*c.products.wide.kernel)
	o.divideTime(spending{ReadingWeights: reading, FixedTimes: kernels * c.products.wide.kernel})
	return o
}

// adapterTime returns the time of the adapters' products.
func (c *stage) adapterTime(tokens, sequences int) sim.Time {
	if c.cfg.Adapters.Count == 0 || tokens == 0 {
		return 0
	}
	return c.adapterOperator(tokens, sequences).Time
}

// differentAdapters returns Adapters.distinct, which takes a while for many adapters, from memory.
func (c *stage) differentAdapters(n int) float64 {
	for n >= len(c.different) {
		c.different = append(c.different, -1)
	}
	if c.different[n] < 0 {
		c.different[n] = c.cfg.Adapters.distinct(n)
	}
	return c.different[n]
}

// coverage lists the operators of the model that the tables do not have, and that formulas predict.
func (c *stage) coverage() []string {
	var missing []string
	for i := range c.linear {
		l := &c.linear[i]
		switch {
		case l.Rows == models.RoutedRows:
			if len(c.tables.experts[c.expertsKey()]) == 0 {
				missing = append(missing, l.Name)
			}
		case len(c.productTables[l]) == 0:
			missing = append(missing, fmt.Sprintf("%s (n=%d k=%d)", l.Name, l.N, l.K))
		}
	}
	if len(c.tables.prefill[c.attention.tableKey()]) == 0 {
		missing = append(missing, "prefill attention")
	}
	if len(c.tables.decoding[c.attention.tableKey()]) == 0 || len(c.attention.kinds) > 1 ||
		c.attention.kinds[0].Window > 0 {
		missing = append(missing, "decode attention")
	}
	if tp := c.cfg.Parallel.Tensor; tp > 1 && !c.tables.reduces(tp) {
		missing = append(missing, "all-reduce")
	}
	var warnings []string
	if len(missing) > 0 {
		warnings = append(warnings, "not in the operator tables, so by formula: "+
			strings.Join(missing, ", "))
	}
	var sources []string
	for _, from := range slices.Sorted(maps.Keys(c.tables.read)) {
		sources = append(sources, strings.Join(c.tables.read[from], ", ")+" of "+from)
	}
	if len(sources) > 0 {
		warnings = append(warnings, "operator tables: "+strings.Join(sources, "; "))
	}
	if len(c.tables.skipped) > 0 {
		warnings = append(warnings, "operator tables that were not read: "+
			strings.Join(c.tables.skipped, ", "))
	}
	return append(warnings, c.tables.notes...)
}
