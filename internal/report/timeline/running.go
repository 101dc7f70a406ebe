package timeline

import "github.com/llmsim/llmsim/sim"

// chunk adds a step that computes a chunk of the prompt, and what was before it.
func (v *running) chunk(l *sim.Leap, c *sim.Chunk) {
	s := c.Sequence
	v.waitForChunk(l, c)
	v.preemptions, v.retries, v.out = s.Preemptions, s.Retries, false
	v.at = batch{l.Replica, l.Lane}
	kind := Prefill
	switch {
	case c.Cached < v.high:
		kind = Recompute
	case c.Cached >= s.Prompt: // it goes on where it had begun to decode
		kind = Decode
	}
	v.add(Part{kind, l.Start, l.End, l.Replica, 1, c.New})
	v.high, v.given = max(v.high, c.Cached+c.New), s.Progress()
}

// waitForChunk adds the time from the end of the last step to the beginning of one that computes a
// chunk.
func (v *running) waitForChunk(l *sim.Leap, c *sim.Chunk) {
	s := c.Sequence
	switch {
	case len(v.Parts) == 0:
		v.wait(Queued, l, l.Start)
	case s.Retries > v.retries:
		v.wait(Failed, l, l.Start)
	case l.Replica != v.at.replica:
		v.wait(Transfer, l, min(s.Delivered, l.Start))
		v.wait(Placing, l, l.Start)
	case s.Preemptions > v.preemptions || v.out || c.Cached < v.high:
		v.wait(Preempted, l, l.Start)
	default:
		v.wait(Waiting, l, l.Start)
	}
}

// wait adds time in which no step carries v.
func (v *running) wait(kind Kind, l *sim.Leap, until sim.Time) {
	v.add(Part{Kind: kind, From: v.end(), To: until, Replica: l.Replica})
}

// decode adds steps that gave v tokens, or through which its complete answer was held.
func (v *running) decode(l *sim.Leap) {
	switch {
	case v.end() >= l.End: // its chunk is noted already
	case !v.s.Running():
		v.out = true
	case v.s.Progress() > v.given:
		given := v.s.Progress()
		v.wait(Waiting, l, l.Start)
		v.add(Part{Decode, l.Start, l.End, l.Replica, l.Steps, given - v.given})
		v.high, v.given = max(v.high, v.s.Context()), given
	case v.given == v.s.Output:
		v.hold(l)
	}
}

// finish adds the step with which v finished.
func (v *running) finish(l *sim.Leap) {
	switch {
	case v.end() >= l.End: // its chunk is noted already
	case v.given == v.Output:
		v.hold(l)
	default:
		v.wait(Waiting, l, l.Start)
		v.add(Part{Decode, l.Start, l.End, l.Replica, l.Steps, v.Output - v.given})
		v.given = v.Output
	}
}

// hold adds steps through which the complete answer kept its place.
func (v *running) hold(l *sim.Leap) {
	v.wait(Held, l, l.Start)
	v.add(Part{Held, l.Start, l.End, l.Replica, l.Steps, 0})
}

// close adds what is after the last step.
func (v *running) close() {
	v.s = nil
	v.add(Part{Kind: Held, From: v.end(), To: v.Last, Replica: v.Replica})
	v.add(Part{Kind: FrontEnd, From: v.Last, To: v.End, Replica: v.Replica})
}
