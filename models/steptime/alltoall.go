package steptime

import (
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// allToAll appends the exchange of the tokens of a rank with the accelerators that have their
// experts, there (dispatch, in the number format of the products) and back (combine, as
// activations), once a layer each (GShard, arXiv:2006.16668). Where each expert is split over all
// accelerators, all of them get all tokens, and sum what comes out: an all-gather and a
// reduce-scatter, both of activations.
func (c *Clock) allToAll(ops []Operator, tokens int) []Operator {
	vectors := float64(tokens) / float64(c.cfg.Parallel.Tensor) * float64(c.cfg.Model.Hidden)
	for _, way := range []struct {
		name  string
		bytes float64
	}{{"dispatch", vectors * bytesOf(c.operand.format)}, {"combine", vectors * c.activationBytes}} {
		seconds, sent := c.exchange(way.bytes)
		if c.cfg.Parallel.Expert == 1 {
			seconds, sent = c.gather(vectors * c.activationBytes)
		}
		seconds += c.waitForRanks() / 2
		ops = append(ops, c.communication(way.name, c.expertLayers(), sent, seconds))
	}
	return ops
}

// waitForRanks returns the seconds that an exchange takes there and back beyond the link's.
func (c *Clock) waitForRanks() float64 {
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
func (c *Clock) exchange(bytes float64) (seconds, sent float64) {
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

// twoBatchOverlap is the part of the shorter of exchange and everything else that goes on beside
// the other. SGLang computes 27 to 35 % more prompt tokens so, with DeepSeek-V3 on 32 H100 (LMSYS,
// Deploying DeepSeek with PD Disaggregation and Large-scale Expert Parallelism on 96 H100 GPUs, May
// 2025, ablation study), where the exchange is a third of what is predicted.
const twoBatchOverlap = 0.7

// overlapped returns how much of the exchange of the given tokens of a rank is hidden in a step
// with prompts that would take so long.
func (c *Clock) overlapped(whole sim.Time, tokens int) sim.Time {
	if !c.cfg.Parallel.TwoBatch || tokens == 0 {
		return 0
	}
	exchange := c.byExchanged.at(tokens)
	return sim.Time(twoBatchOverlap * float64(min(exchange, whole-exchange)))
}

// gather returns the seconds in which each accelerator gets the tokens of all others, of the given
// bytes each, or a part of a sum of them, and the bytes that it sends: half of an all-reduce of all
// tokens.
func (c *Clock) gather(bytes float64) (seconds, sent float64) {
	n := c.cfg.Parallel.Tensor * c.ranks
	return c.allReduce(bytes*float64(n), n) / 2, bytes * float64(n-1)
}

// scatter returns the seconds to send for so long over a link, to many at once: kernels for that
// reach what the best all-reduce does.
func scatter(k *hardware.Collective, wire float64) float64 {
	return float64(k.Library.Latency)/2 + wire/max(k.Library.Efficiency, k.TwoShot.Efficiency)
}
