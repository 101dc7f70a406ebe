package training

import (
	"github.com/llmsim/llmsim/models"
)

// Line is one use of the memory of an accelerator.
type Line struct {
	Name  string  `json:"name"`
	Bytes float64 `json:"bytes"`
	// Why says how the bytes are computed.
	Why string `json:"why"`
}

// Memory is the use of memory on the fullest accelerator.
type Memory struct {
	Lines []Line `json:"lines"`
	// Stage is the stage of the pipeline that is the fullest, "first" or "last".
	Stage string `json:"stage"`
	// Capacity is the memory of an accelerator, in bytes.
	Capacity float64 `json:"capacity"`
}

// Total returns the sum of all lines.
func (m *Memory) Total() float64 {
	sum := 0.0
	for _, l := range m.Lines {
		sum += l.Bytes
	}
	return sum
}

// Of returns the bytes of a line; 0 without one.
func (m *Memory) Of(name string) float64 {
	for _, l := range m.Lines {
		if l.Name == name {
			return l.Bytes
		}
	}
	return 0
}

// Fits reports whether everything fits.
func (m *Memory) Fits() bool { return m.Total() <= m.Capacity }

// outside is the memory of CUDA and its libraries beside the program's own allocations: a context
// of 0.47 to 1.78 GiB and about 1 GiB for exchanges (stas00/ml-engineering,
// training/performance/README.md).
const outside = 2 << 30

// logitBytes is the memory of the loss for each logit at its peak: the output of the head in 16
// bits, the same in 32 bits, in which the softmax is computed, and its gradient in 32 bits
// (PyTorch's cross_entropy of logits.float(), as pytorch/torchtune and pytorch/torchtitan call it).
const logitBytes = 2 + 4 + 4

// lossChunks is the number of parts in which a chunked loss is computed: 8 in pytorch/torchtune.
const lossChunks = 8

// Allocated returns the bytes that the program itself allocates, as PyTorch counts them.
func (m *Memory) Allocated() float64 { return m.Total() - m.Of("outside") }

// FirstStage returns what an accelerator of the first stage holds.
func (j *Job) FirstStage() Memory {
	s := j.spread()
	first, _, _ := s.stageLayers()
	return j.stageMemory("first", first, s.embedding(), j.inFlight(), j.Layout.Pipeline == 1)
}

// Memory returns what the fullest accelerator holds: the first stage's, which keeps the most
// micro-batches, or the last one's, which has the output head.
func (j *Job) Memory() Memory {
	s := j.spread()
	first, inner, last := s.stageLayers()
	if j.Layout.Pipeline == 1 {
		return j.stageMemory("only", first, s.embedding()+s.head(), 1, true)
	}
	a := j.FirstStage()
	b := j.stageMemory("last", last, s.head(), 1, true)
	if j.Layout.Pipeline > 2 {
		c := j.stageMemory("second", inner, 0, max(1, j.inFlight()-1), false)
		if c.Total() > a.Total() {
			a = c
		}
	}
	if b.Total() > a.Total() {
		return b
	}
	return a
}

// stageMemory returns what an accelerator of a stage with that many layers holds.
func (j *Job) stageMemory(name string, layers int, ends, inFlight float64, head bool) Memory {
	m := Memory{Stage: name, Capacity: j.Machine.Accelerator.Memory}
	add := func(name string, bytes float64, why string) {
		if bytes > 0 {
			m.Lines = append(m.Lines, Line{name, bytes, why})
		}
	}
	s := j.spread()
	h := s.stage(layers, ends)
	j.addStates(h, layers, add)
	part := float64(layers)
	held := part * inFlight
	keeps := j.layerBytes(j.Layout.Recompute)
	if j.Layout.Recompute == Full { // of the layer that is computed again
		add("checkpoints", held*keeps, "the input of each layer, in 16 bits, for each micro-batch "+
			"in flight")
		add("working set", j.layerBytes(NoRecompute), "the layer that is computed again")
	} else {
		add("activations", held*keeps, "what the backward pass needs, for each micro-batch in "+
			"flight (arXiv:2205.05198, table 2)")
	}
	if head {
		rows, tp := j.rows(), float64(j.Layout.Tensor)
		logits := logitBytes * rows * float64(j.Model.Vocab) / tp
		if j.ChunkedLoss {
			logits /= lossChunks
		}
		add("logits", logits, "of a micro-batch, in 16 and in 32 bits, and their gradients in 32")
	}
	if j.Layout.ZeRO == 3 && j.Layout.Data*j.Layout.Context > 1 {
		one := s.stage(1, 0)
		add("gathered layers", 2*2*one.total(), "the weights of two layers, in 16 bits")
	}
	add("outside", outside, "context of the driver and buffers of exchanges")
	return m
}

// addStates adds weights, gradients and the optimizer's states (Rajbhandari et al.,
// arXiv:1910.02054, figure 1). Dense ones are shared by data and context ranks, expert parameters
// by the ranks that hold the same experts.
func (j *Job) addStates(h heldParameters, layers int, add func(string, float64, string)) {
	l, o := &j.Layout, &j.Optimizer
	share := func(from int) float64 {
		if l.ZeRO >= from {
			return j.spread().share(h)
		}
		return h.total()
	}
	add("weights", weightBytes*share(3), "as the products read them")
	if j.Method == LoRA {
		part := float64(layers) / float64(j.Model.Layers()) / float64(l.Tensor)
		n := float64(trained(j.Model, loraRank)) * part
		add("adapters", n*(2+o.Gradient+o.States()), "weights, gradients and states of rank 16")
		return
	}
	if j.Method == DPO {
		add("reference", 2*share(3), "the frozen copy of the model, in 16 bits")
	}
	add("gradients", o.Gradient*share(2), "summed over the micro-batches of a step")
	add("master weights", o.Master*share(1), "the copy in 32 bits that the optimizer updates")
	add("first mean", o.First*share(1), "the optimizer's mean of gradients")
	add("second mean", o.Second*share(1), "the optimizer's mean of squares")
}

// weightBytes is the size of a weight as products read it: 16 bits; narrower formats are made anew
// for each product.
const weightBytes = 2

// kept has the activations that the backward pass of one layer needs, in bytes a token of a
// micro-batch on one accelerator. Whole is not split by tensor ranks, unless they share the
// sequence; Split is; Scores is the scores of attention, for each token of the sequence. All follow
// figure 2 and equation 2 of Korthikanti et al., arXiv:2205.05198, extended to grouped heads, gates
// and experts.
type kept struct{ Whole, Split, Scores float64 }

// activations returns what a layer keeps on average over all layers.
func (j *Job) activations() kept {
	var sum kept
	for i := range j.Model.Groups {
		g := &j.Model.Groups[i]
		k := j.groupKeeps(g)
		n := float64(g.Count) / float64(j.Model.Layers())
		sum.Whole += n * k.Whole
		sum.Split += n * k.Split
		sum.Scores += n * k.Scores
	}
	return sum
}

// groupKeeps returns what one layer of a group keeps: inputs of norms and of products, in 16 bits.
func (j *Job) groupKeeps(g *models.Group) kept {
	h := float64(j.Model.Hidden)
	k := kept{Whole: 2 * h * float64(g.Norms)}
	mask := 0.0
	if j.Dropout {
		mask = h
	}
	if g.Mixer != nil {
		k.Whole += 2*h + mask
		k.Split += mixerKeeps(g.Mixer, h)
		if s, ok := g.Mixer.(*models.Softmax); ok && j.Attention == Stored {
			k.Scores = 2 * float64(s.Heads) // what softmax gives
			if j.Dropout {
				k.Scores = 5 * float64(s.Heads) // its mask, and what is left of it
			}
		}
	}
	switch m := g.MLP.(type) {
	case *models.Dense:
		k.Whole += 2*h + mask
		k.Split += mlpBytes(m.Intermediate, m.Gated)
	case *models.MoE:
		k.Whole += 2*h + mask
		k.Split += mlpBytes(m.SharedIntermediate, m.Gated)
		in := h
		if m.Latent > 0 {
			in = float64(m.Latent)
		}
		// the tokens of each expert are copied together; tensor ranks share them
		k.Split += float64(m.Active) * (2*in + mlpBytes(m.Intermediate, m.Gated))
	}
	return k
}

// mlpBytes returns the bytes of what lies between the products of a feed-forward network: what goes
// into the activation, and what comes out of it (of both matrices and their product with a gate).
func mlpBytes(intermediate int, gated bool) float64 {
	if gated {
		return 6 * float64(intermediate)
	}
	return 4 * float64(intermediate)
}

// mixerKeeps returns the bytes of queries, keys and values, and of the input of the output
// projection.
func mixerKeeps(m models.Mixer, h float64) float64 {
	switch m := m.(type) {
	case *models.Softmax:
		value := m.ValueDim
		if value == 0 {
			value = m.HeadDim
		}
		return 2 * float64(m.Heads*m.HeadDim+m.KVHeads*(m.HeadDim+value)+m.Heads*value)
	case *models.MLA:
		heads := m.Heads * (2*(m.NopeDim+m.RopeDim) + 2*m.ValueDim)
		return 2 * float64(heads+m.QueryRank+m.KVRank+m.RopeDim)
	case *models.Recurrent:
		return 2 * float64(2*m.KeyHeads*m.KeyDim+3*m.Heads*m.ValueDim)
	}
	return 8 * h
}

// layerBytes returns what a layer keeps of a micro-batch on one accelerator under a kind of
// recomputation: table 2 of Korthikanti et al., arXiv:2205.05198. Tensor ranks that share the
// sequence share the inputs of layers too (section 4.2.2).
func (j *Job) layerBytes(r Recompute) float64 {
	l, k := &j.Layout, j.activations()
	rows, tp := j.rows(), float64(l.Tensor)
	whole := 1.0
	if l.Sequence {
		whole = tp
	}
	switch r {
	case Full:
		return rows * 2 * float64(j.Model.Hidden) / whole
	case Selective:
		k.Scores = 0
	}
	return rows * (k.Whole/whole + k.Split/tp + k.Scores*float64(j.Seq)/float64(l.Context)/tp)
}

// inFlight returns for how many micro-batches the first stage keeps activations at the peak, each
// of all its layers: one for each stage (Narayanan et al., arXiv:2104.04473, section 2.2.1), and
// 1+(p−1)/(p·v) times that number when interleaved (Korthikanti et al., section 4.2.3).
func (j *Job) inFlight() float64 {
	l := &j.Layout
	p, v := float64(l.Pipeline), float64(l.Virtual)
	n := p
	if l.Virtual > 1 {
		n = p * (1 + (p-1)/(p*v))
	}
	return min(n, float64(l.MicroBatches(j.Batch)))
}
