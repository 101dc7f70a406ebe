package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
)

// exchangeCosts predicts what accelerators take to exchange data. It does not change, except for
// what its tables record.
type exchangeCosts struct {
	*setup
	tables *lookup
}

// squareBytes is the size of the sums of squares of a token's queries and keys, two numbers in 32
// bits.
const squareBytes = 8

// stepAllReduce returns the seconds to sum a vector over the ranks of tensor parallelism, within a
// step of the given tokens.
func (c *exchangeCosts) stepAllReduce(bytes float64, tokens int) float64 {
	tp := c.cfg.Parallel.Tensor
	seconds := c.allReduce(bytes, tp)
	if tokens > c.engine.Graph {
		seconds = max(seconds, float64(c.engine.AllReduce)) +
			float64(c.engine.Skew)*math.Log2(float64(tp))
	}
	return seconds
}

// communication returns the operator of count exchanges that each send bytes in so many seconds.
func (c *exchangeCosts) communication(name string, count, bytes, seconds float64) Operator {
	seconds *= or1(c.cfg.Factors.Exchanges)
	o := undivided(name, times(count, seconds), Network)
	o.Count, o.Sent = count, count*bytes
	return o
}

// allReduce returns the seconds to sum a vector of the given bytes over ranks accelerators. A group
// larger than a node sums within nodes, then around rings through all accelerators, so that
// 2(ranks−1)/ranks of the vector leave each node (nccl-tests, PERFORMANCE.md: "bus bandwidth"), in
// equal parts through its ports.
func (c *exchangeCosts) allReduce(bytes float64, ranks int) float64 {
	if seconds, ok := c.tables.reduce(ranks, bytes, c.engine.CustomAllReduce); ok {
		return seconds
	} else if c.tables.reduces(ranks) {
		c.tables.record("all-reduce", "bytes", bytes)
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
func (c *exchangeCosts) leaving(accelerators int) float64 {
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
// Two ranks always have the one-shot kernel (vLLM and SGLang, custom_all_reduce.cuh; TensorRT-LLM,
// allreducePlugin.cpp).
func sum(link *hardware.Link, k *hardware.Collective, bytes float64, ranks int,
	custom bool) float64 {
	wire := bytes / link.Bandwidth
	t := min(k.Library.Seconds(ranks, ring(ranks, wire)), k.Bulk.Seconds(ranks, ring(ranks, wire)))
	if custom {
		t = min(t, k.OneShot.Seconds(ranks, float64(ranks-1)*wire))
		if ranks > 2 {
			t = min(t, k.TwoShot.Seconds(ranks, ring(ranks, wire)))
		}
	}
	return t
}

// gatherLogits returns the gathering of the logits of all ranks.
func (c *exchangeCosts) gatherLogits(bytes float64) Operator {
	// An all-gather sends half of what an all-reduce does.
	return c.communication("gather_logits", 1, bytes, c.allReduce(bytes/2, c.cfg.Parallel.Tensor))
}

// waitForRanks returns the seconds that an exchange takes there and back beyond the link's.
func (c *exchangeCosts) waitForRanks() float64 {
	if wide := c.engine.WideExchange; wide > 0 && c.ranks > 8 {
		return float64(wide)
	}
	return float64(c.engine.Exchange)
}

// exchange returns the seconds in which an accelerator sends its tokens, of the given bytes, to
// the ones that have their experts, and the bytes that it sends. A token with k experts goes to
// n·(1−(1−1/n)^k) of n accelerators, in expectation, once each; to each other node it crosses the
// network once, and is forwarded there (DeepSeek-V3, arXiv:2412.19437, section 3.2.2). Both links
// work at the same time.
func (c *exchangeCosts) exchange(bytes float64) (seconds, sent float64) {
	n := c.cfg.Parallel.Expert
	perNode := min(n, max(1, c.cfg.Accelerator.PerNode))
	visited := func(of int) float64 { // the chance that a token goes to one of n groups
		return 1 - math.Pow(1-1/float64(of), float64(c.cfg.Model.Experts().Active))
	}
	if perNode > 1 {
		sent = bytes * visited(n) * float64(n) * float64(perNode-1) / float64(perNode)
		seconds = scatter(&c.constants.ScaleUp, sent/c.cfg.ScaleUp.Bandwidth)
	}
	if nodes := (n + perNode - 1) / perNode; nodes > 1 {
		across := bytes * visited(nodes) * float64(nodes-1)
		seconds = max(seconds,
			scatter(&c.constants.Network, across*float64(perNode)/c.leaving(perNode)))
		sent += across
	}
	return seconds, sent
}

// gather returns the seconds in which each accelerator gets the tokens of all others, of the given
// bytes each, or a part of a sum of them, and the bytes that it sends: half of an all-reduce of all
// tokens.
func (c *exchangeCosts) gather(bytes float64) (seconds, sent float64) {
	n := c.cfg.Parallel.Tensor * c.ranks
	return c.allReduce(bytes*float64(n), n) / 2, bytes * float64(n-1)
}

// scatter returns the seconds to send for so long over a link, to many at once: kernels for that
// reach what the best all-reduce does.
func scatter(k *hardware.Collective, wire float64) float64 {
	return float64(k.Library.Latency)/2 + wire/max(k.Library.Efficiency, k.TwoShot.Efficiency)
}
