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
