package steptime

import (
	"math"

	"github.com/llmsim/llmsim/sim"
)

// hostCosts predicts the host's part in the steps of a stage: floor <= step time - serial, before a
// slowdown. Times are in ticks, on this host, at least 0. newHostCosts sets the times of launches,
// which do not change; the memos remember what they were asked for, so that each fork has its own.
type hostCosts struct {
	*setup
	// launch and launchPrompt are the times in which the host launches a step without and with
	// prompts, and launchPieces the time for a captured step with prompts.
	launch, launchPrompt, launchPieces sim.Time
	// scheduling has the time that the host takes to schedule a step, by the number of sequences,
	// and serial the time for which the accelerators wait for the host after a step. Only with
	// Engine.Lookahead does scheduling overlap the step, and so bound it.
	scheduling, serial memo
}

func newHostCosts(s *stage) hostCosts {
	c := hostCosts{setup: s.setup}
	step, prompt := or1(s.cfg.Factors.Step), float64(s.engine.LaunchPrompt)
	c.launch = s.onHost(step * (s.kernelsOfStep(false) * float64(s.engine.Launch)))
	c.launchPieces = s.onHost(step * (s.attention.piecesOfStep() * prompt))
	c.launchPrompt = s.onHost(step * (s.kernelsOfStep(true)*prompt +
		s.attention.latentLayers*float64(s.engine.LaunchLatent)))
	return c.fresh()
}

// fresh returns the costs without what they remember of steps.
func (c *hostCosts) fresh() hostCosts {
	own, s := *c, c.setup
	own.scheduling = memo{fill: func(sequences int) sim.Time {
		return s.onHost(s.hostWork(sequences))
	}}
	own.serial = memo{fill: func(sequences int) sim.Time { return s.onHost(s.hostWait(sequences)) }}
	return own
}

// captured returns the largest total context of n decoding sequences that captured graphs are for.
func (c *hostCosts) captured(n int) int64 {
	if c.engine.GraphContext == 0 {
		return math.MaxInt64
	}
	return int64(n) * int64(c.engine.GraphContext)
}

// floor returns the time that the host needs for a step of the given tokens and sequences, to
// launch it and to schedule the next one. A step cannot be shorter. Its contexts are too long for
// captured graphs if long is true.
func (c *hostCosts) floor(tokens, sequences int, prompts, long bool) sim.Time {
	var floor sim.Time
	switch captured := tokens <= c.engine.Graph && !long; {
	case captured && !prompts:
	case captured && !c.engine.EagerPrompts:
		floor = c.launchPieces
	case prompts:
		floor = c.launchPrompt
	default:
		floor = c.launch
	}
	if c.engine.Lookahead > 0 {
		floor = max(floor, c.scheduling.at(sequences))
	}
	return floor
}

// Kernels that are launched beside products, element-wise kernels and attention.
const (
	// routingKernels choose the experts of each token and sort the tokens by expert, in two kernels
	// (vllm/model_executor/layers/fused_moe/fused_moe.py, v0.15).
	routingKernels = 3
	// chunkKernels are the kernels of linear attention over chunks of a prompt, beside the one that
	// decodes: the convolution and gates, two norms, six for the chunks
	// (fla-org/flash-linear-attention, fla/ops/gated_delta_rule/chunk.py, v0.3), and four that
	// gather, clear, convert and store the states (vllm/model_executor/models/qwen3_next.py,
	// v0.15).
	chunkKernels = 14
)

// kernelsOfStep returns the number of kernels that the stage's layers launch in a step, with
// prompts or without.
func (c *stage) kernelsOfStep(prompts bool) float64 {
	n := routingKernels * c.expertLayers()
	for i := range c.linear {
		if l := &c.linear[i]; !l.Fused {
			n += c.share(l.Count)
		}
	}
	for i := range c.pointwise {
		n += c.launches(&c.pointwise[i])
	}
	for i := range c.attention.kinds {
		n += c.attention.kinds[i].count
		if prompts && c.attention.kinds[i].Recurrent != "" {
			n += chunkKernels * c.attention.kinds[i].count
		}
	}
	for _, o := range c.collectives(nil, 1) {
		n += o.Count
	}
	return n
}

// piecesOfStep returns the number of launches of a captured step with prompts. What is captured are
// the pieces between the attention of one layer and of the next: the host launches each piece, and
// the kernels of attention, whose shapes depend on the prompts (vllm/compilation/backends.py,
// splitting_ops, v0.15).
func (c *attentionCosts) piecesOfStep() float64 {
	n := 0.0
	for i := range c.kinds {
		n += 2 * c.kinds[i].count
		if c.kinds[i].Recurrent != "" {
			n += chunkKernels * c.kinds[i].count
		}
	}
	return n
}
