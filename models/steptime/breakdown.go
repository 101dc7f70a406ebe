package steptime

import "github.com/llmsim/llmsim/sim"

// Breakdown returns the operators of step s, in the slowest pipeline stage and on one of its
// accelerators. Their times sum to Duration.
func (c *Clock) Breakdown(s *sim.Step) Ledger {
	if c.cfg.Given != nil {
		return Ledger{undivided("given", c.Duration(s), Unknown)}
	}
	if n, context, ok := decoding(s); ok {
		s = &sim.Step{Decodes: n, DecodeTokens: n, Context: context}
	}
	l := c.busiest(s)
	ops := c.tokenOperators(nil, l.tokens, l.routed)
	ops = c.attentionOperators(ops, s)
	ops = c.headOperators(ops, l.rows)
	hide(ops, c.overlapped(total(ops), l.tokens))
	for i := range ops {
		ops[i].take(c.mixed(ops[i].Time, s))
	}
	if t := c.encode(s); t > 0 {
		encode := undivided("encode_images", t, Compute)
		encode.FLOPs = float64(c.encoded(s)) * c.images.flops
		ops = append(ops, encode)
	}
	if c.cfg.Adapters.Count > 0 {
		ops = append(ops, c.adapterOperator(l.tokens, l.sequences))
	}
	if wait := c.hostFloor(l.tokens, l.sequences, len(s.Prefill) > 0) - total(ops); wait > 0 &&
		l.sequences > 0 {
		ops = append(ops, undivided("launch", wait, Host))
	}
	if rest := c.predicted(s) - total(ops); rest > 0 {
		ops = append(ops, undivided("host", rest, Host))
	}
	for i := range ops {
		ops[i].take(c.slowed(ops[i].Time))
	}
	return Ledger(ops).summingTo(c.Duration(s))
}

// hide takes what goes on beside other operators from the exchange between ranks, last first.
func hide(ops []Operator, hidden sim.Time) {
	for i := len(ops) - 1; i >= 0; i-- {
		if o := &ops[i]; o.Name == "dispatch" || o.Name == "combine" {
			part := min(hidden, o.Time)
			o.take(o.Time - part)
			hidden -= part
		}
	}
}
