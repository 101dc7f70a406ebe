package steptime

import (
	"math"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// attention is the cost of the attention kernels of alike layers of the stage.
type attention struct {
	models.Attention
	count float64
	// perContext is the time for each token of context in all of the layers, perQuery for each query token.
	perContext, perQuery sim.Time
}

// newAttention prices one kind of layer.
func (c *Clock) newAttention(l models.Attention) attention {
	a := attention{Attention: l, count: c.share(l.Count)}
	k := &c.constants.Attention
	perContext := overlap(l.DecodeFLOPs/(c.wide.peak*k.DecodeCompute), l.KVBytes/(c.bandwidth*k.DecodeMemory), math.Inf(1))
	a.perContext = times(a.count, perContext)
	if !c.engine.Roofline {
		a.perQuery = times(a.count, (l.KVBytes+l.IOBytes)/(c.bandwidth*k.DecodeMemory))
	}
	return a
}

// decode returns the time that n sequences need to attend to a total context with tokens queries.
func (a *attention) decode(n, tokens int, context int64) sim.Time {
	if bend := a.BendsAt(n); bend > 0 {
		context = min(context, bend)
	}
	return a.perQuery*sim.Time(tokens) + a.perContext*sim.Time(context)
}

// decodeOperator describes the attention of the sequences that decode.
func (c *Clock) decodeOperator(a *attention, s *sim.Step) Operator {
	w := a.Decode(s.Decodes, s.DecodeTokens, s.Context)
	k := &c.constants.Attention
	o := kernel("attention_decode", a.count, w.FLOPs, w.KVRead+w.KVWritten, w.FLOPs/(c.wide.peak*k.DecodeCompute), w.KVRead/(c.bandwidth*k.DecodeMemory), 0, float64(k.DecodeKernel))
	o.Time = times(a.count, float64(k.DecodeKernel)) + a.decode(s.Decodes, s.DecodeTokens, s.Context)
	return o
}

// prefill returns the time that a chunk of n tokens after cached ones needs in all of the layers: arithmetic, then moving queries,
// keys, values and outputs.
func (c *Clock) prefill(a *attention, n, cached int) sim.Time {
	k := &c.constants.Attention
	w := a.Prefill(n, cached)
	compute := w.FLOPs / (c.wide.peak * k.PrefillCompute)
	if c.engine.Roofline {
		return times(a.count, max(compute, w.KVRead/c.bandwidth))
	}
	return times(a.count, compute+(w.KVRead+w.IO)/(c.bandwidth*k.PrefillMemory))
}

// prefillOperator describes the attention of the prompt chunks of a step.
func (c *Clock) prefillOperator(a *attention, s *sim.Step) Operator {
	k := &c.constants.Attention
	var flops, read float64
	t := times(a.count, float64(k.PrefillKernel))
	for i := range s.Prefill {
		w := a.Prefill(s.Prefill[i].Rows(), s.Prefill[i].Cached)
		flops += w.FLOPs
		read += w.KVRead
		t += c.prefill(a, s.Prefill[i].Rows(), s.Prefill[i].Cached)
	}
	o := kernel("attention_prefill", a.count, flops, read, flops/(c.wide.peak*k.PrefillCompute), read/(c.bandwidth*k.PrefillMemory), 0, float64(k.PrefillKernel))
	o.Time = t
	return o
}
