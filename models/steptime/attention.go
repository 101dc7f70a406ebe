package steptime

import (
	"cmp"
	"math"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// attention is the cost of the attention kernels of alike layers of the stage.
type attention struct {
	models.Attention
	count float64
	// perContext is the time for each token of context in all of the layers, perQuery for each
	// query token.
	perContext perToken
	perQuery   sim.Time
	// peak is the rate of its arithmetic in FLOP/s.
	peak float64
	// decodeCompute is the fraction of the peak that decode reaches.
	decodeCompute float64
	// prefillCompute is the fraction of the peak that prompts reach, decodeRate the rate in B/s at
	// which decode reads what sequences keep, decodeKernel and prefillKernel are the fixed times in
	// seconds.
	prefillCompute, decodeRate  float64
	decodeKernel, prefillKernel float64
	// perToken is the time of each new token of the longest prompt.
	perToken sim.Time
	// perLength is the idle time of the last tiles for each token of the longest prompt.
	perLength sim.Time
}

// attentionCosts predicts the attention kernels of a pipeline stage. add alone changes the costs;
// byPrompt and tables change with each step that is asked for.
type attentionCosts struct {
	*setup
	products  *productCosts
	exchanges *exchangeCosts
	tables    *lookup
	// kinds has alike layers together; latentLayers is the number of layers with latent attention.
	kinds        []attention
	latentLayers float64
	// cacheRate is the rate in B/s at which decode attention reads the cache.
	cacheRate float64
	// decodeKernels and prefillKernels are the fixed times in a step, and expand the time of
	// computing the keys and values of a cached token anew (MLA).
	decodeKernels, prefillKernels, expand sim.Time
	byPrompt                              memo // chunks of one prompt, by its tokens
}

func newAttentionCosts(products *productCosts, expand sim.Time) attentionCosts {
	c := attentionCosts{setup: products.setup, products: products, expand: expand}
	c.cacheRate = c.cfg.Accelerator.Bandwidth * c.constants.Attention.DecodeMemory /
		or1(c.cfg.Factors.Cache)
	if narrow := c.constants.Attention.DecodeNarrow; narrow > 0 && c.narrowCache() &&
		!c.engine.NativeFP8Attention {
		c.cacheRate *= narrow
	}
	return c
}

// add prices a kind of layer. The stage has count of them.
func (c *attentionCosts) add(l models.Attention, count float64) error {
	a := attention{Attention: l, count: count, peak: c.products.wide.peak,
		decodeCompute: c.decodeCompute(&l)}
	if eight := c.cfg.Accelerator.Peak[hardware.FP8]; l.Scan && eight > 0 {
		a.peak = eight
	}
	k := &c.constants.Attention
	a.prefillCompute, a.decodeRate = k.PrefillCompute, c.cacheRate
	a.decodeKernel, a.prefillKernel = float64(k.DecodeKernel), float64(k.PrefillKernel)
	if err := c.linearAttention(&a); err != nil {
		return err
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
	c.kinds = append(c.kinds, a)
	if l.Latent {
		c.latentLayers += a.count
	}
	c.decodeKernels += times(a.count, a.decodeKernel)
	c.prefillKernels += times(a.count, a.prefillKernel)
	return nil
}

// linearAttention prices linear attention as the engine's kernels were measured (see
// hardware.RecurrentKernel), where they were: chunks of a prompt follow one another, and states are
// read and written at a rate of their own.
func (c *attentionCosts) linearAttention(a *attention) error {
	if a.Recurrent == "" || c.engine.Roofline {
		return nil
	}
	k, err := hardware.FindRecurrent(c.engine.Kernels, string(a.Recurrent), c.cfg.Accelerator)
	if err != nil || k == nil {
		return err
	}
	a.prefillCompute, a.decodeRate = k.Compute/or1(c.cfg.Factors.Prompts), c.bandwidth*k.Memory
	a.perToken = times(a.count, float64(k.Serial))
	a.decodeKernel, a.prefillKernel = float64(k.Decode), float64(k.Prefill)
	return nil
}

// decodeCompute returns the fraction of the peak that decode attention reaches.
func (c *attentionCosts) decodeCompute(l *models.Attention) float64 {
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

// verify returns the time in which the sequences of s attend to their contexts with more queries
// than one each: the cache is read once, the arithmetic is done for each.
func (c *attentionCosts) verify(s *sim.Step) sim.Time {
	t := c.decodeKernels + c.divided(c.perRank(s.DecodeTokens))
	for i := range c.kinds {
		a := &c.kinds[i]
		w := a.Decode(s.Decodes, s.DecodeTokens, s.Context)
		read := times(a.count, max(w.FLOPs/(a.peak*a.decodeCompute), w.KVRead/c.cacheRate))
		t += a.perQuery*sim.Time(c.perRank(s.DecodeTokens)) + onRank(c.setup, read, s.Decodes)
	}
	return t
}

// prefill returns the time of the attention of the prompt chunks of s: fixed times and the
// idle tail once, and the work of each chunk. With MLA, the keys and values of cached tokens are
// computed anew. Ranks share the chunks, undivided, as evenly as that allows.
func (c *attentionCosts) prefill(s *sim.Step) sim.Time {
	if len(s.Prefill) == 1 && s.Prefill[0].Cached == 0 {
		return c.byPrompt.at(s.Prefill[0].Rows())
	}
	return c.chunks(s.Prefill)
}

// chunks is prefill for any chunks.
func (c *attentionCosts) chunks(prefill []sim.Chunk) sim.Time {
	var t sim.Time
	var chunks []sim.Time
	longest, newest := 0, 0
	for i := range prefill {
		n, cached := prefill[i].Rows(), prefill[i].Cached
		if cached == 0 && c.tables.Tables != nil {
			if seconds, ok := c.tables.measured(c.tables.chunk(c.tableKey()), "prefill attention",
				"tokens", float64(n)); ok && c.kinds[0].Window == 0 {
				t += times(c.kinds[0].count, seconds)
				continue
			}
		}
		longest, newest = max(longest, n+cached), max(newest, n)
		work := c.expand * sim.Time(cached)
		for j := range c.kinds {
			work += c.chunk(&c.kinds[j], n, cached)
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
		t += c.prefillKernels + c.dividedPrompts(prefill)
		for j := range c.kinds {
			t += c.kinds[j].perLength*sim.Time(c.kinds[j].idle(longest)) +
				c.kinds[j].perToken*sim.Time(newest)
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
func (c *attentionCosts) chunk(a *attention, n, cached int) sim.Time {
	k := &c.constants.Attention
	w := a.Prefill(n, cached)
	if c.engine.NaiveAttention {
		w = c.naive(a, w, n, cached)
	}
	compute := w.FLOPs / (a.peak * a.prefillCompute)
	if c.engine.Roofline {
		return times(a.count, max(compute, w.KVRead/c.bandwidth))
	}
	moves := c.bandwidth * k.PrefillMemory // in B/s
	seconds := compute + (w.KVRead+w.IO)/moves
	switch {
	// kernels of linear attention compute whole chunks, and what they move is in their rate
	case a.perToken > 0:
		seconds = compute * float64((n+63)/64*64) / float64(n)
	case a.Gathered: // tokens are fetched while others are attended to
		seconds = max(compute, w.KVRead/moves) + w.IO/moves
	}
	if a.StateBytes > 0 { // states are read and written whole, and no faster than the memory is
		seconds = max(seconds, (w.KVRead+w.KVWritten+w.IO)/c.bandwidth)
	}
	return times(a.count, seconds)
}

// naive returns the work of a chunk whose scores are moved through memory: all pairs are computed,
// also the pairs that a mask or a window hides, and for each pair and head a score is written, read
// and written as a probability, and read again (Dao et al., arXiv:2205.14135, algorithm 0). Kernels
// that choose tokens, and linear attention, have no such form.
func (c *attentionCosts) naive(a *attention, w models.AttentionWork,
	n, cached int) models.AttentionWork {
	if a.HeadFLOPs == 0 || a.Scan || a.Gathered {
		return w
	}
	pairs, heads := float64(n)*float64(n+cached), a.PrefillFLOPs/a.HeadFLOPs
	w.FLOPs = a.PrefillFLOPs * pairs
	w.IO += 4 * heads * pairs * c.activationBytes
	return w
}

// prefillOperator returns the attention of the prompt chunks of s.
func (c *attentionCosts) prefillOperator(s *sim.Step) Operator {
	k, ranks := &c.constants.Attention, float64(c.ranks)
	moves := c.bandwidth * k.PrefillMemory // in B/s
	o := Operator{Name: "attention_prefill", Time: c.prefill(s)}
	spent := spending{FixedTimes: c.prefillKernels.Seconds(),
		Exchanging: c.dividedPrompts(s.Prefill).Seconds()}
	for i := range c.kinds {
		for j := range s.Prefill {
			a, n, cached := &c.kinds[i], s.Prefill[j].Rows(), s.Prefill[j].Cached
			w := a.Prefill(n, cached)
			scores := 0.0
			if c.engine.NaiveAttention {
				naive := c.naive(a, w, n, cached)
				w, scores = naive, naive.IO-w.IO
			}
			part := a.count / ranks
			o.FLOPs += a.count * w.FLOPs / ranks
			o.KV += part * w.KVRead
			o.Scores += part * scores
			c.moveBeside(&o, part*w.KVWritten, part*(w.IO-scores))
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
	compute := o.FLOPs / (c.products.wide.peak * k.PrefillCompute)
	o.Bound = largest(compute, o.Bytes()/moves, c.prefillKernels.Seconds())
	o.Computing = sim.Seconds(compute)
	o.divideTime(spent)
	return o
}

// decodeOperator returns the attention of the sequences of s that decode, which takes t.
func (c *attentionCosts) decodeOperator(s *sim.Step, t sim.Time) Operator {
	ranks := float64(c.ranks)
	o := Operator{Name: "attention_decode", Time: t}
	spent := spending{FixedTimes: c.decodeKernels.Seconds(),
		Exchanging: c.divided(c.perRank(s.DecodeTokens)).Seconds()}
	compute := 0.0
	for i := range c.kinds {
		a := &c.kinds[i]
		w := a.Decode(s.Decodes, s.DecodeTokens, s.Context)
		o.FLOPs += a.count * w.FLOPs / ranks
		part := a.count / ranks
		o.KV += part * w.KVRead
		spent[ReadingKV] += part * w.KVRead / c.cacheRate
		if !c.engine.Roofline {
			spent[ReadingKV] += part * w.KVWritten / c.cacheRate
			spent[MovingActivations] += part * w.IO / c.cacheRate
		}
		c.moveBeside(&o, part*w.KVWritten, part*w.IO)
		compute += a.count * w.FLOPs / (ranks * a.peak * a.decodeCompute)
	}
	o.Bound = largest(compute, o.Bytes()/c.cacheRate, c.decodeKernels.Seconds())
	o.Computing = sim.Seconds(compute)
	o.divideTime(spent)
	return o
}

// moveBeside adds to an operator the bytes that attention moves beside the cache that it reads: the
// keys and values that it writes, and queries and outputs. The engine roofline does not move them.
func (c *attentionCosts) moveBeside(o *Operator, written, activations float64) {
	if !c.engine.Roofline {
		o.KV += written
		o.Written += written
		o.Activations += activations
		o.Beside += written + activations
	}
}

// form returns the time that n sequences need to attend to a total context. It bends where
// windows are full, and at the points of measured tables.
func (c *attentionCosts) form(n int) []segment {
	base, slope := c.decodeKernels+c.divided(c.perRank(n)), perToken(0)
	var bends []bend
	for i := range c.kinds {
		a := &c.kinds[i]
		perContext := onRank(c.setup, a.perContext, n)
		base += a.perQuery * sim.Time(c.perRank(n))
		slope += perContext
		if at := a.BendsAt(n); at > 0 {
			bends = append(bends, bend{at, perContext})
		}
	}
	if len(bends) == 0 {
		return c.measuredForm(n, segment{base, slope, math.MaxInt64})
	}
	slices.SortFunc(bends, func(a, b bend) int { return cmp.Compare(a.at, b.at) })
	var segments []segment
	for _, b := range bends {
		segments = append(segments, segment{base, slope, b.at})
		base, slope = base+b.perContext.times(b.at), slope-b.perContext
	}
	return append(segments, segment{base, slope, math.MaxInt64})
}

// bend is a total context from which on a kind of attention costs no more, and what a token cost
// before.
type bend struct {
	at         int64
	perContext perToken
}

// tableKey names the attention of the model's layers on one accelerator.
func (c *attentionCosts) tableKey() attentionKey {
	if len(c.kinds) == 0 {
		return attentionKey{}
	}
	l := &c.kinds[0].Attention
	if l.Latent {
		return attentionKey{heads: l.Heads, kv: sixteen(c.cfg.KV)}
	}
	return attentionKey{l.Heads, l.KVHeads, l.HeadDim, sixteen(c.cfg.KV)}
}

// measuredForm returns the form of decode attention for n sequences: measured points joined by
// straight lines, and the formula before the first and after the last.
func (c *attentionCosts) measuredForm(n int, formula segment) []segment {
	points := c.tables.contexts(c.tableKey(), n)
	if len(points) < 2 {
		if c.tables.Tables != nil && len(c.tables.decoding[c.tableKey()]) > 0 {
			c.tables.record("decode attention", "sequences", float64(n))
		}
		return []segment{formula}
	}
	count := c.kinds[0].count
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
