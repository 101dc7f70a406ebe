package training

// exchanges is the seconds of the exchanges of a micro-batch, over all layers as if they were on
// one stage, after what computing hides.
type exchanges struct {
	// tensor and expert are of one forward pass; the backward pass has as much again. context and
	// pipeline are of both passes.
	tensor, expert, context, pipeline float64
	// weights are the gathers of weights and the sums of gradients of ZeRO stage 3, not hidden yet.
	weights float64
}

// exchanges computes what the ranks of a layout exchange. Ranks of the tensor dimension are next to
// each other, then the ranks of context, data and pipeline, as in Megatron-LM.
func (j *Job) exchanges() exchanges {
	l, m := &j.Layout, &j.Machine
	var x exchanges
	rows := j.rows()
	vector := 2 * rows * float64(j.Model.Hidden)
	tp := group{l.Tensor, 1}
	// an all-reduce, or a gather and a reduce-scatter, after the mixer and after the MLP
	// (Shoeybi et al., arXiv:1909.08053, section 3)
	x.tensor = 2 * float64(j.Model.AllReduces()-1) * m.gather(vector, tp)
	if j.Overlap {
		x.tensor *= tensorOverlapped
	}
	if moe := j.Model.Experts(); moe != nil && l.Expert > 1 {
		in := vector / float64(l.Tensor) // sent in 16 bits, there and back
		if moe.Latent > 0 {
			in *= float64(moe.Latent) / float64(j.Model.Hidden)
		}
		x.expert = 2 * float64(j.Model.ExpertLayers()) *
			m.scatter(in, moe.Active, group{l.Expert, 1})
	}
	if l.Context > 1 {
		x.context = j.contextExchange()
	}
	if l.Pipeline > 1 {
		// each tensor rank sends its part (Narayanan et al., arXiv:2104.04473, section 4.1)
		x.pipeline = 2 * float64(l.Virtual) *
			m.send(vector/float64(l.Tensor), l.Tensor*l.Context*l.Data)
	}
	if l.ZeRO == 3 {
		s := j.spread()
		h := s.layerParameters()
		h.Dense += (s.embedding() + s.head()) / float64(l.Pipeline)
		gathers, sums := 2.0, 1.0 // forward and backward; gradients, in 16 bits as FSDP's
		if j.Method == LoRA {
			sums = 0
		}
		x.weights = (gathers+sums)*m.gather(2*h.Dense, s.denseGroup()) +
			(gathers+sums)*m.gather(2*h.Expert, s.expertGroup()) +
			2*m.gather(2*h.Dense/float64(s.shards()), s.copies())
	}
	return x
}

// contextExchange returns the seconds of the rings in which keys and values pass the context ranks,
// once forward and twice backward (Liu et al., arXiv:2310.01889, section 3); attention hides what
// it can of them.
func (j *Job) contextExchange() float64 {
	l := &j.Layout
	bytes := float64(j.Model.KVBytesPerTokenPerGPU("bf16", l.Tensor)) * j.rows()
	ring := j.Machine.gather(bytes*float64(l.Context), group{l.Context, l.Tensor})
	w := j.work()
	return j.visibleExchange(3*ring, 3.5*w.Attention)
}

// visibleExchange returns the seconds that an exchange of x seconds adds to computing of c seconds
// that runs beside it: max(0, x-c) + share·min(x, c), where share is the cost of the
// multiprocessors and the bandwidth that the exchange takes.
func (j *Job) visibleExchange(exchange, computing float64) float64 {
	share := contention
	if j.Eager {
		share = eagerContention
	}
	return max(0, exchange-computing) + share*min(exchange, computing)
}

// synchronise returns what summing the gradients over data ranks, and gathering the new weights,
// adds to a step. The last micro-batch's backward pass and the first one's forward pass hide them.
func (j *Job) synchronise(slow *Step) float64 {
	l, o := &j.Layout, &j.Optimizer
	if l.ZeRO == 3 {
		return 0
	}
	s, h := j.spread(), j.learned()
	gather := func(bytes float64) float64 {
		return j.Machine.gather(bytes*h.Dense, s.denseGroup()) +
			j.Machine.gather(bytes*h.Dense/float64(s.shards()), s.copies()) +
			j.Machine.gather(bytes*h.Expert, s.expertGroup())
	}
	sum, spread := gather(o.Gradient), gather(o.Gradient)
	if l.ZeRO > 0 {
		spread = gather(2)
	}
	m := float64(l.MicroBatches(j.Batch))
	if l.ZeRO == 2 { // every micro-batch sums its gradients
		return j.visibleExchange(m*sum, m*slow.Backward) + j.visibleExchange(spread, slow.Forward)
	}
	return j.visibleExchange(sum, slow.Backward) + j.visibleExchange(spread, slow.Forward)
}
