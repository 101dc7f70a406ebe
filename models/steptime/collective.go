package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
)

// collectives appends the all-reduces of tensor parallelism, the exchange of tokens between
// data-parallel ranks, and the send to the next pipeline stage.
func (c *Clock) collectives(ops []Operator, tokens int) []Operator {
	if c.engine.Roofline {
		return ops
	}
	vector := float64(tokens) * float64(c.cfg.Model.Hidden) * c.activationBytes
	if c.cfg.Parallel.Tensor > 1 {
		count := c.share(c.cfg.Model.AllReduces())
		if c.ranks > 1 {
			count -= c.expertLayers() // the results of experts come back by all-to-all
		}
		ops = append(ops, c.communication("all_reduce", count, vector,
			c.stepAllReduce(vector, tokens)))
		if norms := c.share(c.cfg.Model.WideNorms()); norms > 0 {
			squares := float64(tokens) * squareBytes
			ops = append(ops, c.communication("all_reduce_squares", norms, squares,
				c.stepAllReduce(squares, tokens)))
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
		ops = append(ops, c.communication("pipeline_send", 1, vector, send))
	}
	return ops
}

// squareBytes is the size of the sums of squares of a token's queries and keys, two numbers in 32
// bits.
const squareBytes = 8

// stepAllReduce returns the seconds to sum a vector over the ranks of tensor parallelism, within a
// step of the given tokens.
func (c *Clock) stepAllReduce(bytes float64, tokens int) float64 {
	tp := c.cfg.Parallel.Tensor
	seconds := c.allReduce(bytes, tp)
	if tokens > c.engine.Graph {
		seconds = max(seconds, float64(c.engine.AllReduce)) +
			float64(c.engine.Skew)*math.Log2(float64(tp))
	}
	return seconds
}

// communication returns the operator of count exchanges that each send bytes in so many seconds.
func (c *Clock) communication(name string, count, bytes, seconds float64) Operator {
	seconds *= or1(c.cfg.Factors.Exchanges)
	o := undivided(name, times(count, seconds), Network)
	o.Count, o.Sent = count, count*bytes
	return o
}

// allReduce returns the seconds to sum a vector of the given bytes over ranks accelerators. A group
// larger than a node sums within nodes, then around rings through all accelerators, so that
// 2(ranks−1)/ranks of the vector leave each node (nccl-tests, PERFORMANCE.md: "bus bandwidth"), in
// equal parts through its ports.
func (c *Clock) allReduce(bytes float64, ranks int) float64 {
	if seconds, ok := c.tables.reduce(ranks, bytes, c.engine.CustomAllReduce); ok {
		return seconds
	} else if c.tables.reduces(ranks) {
		c.outside.note("all-reduce", "bytes", bytes)
	}
	perNode := min(ranks, max(1, c.cfg.Accelerator.PerNode))
	t := 0.0
	if perNode > 1 {
		t = sum(c.cfg.ScaleUp, &c.constants.ScaleUp, bytes, perNode, c.engine.CustomAllReduce &&
			perNode == ranks)
	}
	if nodes := (ranks + perNode - 1) / perNode; nodes > 1 {
		t += c.constants.Network.Library.Seconds(nodes, ring(ranks, bytes/c.leaving(perNode)))
	}
	return t
}

// leaving returns the B/s at which the given number of accelerators of a node send to other nodes
// together.
func (c *Clock) leaving(accelerators int) float64 {
	if c.cfg.Network.Port == "node" {
		return c.cfg.Network.Bandwidth
	}
	return float64(accelerators) * c.cfg.Network.Bandwidth
}

// ring returns the seconds for which each rank of a ring sends, where wire is the seconds that the
// whole vector takes.
func ring(ranks int, wire float64) float64 { return 2 * float64(ranks-1) / float64(ranks) * wire }

// sum returns the seconds of an all-reduce over one link. A ring, and the two-shot kernel, send
// 2(n−1)/n of the vector (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", section 3); the one-shot kernel reads n−1 vectors and waits once less.
func sum(link *hardware.Link, k *hardware.Collective, bytes float64, ranks int,
	custom bool) float64 {
	wire := bytes / link.Bandwidth
	t := min(k.Library.Seconds(ranks, ring(ranks, wire)), k.Bulk.Seconds(ranks, ring(ranks, wire)))
	if custom {
		t = min(t, k.OneShot.Seconds(ranks, float64(ranks-1)*wire),
			k.TwoShot.Seconds(ranks, ring(ranks, wire)))
	}
	return t
}

// gatherLogits returns the gathering of the logits of all ranks.
func (c *Clock) gatherLogits(bytes float64) Operator {
	// An all-gather sends half of what an all-reduce does.
	return c.communication("gather_logits", 1, bytes, c.allReduce(bytes/2, c.cfg.Parallel.Tensor))
}
