package training

// Step is where the time of a step goes, in seconds, on the accelerators of the slowest stage. The
// parts add up to the time of the step.
type Step struct {
	Forward   float64 `json:"forward"`
	Backward  float64 `json:"backward"`
	Recompute float64 `json:"recompute"`
	// Bubble is the time that the stage waits for others.
	Bubble float64 `json:"bubble"`
	// Tensor, Context, Expert, Pipeline and Data are the times that exchanges of each dimension add
	// to computing.
	Tensor   float64 `json:"tensor_exchange"`
	Context  float64 `json:"context_exchange"`
	Expert   float64 `json:"expert_exchange"`
	Pipeline float64 `json:"pipeline_exchange"`
	Data     float64 `json:"data_exchange"`
	// Optimizer is the update of the weights.
	Optimizer float64 `json:"optimizer"`
}

// Total returns the seconds of the step.
func (s *Step) Total() float64 {
	return s.Forward + s.Backward + s.Recompute + s.Bubble + s.Tensor + s.Context + s.Expert +
		s.Pipeline + s.Data + s.Optimizer
}

// Step returns the time of a step. A pipeline of p stages and m micro-batches takes m times the
// slowest stage and once the others, these divided by the chunks of a stage where the schedule is
// interleaved (Narayanan et al., arXiv:2104.04473, section 2.2); with equal stages that is
// m + (p−1)/v times one stage.
func (j *Job) Step() Step {
	l, w := &j.Layout, j.work()
	m := float64(l.MicroBatches(j.Batch))
	first, inner, last := j.spread().stageLayers()
	layers := float64(j.Model.Layers())
	x := j.exchanges()
	// micro is the time of a micro-batch on a stage, by part
	micro := func(n int, head bool) Step {
		part := float64(n) / layers
		var s Step
		s.Forward, s.Backward = w.Forward*part, w.Backward*part
		switch {
		case l.Recompute == Full:
			s.Recompute = w.Forward * part
			s.Tensor = x.tensor * part
			s.Expert = x.expert * part
		case l.Recompute == Selective:
			s.Recompute = w.Scores * part
		}
		if head {
			s.Forward += w.HeadForward
			s.Backward += w.HeadBackward
		}
		s.Tensor += 2 * x.tensor * part
		s.Expert += 2 * x.expert * part
		s.Context = x.context * part
		s.Pipeline = x.pipeline
		if l.ZeRO == 3 {
			s.Data = j.visibleExchange(x.weights*part, s.Forward+s.Backward+s.Recompute)
		}
		if j.Method == DPO { // the frozen copy computes forward only
			s.Forward += w.Forward*part + x.tensor*part
		}
		return s
	}
	a, b, c := micro(first, l.Pipeline == 1), micro(inner, false), micro(last, true)
	slow := a
	if l.Pipeline > 1 && c.Total() > slow.Total() {
		slow = c
	}
	if l.Pipeline > 2 && b.Total() > slow.Total() {
		slow = b
	}
	s := slow.times(m)
	if l.Pipeline > 1 {
		others := a.Total() + c.Total() + float64(l.Pipeline-2)*b.Total() - slow.Total()
		if l.Schedule == ZeroBubble { // ZB-H1: the gradients of weights fill what they can
			part := float64(inner) / layers
			others -= 2 * float64(l.Pipeline-1) * w.Weights * part
			others = max(0, others)
		}
		s.Bubble = others / float64(l.Virtual)
	}
	s.Data += j.synchronise(&slow)
	s.Optimizer = j.update()
	return s
}

// times returns the parts n times.
func (s Step) times(n float64) Step {
	for _, f := range []*float64{&s.Forward, &s.Backward, &s.Recompute, &s.Tensor, &s.Context,
		&s.Expert, &s.Pipeline, &s.Data} {
		*f *= n
	}
	return s
}

// update returns the seconds in which the optimizer reads and writes its states and reads the
// gradients of its share.
func (j *Job) update() float64 {
	o, h := &j.Optimizer, j.learned()
	n := h.total()
	if j.Layout.ZeRO >= 1 {
		n = j.spread().share(h)
	}
	k := &j.Machine.Constants.Elementwise
	return n * (2*o.States() + o.Gradient + 2) / (j.Machine.Accelerator.Bandwidth * k.Memory)
}

// Forward returns the seconds of a forward pass over the sequences of a step.
func (j *Job) Forward() float64 {
	s := j.Step()
	passes := 2.0 // of exchanges
	if j.Layout.Recompute == Full {
		passes = 3
	}
	computing := s.Forward + s.Backward + s.Recompute
	return s.Forward + (s.Tensor+s.Expert)/passes + (s.Context+s.Pipeline)/2 +
		s.Bubble*s.Forward/computing
}

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
