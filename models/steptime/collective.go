package steptime

import "github.com/llmsim/llmsim/hardware"

// collectives appends the all-reduces of tensor parallelism and the send to the next pipeline stage.
func (c *Clock) collectives(ops []Operator, tokens int) []Operator {
	if c.engine.Roofline {
		return ops
	}
	vector := float64(tokens) * float64(c.cfg.Model.Hidden) * c.activationBytes
	if tp := c.cfg.Parallel.Tensor; tp > 1 {
		count := c.share(c.cfg.Model.AllReduces())
		seconds := c.allReduce(vector, tp)
		if tokens > c.engine.Graph {
			seconds = max(seconds, float64(c.engine.AllReduce))
		}
		ops = append(ops, c.communication("all_reduce", count, vector, seconds))
	}
	if c.cfg.Parallel.Pipeline > 1 {
		link, k := c.cfg.ScaleUp, &c.constants.ScaleUp
		if c.crossesNodes || link == nil {
			link, k = c.cfg.Network, &c.constants.Network
		}
		send := float64(k.Library.Latency) + vector/(link.Bandwidth*k.Library.Efficiency)
		ops = append(ops, c.communication("pipeline_send", 1, vector, send))
	}
	return ops
}

func (c *Clock) communication(name string, count, bytes, seconds float64) Operator {
	return Operator{Name: name, Bytes: count * bytes, Time: times(count, seconds), Bound: Network}
}

// allReduce returns the seconds to sum a vector of so many bytes over ranks accelerators. A group larger than a node reduces
// within nodes and across them: each accelerator of a node sums its part over the network (hierarchical all-reduce, NCCL's tree of
// rings).
func (c *Clock) allReduce(bytes float64, ranks int) float64 {
	if seconds, ok := c.tables.reduce(ranks, bytes); ok && c.engine.CustomAllReduce {
		return seconds
	}
	perNode := min(ranks, max(1, c.cfg.Accelerator.PerNode))
	t := 0.0
	if perNode > 1 {
		t = sum(c.cfg.ScaleUp, &c.constants.ScaleUp, bytes, perNode, c.engine.CustomAllReduce && perNode == ranks)
	}
	if nodes := (ranks + perNode - 1) / perNode; nodes > 1 {
		t += sum(c.cfg.Network, &c.constants.Network, bytes/float64(perNode), nodes, false)
	}
	return t
}

// sum returns the seconds of an all-reduce over one link. A ring, and the two-shot kernel, send 2(n−1)/n of the vector (Patarasuk
// and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations", section 3); the one-shot kernel reads
// n−1 vectors and waits once less.
func sum(link *hardware.Link, k *hardware.Collective, bytes float64, ranks int, custom bool) float64 {
	n, wire := float64(ranks), bytes/link.Bandwidth
	ring := 2 * (n - 1) / n * wire
	t := k.Library.Seconds(ranks, ring)
	if custom {
		t = min(t, k.OneShot.Seconds(ranks, (n-1)*wire), k.TwoShot.Seconds(ranks, ring))
	}
	return t
}

// gatherLogits returns the gathering of the logits of all ranks.
func (c *Clock) gatherLogits(bytes float64) Operator {
	// An all-gather sends half of what an all-reduce does.
	return c.communication("gather_logits", 1, bytes, c.allReduce(bytes/2, c.cfg.Parallel.Tensor))
}
