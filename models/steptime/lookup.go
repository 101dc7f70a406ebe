package steptime

import "github.com/llmsim/llmsim/sim"

// measured returns the seconds that a table has for a count, and notes counts outside the table.
func (c *Clock) measured(table curve, operator, unit string, count float64) (seconds float64,
	ok bool) {
	seconds, ok = table.at(count)
	if !ok && len(table) > 0 {
		c.outside.note(operator, unit, count)
	}
	return seconds, ok
}

// attentionKey names the attention of the model's layers on one accelerator.
func (c *Clock) attentionKey() attentionKey {
	if len(c.attention) == 0 {
		return attentionKey{}
	}
	l := &c.attention[0].Attention
	if l.Latent {
		return attentionKey{heads: l.Heads, kv: sixteen(c.cfg.KV)}
	}
	return attentionKey{l.Heads, l.KVHeads, l.HeadDim, sixteen(c.cfg.KV)}
}

// expertsKey names the routed experts of the model as tables do.
func (c *Clock) expertsKey() expertsKey {
	m, p := c.cfg.Model.Experts(), c.cfg.Parallel
	weights, operand := sixteen(c.cfg.Weights), sixteen(c.operand.format)
	return expertsKey{weights, operand, c.cfg.Model.Hidden, m.Intermediate, m.Active, m.Experts,
		p.Tensor / p.Expert, p.Expert}
}

// decode returns the form of decode attention for n sequences: measured points joined by straight
// lines, and the formula before the first and after the last.
func (t *Tables) decode(c *Clock, n int, formula segment) []segment {
	points := t.contexts(c.attentionKey(), n)
	if len(points) < 2 {
		if t != nil && len(t.decoding[c.attentionKey()]) > 0 {
			c.outside.note("decode attention", "sequences", float64(n))
		}
		return []segment{formula}
	}
	count := c.attention[0].count
	var segments []segment
	for i := range points[1:] {
		from, to := int64(points[i].x)*int64(n), int64(points[i+1].x)*int64(n)
		start, end := times(count, points[i].seconds), times(count, points[i+1].seconds)
		slope := perToken(max(0, (end-start)*fraction/sim.Time(to-from)))
		segments = append(segments, segment{start - slope.times(from), slope, to})
	}
	before, after := formula, formula
	before.through = int64(points[0].x)*int64(n) - 1
	return append(append([]segment{before}, segments...), after)
}
