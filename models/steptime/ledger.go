package steptime

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Ledger lists the work of one accelerator in a step, operator by operator. All that is said about
// a step is a sum over it.
type Ledger []Operator

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
	ops := c.stage.tokenOperators(nil, l.tokens, l.routed)
	if len(s.Prefill) > 0 {
		ops = append(ops, c.stage.attention.prefillOperator(s))
	}
	if s.Decodes > 0 {
		ops = append(ops, c.stage.attention.decodeOperator(s, c.decodeAttention(s)))
	}
	ops = c.stage.headOperators(ops, l.rows)
	hideExchange(ops, c.stage.overlapped(total(ops), l.tokens))
	for i := range ops {
		ops[i].setTime(c.cfg.Factors.served(ops[i].Time, s))
	}
	if t := c.images.encode(s); t > 0 {
		encode := undivided("encode_images", t, Compute)
		encode.FLOPs = float64(c.images.encoded(s)) * c.images.flops
		ops = append(ops, encode)
	}
	if c.cfg.Adapters.Count > 0 {
		ops = append(ops, c.stage.adapterOperator(l.tokens, l.sequences))
	}
	long := s.Context > c.host.captured(s.Decodes)
	floor := c.host.floor(l.tokens, l.sequences, len(s.Prefill) > 0, long)
	if wait := floor - total(ops); wait > 0 && l.sequences > 0 {
		ops = append(ops, undivided("launch", wait, Host))
	}
	if rest := c.predicted(s) - total(ops); rest > 0 {
		ops = append(ops, undivided("host", rest, Host))
	}
	for i := range ops {
		ops[i].setTime(c.slowdown().time(ops[i].Time))
	}
	return Ledger(ops).summingTo(c.Duration(s))
}

// hideExchange takes what goes on beside other operators from the exchange between ranks, last
// first.
func hideExchange(ops []Operator, hidden sim.Time) {
	for i := len(ops) - 1; i >= 0; i-- {
		if o := &ops[i]; o.Name == "dispatch" || o.Name == "combine" {
			part := min(hidden, o.Time)
			o.setTime(o.Time - part)
			hidden -= part
		}
	}
}

// Whole returns what one accelerator of each pipeline stage does while step s passes through all of
// them, one stage after another. The times sum to Stages times Duration: each stage is taken to
// last as long as the slowest. With one stage it is Breakdown.
func (c *Clock) Whole(s *sim.Step) Ledger {
	stages := sim.Time(c.Stages())
	if stages == 1 {
		return c.Breakdown(s)
	}
	whole := stages * c.Duration(s)
	if c.cfg.Given != nil {
		return Ledger{undivided("given", whole, Unknown)}
	}
	if c.unsplit == nil {
		unsplit, err := c.joined()
		if err != nil { // the stage has the same kinds of layers, which could be priced
			return Ledger{undivided("stage_wait", whole, Unknown)}
		}
		c.unsplit = unsplit
	}
	ops := c.unsplit.Breakdown(s)
	for _, o := range c.Breakdown(s) {
		if o.Name != "pipeline_send" {
			continue
		}
		o.Count, o.Sent = o.Count*float64(stages), o.Sent*float64(stages)
		o.setTime(o.Time * stages)
		ops = append(ops, o)
	}
	if rest := whole - ops.Time(); rest > 0 {
		ops = append(ops, undivided("stage_wait", rest, Latency))
	}
	return ops.summingTo(whole)
}

// Stages returns the number of pipeline stages.
func (c *Clock) Stages() int { return max(1, c.cfg.Parallel.Pipeline) }

// joined returns the clock of a single stage with all layers.
func (c *Clock) joined() (*Clock, error) {
	all, one := *c, *c.setup
	one.cfg.Parallel.Pipeline = 1
	products := *c.stage.products
	all.setup, products.setup = &one, &one
	return &all, all.priceStage(&products)
}

// summingTo gives what rounding leaves to an operator, the last one that is long enough. Where
// operators take more than t together, it shortens all of them alike.
func (l Ledger) summingTo(t sim.Time) Ledger {
	if len(l) == 0 {
		return l
	}
	if sum := l.Time(); sum > t+sim.Time(len(l))*roundedTicks && sum > 0 {
		for i := range l {
			l[i].setTime(sim.Time(float64(l[i].Time) * (float64(t) / float64(sum))))
		}
	}
	rest, last := t-l.Time(), len(l)-1
	for last > 0 && l[last].Time+rest < 0 {
		last--
	}
	l[last].setTime(l[last].Time + rest)
	return l
}

// roundedTicks is the most by which the time of an operator is rounded up, in ticks.
const roundedTicks = 4

// WithDrafts returns the ledger with the time that drafting adds to the step, which may be 0.
func (l Ledger) WithDrafts(t sim.Time) Ledger {
	if t <= 0 {
		return l
	}
	return append(slices.Clip(l), undivided("draft", t, Drafts))
}

// Time returns the time of the step.
func (l Ledger) Time() sim.Time { return total(l) }

// Sum returns all operators as one, with what binds most of the time.
func (l Ledger) Sum() Operator {
	var sum Operator
	for i := range l {
		o := &l[i]
		sum.FLOPs += o.FLOPs
		sum.Weights += o.Weights
		sum.KV += o.KV
		sum.Scores += o.Scores
		sum.Activations += o.Activations
		sum.Beside += o.Beside
		sum.Written += o.Written
		sum.Sent += o.Sent
		sum.Time += o.Time
		sum.Computing += o.Computing
		for p, t := range o.Parts {
			sum.Parts[p] += t
		}
	}
	sum.Bound, _ = l.Binding()
	return sum
}

// Bounds lists all that an operator can be bound by.
func Bounds() []Bound {
	return []Bound{Compute, Memory, Network, Latency, Host, Tiles, Drafts, Unknown}
}

// ByBound returns the time of the operators by what binds them.
func (l Ledger) ByBound() map[Bound]sim.Time {
	times := map[Bound]sim.Time{}
	for i := range l {
		times[l[i].Bound] += l[i].Time
	}
	return times
}

// Binding returns what the largest part of the time of operators is bound by, and that part.
func (l Ledger) Binding() (bound Bound, share float64) {
	times, whole, most := l.ByBound(), l.Time(), sim.Time(0)
	for _, b := range Bounds() {
		if times[b] > most {
			most, bound = times[b], b
		}
	}
	if most > 0 {
		share = float64(most) / float64(whole)
	}
	return bound, share
}
