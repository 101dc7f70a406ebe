package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// tokenOperators appends the operators whose cost depends on numbers of tokens alone: the matrix
// products of the layers, element-wise kernels, collectives and the send to the next pipeline
// stage, for the tokens of a rank, and the routed experts, for the tokens of all ranks. Without
// tokens, either is left out.
func (c *Clock) tokenOperators(ops []Operator, tokens, routed int) []Operator {
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
		gaps.spend(spending{})
		ops = append(ops, gaps)
	}
	return ops
}

// product returns a matrix product of m rows.
func (c *Clock) product(l *models.Linear, m int) Operator {
	flops := 2 * float64(m) * float64(l.N) * float64(l.K)
	r := c.rateOf(l)
	padded := (2*roundUp(m, c.constants.Linear.Tile) + c.widening(l, r)) * float64(l.N) * float64(
		l.K)
	bytes := float64(l.MatrixBytes(c.cfg.Weights))
	compute, memory := padded/(r.peak*r.efficiency), bytes/(c.bandwidth*r.memory)
	launch, moved := c.quantise(l, m)
	both, fixed := overlap(compute, memory, r.overlap), r.kernel+(launch+moved)
	if l.Fused {
		fixed, moved = 0, 0
	}
	n := c.share(l.Count)
	o := kernel(l.Name, n, flops, Traffic{Weights: bytes}, compute, memory, both, fixed).filling(n,
		flops/(r.peak*r.efficiency))
	if seconds, ok := c.measured(c.productTables[l], l.Name, "tokens", float64(m)); ok {
		o.Time = times(c.share(l.Count), seconds)
	}
	o.spend(spending{ReadingWeights: n * memory, MovingActivations: n * moved,
		FixedTimes: n * (fixed - moved)})
	return o
}

// widening returns the FLOP that it takes to bring a weight to the wider format in which the
// product is computed.
func (c *Clock) widening(l *models.Linear, r *peakRate) float64 {
	if l.Quantised && l.Format(c.cfg.Weights).DType != r.format && bytesOf(r.format) >= 2 &&
		c.cfg.Weights != c.cfg.Activations {
		return c.engine.Widening
	}
	return 0
}

// rateOf returns the rates of the format in which the product is computed.
func (c *Clock) rateOf(l *models.Linear) *peakRate {
	switch d := c.formatOf(l); {
	case !l.Quantised || l.Format(c.cfg.Weights).WeightOnly:
		return &c.wide
	case d == c.cfg.Weights:
		return &c.operand
	default:
		return c.byFormat[d]
	}
}

// findRates finds the rates of products of matrices that are stored in other formats than most.
func (c *Clock) findRates() error {
	c.byFormat = map[hardware.DType]*peakRate{}
	for i := range c.linear {
		l := &c.linear[i]
		d := c.formatOf(l)
		if !l.Quantised || d == c.cfg.Weights || c.byFormat[d] != nil {
			continue
		}
		r, err := c.peakRate(d)
		if err != nil {
			return err
		}
		c.byFormat[d] = &r
	}
	return nil
}

// quantise returns the seconds to bring the activations of m rows to the number format of the
// weights, where that is what the product computes in: the fixed time of a kernel, and the time in
// which they are read and written once.
func (c *Clock) quantise(l *models.Linear, m int) (launch, moved float64) {
	r := c.rateOf(l)
	if r.format == c.wide.format || c.engine.Roofline || c.fusesQuantise(l) {
		return 0, 0
	}
	k := &c.constants.Elementwise
	bytes := float64(m) * float64(l.K) * (c.activationBytes + bytesOf(r.format))
	return max(float64(k.Kernel), r.blocks), bytes / (c.bandwidth * k.Memory)
}

// fusesQuantise reports whether the kernel before the product brings its activations to the format.
func (c *Clock) fusesQuantise(l *models.Linear) bool {
	return c.engine.FusedQuantise && l.Format(c.cfg.Weights).DType == hardware.FP8
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

// routedExperts returns one of the products of the routed experts of tokens tokens, counted over
// all ranks. The busiest of the groups over which the experts are spread sets the pace.
func (c *Clock) routedExperts(l *models.Linear, tokens int) Operator {
	k := &c.experts
	rows := float64(l.Active) * float64(tokens)
	copies := c.cfg.Parallel.copies(c.cfg.Model)
	touched := l.Copied(copies).Matrices(l.Active * tokens)
	experts, groups := copies*float64(l.Experts), float64(c.cfg.Parallel.Expert)
	skew, rush := busiest(touched, experts, groups), crowded(rows, experts, groups)
	part := 1 / float64(c.ranks) // of the work of all ranks
	flops := part * 2 * rows * float64(l.N) * float64(l.K)
	padded := part * 2 * (rows + touched*k.Tile/2) * float64(l.N) * float64(l.K)
	bytes := part * touched * float64(l.MatrixBytes(c.cfg.Weights))
	width := c.expertWidth()
	compute := rush * padded / (c.operand.peak * k.Compute) * (1 + k.Width/width)
	memory := skew * bytes / (c.bandwidth * k.Memory)
	vectors := rows * c.routedPart() * (4*float64(c.cfg.Model.Hidden) + 6*width) / 2
	moved := k.Passes * vectors / c.bandwidth
	fixed := float64(k.Kernel)/2 + moved
	if !c.expertsWhole {
		launch, quantised := c.quantise(l, c.rank(tokens))
		fixed += launch + quantised
		moved += quantised
	}
	both := overlap(compute, memory, c.expertOverlap)
	n := c.share(l.Count)
	o := kernel(l.Name, n, flops, Traffic{Weights: bytes}, compute, memory, both, fixed).filling(n,
		flops/(c.operand.peak*k.Compute))
	if seconds, ok := c.measured(c.tables.layer(c.expertsKey()), "routed experts", "tokens",
		float64(tokens)); ok {
		o.Time = times(c.share(l.Count), seconds/2) // measured for both products together
	}
	o.spend(spending{ReadingWeights: n * memory, MovingActivations: n * moved,
		FixedTimes: n * (fixed - moved)})
	return o
}

// routedPart returns the part of the rows of routed experts that an accelerator has: all of them
// where it has a slice of each expert.
func (c *Clock) routedPart() float64 {
	if c.cfg.Parallel.Expert == 1 {
		return 1
	}
	return 1 / float64(c.ranks)
}

// expertWidth returns how much of an expert's intermediate vector one accelerator has.
func (c *Clock) expertWidth() float64 {
	p := c.cfg.Parallel
	return float64(c.cfg.Model.Experts().Intermediate) * float64(p.Expert) / float64(
		p.Tensor*p.Data)
}

// busiest returns how much more than the average the busiest of groups has to do when touched of n
// experts, drawn at random, have tokens: the expected maximum of normal variables, mean +
// deviation·√(2·ln groups) (Cramér 1946, section 28.6), where the deviation belongs to the experts
// touched in one group, and never more than all experts of the group.
func busiest(touched, n, groups float64) float64 {
	if groups <= 1 {
		return 1
	}
	mean := touched / groups
	deviation := math.Sqrt(mean * (1 - touched/n) * (1 - 1/groups))
	return min(mean+deviation*math.Sqrt(2*math.Log(groups)), n/groups) / mean
}

// crowded returns how many more rows than the average the busiest of groups has to compute, of so
// many rows for n experts that are not equally popular: the expected maximum as above, of shares
// that vary with the popularities of a group's experts and by chance. Over more than eight groups
// popular experts are taken to have copies, so that chance alone is left (EPLB, DeepSeek-V3,
// arXiv:2412.19437, section 3.4).
func crowded(rows, n, groups float64) float64 {
	if groups <= 1 {
		return 1
	}
	spread := models.PopularitySpread
	if groups > 8 {
		spread = 0
	}
	variance := (float64(spread*spread*groups/n) + groups/rows) * (1 - 1/groups)
	return min(1+math.Sqrt(variance*2*math.Log(groups)), groups)
}

// elementwise appends norms, rotations and activations.
func (c *Clock) elementwise(ops []Operator, tokens int) []Operator {
	if c.engine.Roofline {
		return ops
	}
	k := &c.constants.Elementwise
	var bytes, kernels float64
	for _, e := range c.pointwise {
		if c.expertsWhole && (e.Name == models.ExpertActivation || e.Name == models.ExpertCombine) {
			continue
		}
		kernels += c.launches(&e)
		bytes += c.share(e.Count) * float64(tokens) * float64(e.Elements) * c.activationBytes
	}
	if c.narrowCache() { // queries are brought to the number format of the cache
		kernels += c.layers
		for i := range c.attention {
			bytes += c.attention[i].count * float64(tokens) * c.attention[i].IOBytes / 2 * (1 +
				bytesOf(c.cfg.KV)/c.activationBytes)
		}
	}
	memory := c.activationFactor() * bytes / (c.bandwidth * k.Memory)
	return append(ops, moving("elementwise", bytes, memory, kernels*float64(k.Kernel)))
}

// launches returns the number of times that the stage launches an element-wise kernel in a step.
// The norms that follow all-reduces may be theirs.
func (c *Clock) launches(e *models.ElementwiseKernel) float64 {
	n := c.share(e.Count)
	if e.Name == models.Norm && c.engine.FusedAllReduce && c.cfg.Parallel.Tensor > 1 {
		n = max(0, n-c.share(c.cfg.Model.AllReduces()-1))
	}
	return n
}

// headOperators appends the output head and sampling for the given number of rows.
func (c *Clock) headOperators(ops []Operator, rows int) []Operator {
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
		ops = append(ops, c.gatherLogits(logits*c.activationBytes))
	}
	bytes := logits * 4 * k.Passes
	memory := bytes / c.bandwidth
	return append(ops, moving("sampling", bytes, memory, float64(k.Kernel)))
}

// moving returns an operator that moves activations of the given bytes in so many seconds, and has
// a fixed time.
func moving(name string, bytes, memory, fixed float64) Operator {
	o := kernel(name, 1, 0, Traffic{Activations: bytes}, 0, memory, memory, fixed)
	o.spend(spending{MovingActivations: memory, FixedTimes: fixed})
	return o
}

// activationFactor returns what a factor on memory traffic must be multiplied by for activations:
// they grow with the tokens of prompts, and go with the factor on these.
func (c *Clock) activationFactor() float64 {
	f := &c.cfg.Factors
	return or1(f.Prompts) / or1(f.Memory)
}
