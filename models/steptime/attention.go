package steptime

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// newAttention prices one kind of layer.
func (c *Clock) newAttention(l models.Attention) (attention, error) {
	a := attention{Attention: l, count: c.share(l.Count), peak: c.wide.peak,
		decodeCompute: c.decodeCompute(&l)}
	if eight := c.cfg.Accelerator.Peak[hardware.FP8]; l.Scan && eight > 0 {
		a.peak = eight
	}
	k := &c.constants.Attention
	a.prefillCompute, a.decodeRate = k.PrefillCompute, c.cacheRate
	a.decodeKernel, a.prefillKernel = float64(k.DecodeKernel), float64(k.PrefillKernel)
	if err := c.linearAttention(&a); err != nil {
		return a, err
	}
	a.perContext = perTokenOf(a.count,
		max(l.DecodeFLOPs/(a.peak*a.decodeCompute), l.KVBytes/c.cacheRate))
	query := max(l.DecodeTokenFLOPs/(a.peak*a.decodeCompute), 2*l.StateBytes/a.decodeRate)
	if !c.engine.Roofline {
		query += (l.KVBytes + l.IOBytes) / c.cacheRate
	}
	a.perQuery = times(a.count, query)
	wave := 128 * float64(c.cfg.Accelerator.SMs)
	a.perLength = times(a.count, k.PrefillTail*wave*l.HeadFLOPs/(a.peak*k.PrefillCompute))
	return a, nil
}

// decodeAttention returns the time of the attention of the sequences of s that decode.
func (c *Clock) decodeAttention(s *sim.Step) sim.Time {
	if s.DecodeTokens == s.Decodes {
		f := c.form(s.Decodes)
		if f.measured {
			f.reach(c, s.Decodes, s.Context)
		}
		return formAt(f.attention, s.Context).At(s.Context)
	}
	t := c.decodeKernels
	for i := range c.attention {
		t += c.verify(&c.attention[i], s.Decodes, s.DecodeTokens, s.Context)
	}
	return t
}

// verify returns the time in which n sequences attend to a total context with more queries than one
// each: the cache is read once, the arithmetic is done for each.
func (c *Clock) verify(a *attention, n, queries int, context int64) sim.Time {
	w := a.Decode(n, queries, context)
	read := times(a.count, max(w.FLOPs/(a.peak*a.decodeCompute), w.KVRead/c.cacheRate))
	return a.perQuery*sim.Time(c.rank(queries)) + onRank(c, read, n)
}

// prefillAttention returns the time of the attention of the prompt chunks of s: fixed times and the
// idle tail once, and the work of each chunk. With MLA, the keys and values of cached tokens are
// computed anew. Ranks share the chunks, undivided, as evenly as that allows.
func (c *Clock) prefillAttention(s *sim.Step) sim.Time {
	if len(s.Prefill) == 1 && s.Prefill[0].Cached == 0 {
		return c.byPrompt.at(s.Prefill[0].Rows())
	}
	return c.chunksAttention(s.Prefill)
}

// chunksAttention is prefillAttention for any chunks.
func (c *Clock) chunksAttention(prefill []sim.Chunk) sim.Time {
	var t sim.Time
	var chunks []sim.Time
	longest, newest := 0, 0
	for i := range prefill {
		n, cached := prefill[i].Rows(), prefill[i].Cached
		if cached == 0 && c.tables != nil {
			if seconds, ok := c.measured(c.tables.chunk(c.attentionKey()), "prefill attention",
				"tokens", float64(n)); ok && c.attention[0].Window == 0 {
				t += times(c.attention[0].count, seconds)
				continue
			}
		}
		longest, newest = max(longest, n+cached), max(newest, n)
		work := c.expand * sim.Time(cached)
		for j := range c.attention {
			work += c.chunk(&c.attention[j], n, cached)
		}
		t += work
		if c.ranks > 1 {
			chunks = append(chunks, work)
		}
	}
	if c.ranks > 1 {
		t = max(t/sim.Time(c.ranks), fullest(chunks, c.ranks))
	}
	if longest > 0 {
		t += c.prefillKernels
		for j := range c.attention {
			t += c.attention[j].perLength*sim.Time(c.attention[j].idle(longest)) +
				c.attention[j].perToken*sim.Time(newest)
		}
	}
	return t
}

// idle returns the length of a prompt for which the last tiles of a wave wait: all queries have the
// same number of chosen tokens.
func (a *attention) idle(longest int) int {
	if a.Gathered {
		return min(longest, a.Window)
	}
	return longest
}

// chunk returns the time that a chunk of n tokens after cached ones needs in all of the layers:
// arithmetic, then moving queries, keys, values and outputs.
func (c *Clock) chunk(a *attention, n, cached int) sim.Time {
	k := &c.constants.Attention
	w := a.Prefill(n, cached)
	if c.engine.NaiveAttention {
		w = c.naive(a, w, n, cached)
	}
	compute := w.FLOPs / (a.peak * a.prefillCompute)
	switch {
	case c.engine.Roofline:
		return times(a.count, max(compute, w.KVRead/c.bandwidth))
	// kernels of linear attention compute whole chunks, and what they move is in their rate
	case a.perToken > 0:
		return times(a.count, compute*float64((n+63)/64*64)/float64(n))
	case a.Gathered: // tokens are fetched while others are attended to
		return times(a.count, max(compute, w.KVRead/(c.bandwidth*k.PrefillMemory))+
			w.IO/(c.bandwidth*k.PrefillMemory))
	}
	return times(a.count, compute+(w.KVRead+w.IO)/(c.bandwidth*k.PrefillMemory))
}

// attentionOperators appends the attention of the prompt chunks and of the sequences that decode.
func (c *Clock) attentionOperators(ops []Operator, s *sim.Step) []Operator {
	k := &c.constants.Attention
	moves := c.bandwidth * k.PrefillMemory // in B/s
	if len(s.Prefill) > 0 {
		o := Operator{Name: "attention_prefill", Time: c.prefillAttention(s)}
		spent := spending{FixedTimes: c.prefillKernels.Seconds()}
		for i := range c.attention {
			for j := range s.Prefill {
				a, n, cached := &c.attention[i], s.Prefill[j].Rows(), s.Prefill[j].Cached
				w := a.Prefill(n, cached)
				scores := 0.0
				if c.engine.NaiveAttention {
					naive := c.naive(a, w, n, cached)
					w, scores = naive, naive.IO-w.IO
				}
				part := a.count / float64(c.ranks)
				o.FLOPs += a.count * w.FLOPs / float64(c.ranks)
				o.KV += a.count * w.KVRead / float64(c.ranks)
				o.Scores += a.count * scores / float64(c.ranks)
				if a.perToken == 0 { // what linear attention moves is in its rate of arithmetic
					spent[ReadingKV] += part * w.KVRead / moves
					spent[MovingScores] += part * scores / moves
					spent[MovingActivations] += part * (w.IO - scores) / moves
				}
			}
		}
		if c.engine.Roofline { // nothing but the cache is moved
			spent[MovingActivations] = 0
		}
		compute := o.FLOPs / (c.wide.peak * k.PrefillCompute)
		o.Bound = largest(compute, o.Bytes()/moves, c.prefillKernels.Seconds())
		o.Computing = sim.Seconds(compute)
		o.spend(spent)
		ops = append(ops, o)
	}
	if s.Decodes > 0 {
		o := Operator{Name: "attention_decode", Time: c.decodeAttention(s)}
		spent := spending{FixedTimes: c.decodeKernels.Seconds()}
		compute := 0.0
		for i := range c.attention {
			a := &c.attention[i]
			w := a.Decode(s.Decodes, s.DecodeTokens, s.Context)
			o.FLOPs += a.count * w.FLOPs / float64(c.ranks)
			o.KV += a.count * w.KVRead / float64(c.ranks)
			part := a.count / float64(c.ranks)
			spent[ReadingKV] += part * w.KVRead / c.cacheRate
			if !c.engine.Roofline {
				spent[ReadingKV] += part * w.KVWritten / c.cacheRate
				spent[MovingActivations] += part * w.IO / c.cacheRate
			}
			compute += a.count * w.FLOPs /
				(float64(c.ranks) * a.peak * a.decodeCompute)
		}
		o.Bound = largest(compute, o.Bytes()/c.cacheRate, c.decodeKernels.Seconds())
		o.Computing = sim.Seconds(compute)
		o.spend(spent)
		ops = append(ops, o)
	}
	return ops
}

// decodeCompute returns the fraction of the peak that decode attention reaches.
func (c *Clock) decodeCompute(l *models.Attention) float64 {
	reached := c.constants.Attention.DecodeCompute
	// an indexer scores all tokens with tensor cores, as latent attention does
	if l.Latent || l.Scan {
		reached = c.constants.Attention.LatentCompute
	}
	if c.engine.DecodeCompute > 0 {
		reached = min(reached, c.engine.DecodeCompute)
	}
	return reached
}
