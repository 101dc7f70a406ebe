package steptime

import (
	"math"

	"github.com/llmsim/llmsim/models"
)

// routedExperts returns one of the products of the routed experts of tokens tokens, counted over
// all ranks. The busiest of the groups over which the experts are spread sets the pace.
func (c *stage) routedExperts(l *models.Linear, tokens int) Operator {
	k := c.products.expertsFor(tokens)
	rows := float64(l.Active) * float64(tokens)
	copies := c.cfg.Parallel.copies(c.cfg.Model)
	touched := l.Copied(copies).Matrices(l.Active * tokens)
	experts, groups := copies*float64(l.Experts), float64(c.cfg.Parallel.Expert)
	skew, rush := busiestGroup(touched, experts, groups), rowSkew(rows, experts, groups, l.Spread)
	part := 1 / float64(c.ranks) // of the work of all ranks
	flops := part * 2 * rows * float64(l.N) * float64(l.K)
	padded := part * 2 * (rows + touched*k.Tile/2) * float64(l.N) * float64(l.K)
	bytes := part * touched * float64(l.MatrixBytes(c.cfg.Weights))
	width := c.expertWidth()
	compute := rush * padded / (c.products.operand.peak * k.Compute) * (1 + k.Width/width)
	memory := skew * bytes / (c.bandwidth * k.Memory)
	vectors := rows * c.routedPart() * (4*float64(c.cfg.Model.Hidden) + 6*width) / 2
	moved := k.Passes * vectors / c.bandwidth
	fixed := float64(k.Kernel)/2 + moved
	if !c.products.expertsWhole {
		launch, quantised := c.products.quantise(l, c.perRank(tokens))
		fixed += launch + quantised
		moved += quantised
	}
	both := overlap(compute, memory, c.products.expertOverlap)
	n := c.share(l.Count)
	o := kernel(l.Name, n, flops, Traffic{Weights: bytes}, compute, memory, both, fixed).filling(n,
		flops/(c.products.operand.peak*k.Compute))
	if seconds, ok := c.tables.measured(c.tables.layer(c.expertsKey()), "routed experts", "tokens",
		float64(tokens)); ok {
		o.Time = times(c.share(l.Count), seconds/2) // measured for both products together
	}
	o.divideTime(spending{ReadingWeights: n * memory, MovingActivations: n * moved,
		FixedTimes: n * (fixed - moved)})
	return o
}

// busiestGroup returns how much more than the average the busiest of groups has to do when touched
// of n experts, drawn at random, have tokens: the expected maximum of normal variables, mean +
// deviation·√(2·ln groups) (Cramér 1946, section 28.6), where the deviation belongs to the experts
// touched in one group, and never more than all experts of the group.
func busiestGroup(touched, n, groups float64) float64 {
	if groups <= 1 {
		return 1
	}
	mean := touched / groups
	deviation := math.Sqrt(mean * (1 - touched/n) * (1 - 1/groups))
	return min(mean+deviation*math.Sqrt(2*math.Log(groups)), n/groups) / mean
}

// rowSkew returns how many more rows than the average the busiest of groups has to compute, of so
// many rows for n experts that are not equally popular: the expected maximum as above, of shares
// that vary with the popularities of a group's experts, by the router's spread, and by chance. Over
// more than eight groups popular experts are taken to have copies, so that chance alone is left
// (EPLB, DeepSeek-V3, arXiv:2412.19437, section 3.4).
func rowSkew(rows, n, groups, spread float64) float64 {
	if groups <= 1 {
		return 1
	}
	if groups > 8 {
		spread = 0
	}
	variance := (float64(spread*spread*groups/n) + groups/rows) * (1 - 1/groups)
	return min(1+math.Sqrt(variance*2*math.Log(groups)), groups)
}

// expertsKey names the routed experts of the model as tables do.
func (c *stage) expertsKey() expertsKey {
	m, p := c.cfg.Model.Experts(), c.cfg.Parallel
	weights, operand := sixteen(c.cfg.Weights), sixteen(c.products.operand.format)
	return expertsKey{weights, operand, c.cfg.Model.Hidden, m.Intermediate, m.Active, m.Experts,
		p.Tensor / p.Expert, p.Expert}
}
