package timeline

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Recorder is a sim.Observer that writes down lives. They are the same whether replicas step or
// leap.
type Recorder struct {
	sim.NopObserver
	done    func(*Life)
	under   map[int64]*running
	batches map[batch][]*running
	// ended holds the requests that finished since the last reported step, and dropped the requests
	// that ended without an answer. The next reported step may be the one that ended them.
	ended   []*running
	dropped []int64
}

// batch names a batch of a replica.
type batch struct{ replica, lane int }

// running is a life under way.
type running struct {
	Life
	s  *sim.Sequence
	at batch // where its last step was
	// high is the largest number of tokens that were stored, given the number of tokens of the
	// answer so far.
	high, given int
	// preemptions and retries are counted so far in the parts, and out is set where the request was
	// in no batch when a step of its last one ended.
	preemptions, retries int
	out                  bool
}

// NewRecorder returns a recorder that calls done with each life that is complete, in the order in
// which requests finish. Requests without an answer have no life.
func NewRecorder(done func(*Life)) *Recorder {
	return &Recorder{done: done, under: map[int64]*running{}, batches: map[batch][]*running{}}
}

// Steps implements sim.Observer.
func (r *Recorder) Steps(l *sim.Leap) {
	at := batch{l.Replica, l.Lane}
	for i := range l.Prefill {
		if v := r.find(l.Prefill[i].Sequence); v != nil {
			r.move(v, at)
			v.chunk(l, &l.Prefill[i])
		}
	}
	for _, v := range r.batches[at] {
		v.decode(l)
	}
	for _, v := range r.ended {
		if v.at == at && v.Last == l.End {
			v.finish(l)
		}
	}
	r.Close()
}

// Close completes the lives of requests that finished with no step, as answers of static batches
// do that give way to others. It is called after the run.
func (r *Recorder) Close() {
	for _, v := range r.ended {
		v.close()
		r.done(&v.Life)
	}
	r.ended, r.dropped = r.ended[:0], r.dropped[:0]
}

// find returns the life of s, which ran in a step; nil where it ended with it without an answer.
func (r *Recorder) find(s *sim.Sequence) *running {
	if v := r.under[s.ID]; v != nil {
		return v
	}
	for _, v := range r.ended {
		if v.ID == s.ID {
			return v
		}
	}
	if slices.Contains(r.dropped, s.ID) {
		return nil
	}
	v := newRunning(s)
	r.under[v.ID] = v
	return v
}

func newRunning(s *sim.Sequence) *running {
	return &running{Life: Life{ID: s.ID, Arrival: s.Arrival}, s: s, at: batch{-1, -1}}
}

// move notes that v runs in a batch now.
func (r *Recorder) move(v *running, at batch) {
	if v.at == at {
		return
	}
	if r.under[v.ID] == v {
		r.leave(v)
		r.batches[at] = append(r.batches[at], v)
	}
}

// leave takes v out of the batch in which it ran last.
func (r *Recorder) leave(v *running) {
	list := r.batches[v.at]
	if i := slices.Index(list, v); i >= 0 {
		last := len(list) - 1
		list[i], list[last] = list[last], nil
		r.batches[v.at] = list[:last]
	}
}

// Finished implements sim.Observer.
func (r *Recorder) Finished(s *sim.Sequence) {
	v := r.under[s.ID]
	if v == nil {
		v = newRunning(s)
	}
	r.leave(v)
	delete(r.under, s.ID)
	v.Prompt, v.Output, v.Cached, v.Replica = s.Prompt, s.Output, s.Cached, s.Replica
	v.Preemptions, v.Retries = s.Preemptions, s.Retries
	v.First, v.Last, v.End = s.FirstToken, s.LastToken, s.LastToken+s.Latency
	r.ended = append(r.ended, v)
}

// Rejected implements sim.Observer.
func (r *Recorder) Rejected(q *sim.Request, _ sim.Rejection) {
	if v := r.under[q.ID]; v != nil {
		r.leave(v)
		delete(r.under, q.ID)
	}
	r.dropped = append(r.dropped, q.ID)
}

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
