package steptime

import "github.com/llmsim/llmsim/sim"

// hostFloor returns the time that the host needs for a step of the given tokens and sequences, to
// launch it and to schedule the next one. A step cannot be shorter.
func (c *Clock) hostFloor(tokens, sequences int, prompts bool) sim.Time {
	var floor sim.Time
	switch captured := tokens <= c.engine.Graph; {
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

// findHostTimes prepares the times that the host takes.
func (c *Clock) findHostTimes() {
	step := or1(c.cfg.Factors.Step)
	c.launch = c.host(step * (c.kernelsOfStep(false) * float64(c.engine.Launch)))
	c.launchPieces = c.host(step * (c.piecesOfStep() * float64(c.engine.LaunchPrompt)))
	c.launchPrompt = c.host(step * (c.kernelsOfStep(true)*float64(c.engine.LaunchPrompt) +
		c.latentLayers*float64(c.engine.LaunchLatent)))
}

// host returns the time that this host takes for what the constants say in seconds.
func (c *Clock) host(seconds float64) sim.Time { return sim.Seconds(seconds * c.constants.Host) }

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
func (c *Clock) kernelsOfStep(prompts bool) float64 {
	n := routingKernels * c.expertLayers()
	for i := range c.linear {
		if l := &c.linear[i]; !l.Fused {
			n += c.share(l.Count)
		}
	}
	for i := range c.pointwise {
		n += c.launches(&c.pointwise[i])
	}
	for i := range c.attention {
		n += c.attention[i].count
		if prompts && c.attention[i].Recurrent != "" {
			n += chunkKernels * c.attention[i].count
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
func (c *Clock) piecesOfStep() float64 {
	n := 0.0
	for i := range c.attention {
		n += 2 * c.attention[i].count
		if c.attention[i].Recurrent != "" {
			n += chunkKernels * c.attention[i].count
		}
	}
	return n
}

// wait returns the seconds for which the accelerators wait for the reference host in a step of the
// given sequences.
func (c *Clock) wait(sequences int) float64 {
	f := &c.cfg.Factors
	wait := or1(f.Step)*float64(c.engine.Step) +
		or1(f.Sequence)*(float64(sequences)*float64(c.engine.Sequence))
	if c.engine.Lookahead == 0 {
		wait += c.hostWork(sequences)
	}
	return wait
}

// hostWork returns the seconds in which the reference host schedules a step of the given sequences
// and handles what comes out.
func (c *Clock) hostWork(sequences int) float64 {
	f := &c.cfg.Factors
	return or1(f.Step)*float64(c.engine.HostStep) +
		or1(f.Sequence)*(float64(sequences)*float64(c.engine.HostSequence))
}

// Handover returns the host's time that delays the first token of a request that continues at
// another replica.
func (c *Clock) Handover() sim.Time {
	return sim.Seconds(float64(c.engine.Handover) * c.constants.Host)
}

// RequestLatency returns the host's time that delays the first token of a request, without steps:
// what a request takes, and what each token of its prompt takes in addition. Engines without
// requests have neither.
func (c *Clock) RequestLatency() (request, token sim.Time) {
	if c.engine.Request == 0 {
		return 0, 0
	}
	factor := or1(c.cfg.Factors.Request) * c.constants.Host
	return sim.Seconds(factor * float64(c.engine.Request)),
		sim.Seconds(factor * c.cfg.Model.Tokenise())
}
