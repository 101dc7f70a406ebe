package steptime

import "github.com/llmsim/llmsim/sim"

// adapterOperator returns the two grouped products that each adapted matrix takes in a step of some
// tokens of some sequences: to the rank and back. They read the weights of each adapter in the
// batch once (Chen et al., Punica, arXiv:2310.18547, section 4; Sheng et al., S-LoRA, section 6),
// at the rates of other products, and each costs what a kernel does at least.
func (c *Clock) adapterOperator(tokens, sequences int) Operator {
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
		compute := flops / (c.wide.peak * c.wide.efficiency)
		memory := bytes / (c.bandwidth * c.wide.memory)
		longer += n * max(compute, memory)
		reading += n * memory
		kernels += n * 2 * a.products(l)
		o.FLOPs += n * flops
		o.Weights += n * bytes
	}
	o.Time = times(1, longer+kernels*c.wide.kernel)
	o.spend(spending{ReadingWeights: reading, FixedTimes: kernels * c.wide.kernel})
	return o
}

// adapt returns the time of the adapters' products.
func (c *Clock) adapt(tokens, sequences int) sim.Time {
	if c.cfg.Adapters.Count == 0 || tokens == 0 {
		return 0
	}
	return c.adapterOperator(tokens, sequences).Time
}

// differentAdapters returns Adapters.distinct, which takes a while for many adapters, from memory.
func (c *Clock) differentAdapters(n int) float64 {
	for n >= len(c.different) {
		c.different = append(c.different, -1)
	}
	if c.different[n] < 0 {
		c.different[n] = c.cfg.Adapters.distinct(n)
	}
	return c.different[n]
}
