package training

// Line is one use of the memory of an accelerator.
type Line struct {
	Name  string  `json:"name"`
	Bytes float64 `json:"bytes"`
	// Why says how the bytes are computed.
	Why string `json:"why"`
}

// Memory is what the fullest accelerator holds.
type Memory struct {
	Lines []Line `json:"lines"`
	// Stage is the stage of the pipeline that is the fullest, "first" or "last".
	Stage string `json:"stage"`
	// Capacity is what an accelerator has, in bytes.
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

// outside is what CUDA and its libraries take outside of the program's own allocations: a context
// of 0.47 to 1.78 GiB and about 1 GiB for exchanges (stas00/ml-engineering,
// training/performance/README.md).
const outside = 2 << 30

// logitBytes is what the loss holds for each logit at its peak: the output of the head in 16 bits,
// the same in 32 bits, in which the softmax is computed, and its gradient in 32 bits (PyTorch's
// cross_entropy of logits.float(), as pytorch/torchtune and pytorch/torchtitan call it).
const logitBytes = 2 + 4 + 4

// lossChunks is the number of parts in which a chunked loss is computed: 8 in pytorch/torchtune.
const lossChunks = 8

// Allocated returns the bytes that the program itself allocates, as PyTorch counts them.
func (m *Memory) Allocated() float64 { return m.Total() - m.Of("outside") }

// FirstStage returns what an accelerator of the first stage holds.
func (j *Job) FirstStage() Memory {
	first, _, _ := j.stageLayers()
	return j.stageMemory("first", first, j.embedding(), j.inFlight(), j.Layout.Pipeline == 1)
}

// Memory returns what the fullest accelerator holds: the first stage's, which keeps the most
// micro-batches, or the last one's, which has the output head.
func (j *Job) Memory() Memory {
	first, inner, last := j.stageLayers()
	if j.Layout.Pipeline == 1 {
		return j.stageMemory("only", first, j.embedding()+j.head(), 1, true)
	}
	a := j.FirstStage()
	b := j.stageMemory("last", last, j.head(), 1, true)
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
	h := j.stage(layers, ends)
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
		one := j.stage(1, 0)
		add("gathered layers", 2*2*one.total(), "the weights of two layers, in 16 bits")
	}
	add("outside", outside, "context of the driver and buffers of exchanges")
	return m
}

// addStates adds weights, gradients and the optimizer's states (Rajbhandari et al.,
// arXiv:1910.02054, figure 1). Dense ones are shared by data and context ranks, expert parameters
// by the ranks that hold the same experts.
func (j *Job) addStates(h held, layers int, add func(string, float64, string)) {
	l, o := &j.Layout, &j.Optimizer
	dense := float64(j.shards())
	expert := max(1, float64(l.Tensor*l.Context*l.Data)/float64(l.Expert))
	share := func(from int) float64 {
		if l.ZeRO >= from {
			return h.Dense/dense + h.Expert/expert
		}
		return h.total()
	}
	add("weights", j.weightBytes()*share(3), "as the products read them")
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

// loraRank is the rank of adapters: the rank of Hu et al., arXiv:2106.09685, lies between 1 and 64.
const loraRank = 16

// weightBytes returns the bytes of a weight as products read it: 16 bits; narrower formats are made
// anew for each product.
func (j *Job) weightBytes() float64 { return 2 }
