package sim

// replica is one server by itself: a scheduler over a memory, with one batch a pipeline stage. It
// knows nothing of other replicas, nor of who sends it requests: what comes of a call is left in
// effects.
type replica struct {
	scheduler  Scheduler
	memory     Memory
	clock      StepClock
	leaper     LeapClock // clock, where it can leap
	speculator Speculator
	listener   Listener     // scheduler, where it wants to be told
	withdrawer Withdrawer   // scheduler, where it gives back requests itself
	tiered     TieredMemory // memory, where it has tiers
	host       HostMemory
	lookahead  int64
	maxLeap    int64
	limit      int  // longest context, 0 without bound
	passes     bool // requests go on elsewhere after their prompt
	relays     bool // and their first token with them
	observed   bool // leaps are asked for
	streamed   bool // tokens are asked for

	now     Time
	batches []Batch
	free    []Time // when each pipeline stage is free
	first   int    // the batch that is served first when the first stage is free
	retry   Time   // when to try to start a batch that rests, or Never
	next    Time   // when something happens by itself, or Never

	admissions int64
	planned    int64 // steps planned so far: the number of the next one
	hostFree   int64 // room in host memory, in tokens
	linkFree   Time  // when the link to it is free
	// paused is the first of the waiting sequences that keep their KV cache, see Batch.Pause.
	paused   *Sequence
	incoming Queue // arrivals that the next step cannot see yet, see ReplicaConfig.Lookahead

	effects   []effect
	err       error // the replica cannot go on
	busyUntil Time
	result    ReplicaResult
	slots     func() Slots
	sampled   Time // when the slots were last asked for
}

// effect is what came of a call of a replica that concerns others. The fleet carries effects out,
// in order.
type effect struct {
	kind effectKind
	s    *Sequence
	b    *Batch // that did it
	at   Time   // when tokens of s came out
}

type effectKind uint8

const (
	stepped  effectKind = iota // a leap of b has ended
	prompted                   // the prompt of s is computed
	emitted                    // tokens of s came out
	finished                   // the last token of s came out
	expelled                   // s, which was to leave, has left
	passed                     // s has left with its prompt computed, to go on elsewhere
	admitted                   // the KV cache that s brought from elsewhere has its place now
)

func (b *Batch) effect(kind effectKind, s *Sequence) {
	b.r.effects = append(b.r.effects, effect{kind: kind, s: s, b: b})
}

// flight is the leap that a batch has under way.
type flight struct {
	active bool
	start  Time
	end    Time
	// padding is the number of complete sequences that keep their place in the step.
	padding int
	steps   int64
	stored  int64   // steps whose decodes have their memory
	run     stretch // of steps that all stages take one after another; valid where leaping
	// leaping is true where run gives the lengths of the steps; otherwise there is one step.
	leaping        bool
	ignoreArrivals bool
}

func newReplica(c *ReplicaConfig, maxLeap int64) replica {
	stages := max(c.Stages, 1)
	r := replica{
		scheduler: c.Scheduler, memory: c.Memory, clock: c.Clock, speculator: c.Speculator,
		maxLeap: maxLeap, limit: c.MaxContext, passes: c.Role == Prefill, relays: c.Relays,
		batches: make([]Batch, stages), free: make([]Time, stages),
		host: c.Host, hostFree: c.Host.Tokens, retry: Never, next: Never,
	}
	if stages == 1 {
		r.lookahead = int64(c.Lookahead)
	}
	r.leaper, _ = c.Clock.(LeapClock)
	r.listener, _ = c.Scheduler.(Listener)
	r.withdrawer, _ = c.Scheduler.(Withdrawer)
	r.tiered, _ = c.Memory.(TieredMemory)
	return r
}

// init ties the batches to r, which has reached its place in memory.
func (r *replica) init() {
	for i := range r.batches {
		b := &r.batches[i]
		b.r, b.lane = r, i
		b.step.Sequences = b.decodingSequences
	}
	if m, ok := r.memory.(SlotMemory); ok {
		r.slots = func() Slots { return r.slotsOf(m, r.sampled) }
	}
}

// accept takes in a request that arrives now.
func (r *replica) accept(s *Sequence, now Time) {
	r.now = now
	s.visible = r.planned
	hidden := false // until a step is planned that can see s
	for i := range r.batches {
		if b := &r.batches[i]; b.flight.active {
			r.interrupt(b, s)
			hidden = r.lookahead > 0
		}
	}
	if hidden || r.incoming.Len() > 0 {
		r.incoming.Push(s)
	} else {
		r.scheduler.Enqueue(s)
	}
	r.retryFrom(now)
	r.schedule()
}

// interrupt cuts b's leap short at the first boundary at which s can be planned for, and sets
// s.visible to it.
func (r *replica) interrupt(b *Batch, s *Sequence) {
	f := &b.flight
	if !f.leaping {
		s.visible = r.planned + r.lookahead
		return
	}
	if f.ignoreArrivals && r.lookahead == 0 {
		return // the scheduler may as well see it now
	}
	current := f.run.ending(r.now - f.start) // steps from the start to the end of the one that runs
	s.visible = r.planned - f.steps + current + r.lookahead
	if !f.ignoreArrivals {
		r.shorten(b, current+r.lookahead)
	}
}

// cut ends b's leap with the step that runs.
func (r *replica) cut(b *Batch) {
	if f := &b.flight; f.leaping {
		r.shorten(b, f.run.ending(r.now-f.start))
	}
}

// shorten bounds the steps of b's leap.
func (r *replica) shorten(b *Batch, steps int64) {
	f := &b.flight
	if steps < f.steps {
		r.planned -= f.steps - steps
		r.fly(b, steps)
	}
	if len(r.batches) > 1 {
		b.store(f.steps) // now that another batch may need memory
	}
}

// fly sets the number of steps of b's leap, and with it its end and when the pipeline stages are
// free.
func (r *replica) fly(b *Batch, steps int64) {
	f := &b.flight
	f.steps = steps
	f.end = f.start + f.run.duration(steps)
	last := len(r.free) - 1
	r.free[last] = f.end
	if last > 0 { // the last step leaves the stages one after another
		stage := f.run.step(steps-1) / Time(len(r.free))
		for i := range last {
			r.free[i] = f.end - Time(last-i)*stage
		}
	}
}

// retryFrom asks for a new attempt to start a resting batch, as soon as the first stage is free.
func (r *replica) retryFrom(at Time) {
	for i := range r.batches {
		if !r.batches[i].flight.active {
			r.retry = min(r.retry, max(at, r.free[0]))
			return
		}
	}
}

// schedule finds out when something happens next.
func (r *replica) schedule() {
	r.next = r.retry
	for i := range r.batches {
		if f := &r.batches[i].flight; f.active {
			r.next = min(r.next, f.end)
		}
	}
}

// land ends the leaps that end now. launch follows.
func (r *replica) land(now Time) {
	r.now = now
	for i := range r.batches {
		if b := &r.batches[i]; b.flight.active && b.flight.end == now {
			b.land()
			r.retryFrom(now)
		}
	}
}

// launch begins the leaps that can begin now.
func (r *replica) launch(now Time) {
	if r.retry <= now {
		r.retry = Never
		r.launchBatch()
	}
	r.schedule()
}

// launchBatch starts a batch that rests, if the scheduler has a step for one.
func (r *replica) launchBatch() {
	r.reveal(r.planned)
	for range r.batches {
		b := &r.batches[r.first]
		r.first = (r.first + 1) % len(r.batches)
		if b.flight.active {
			continue
		}
		if b.launch() {
			r.retryFrom(r.free[0])
			return
		}
	}
}

// reveal hands the scheduler the arrivals that the given step can see.
func (r *replica) reveal(step int64) {
	for s := r.incoming.Front(); s != nil && s.visible <= step; s = r.incoming.Front() {
		r.incoming.Remove(s)
		r.scheduler.Enqueue(s)
	}
}

// alone reports whether only b has work, now and soon.
func (r *replica) alone(b *Batch) bool {
	if len(r.batches) == 1 {
		return true
	}
	for i := range r.batches {
		if other := &r.batches[i]; other != b && other.running > 0 {
			return false
		}
	}
	return r.scheduler.Waiting() == 0
}

// state returns what the replica looks like at the time at, before which nothing else happens. A
// step that ends then counts as running still where events of that time are to come.
func (r *replica) state(at Time, early bool) State {
	st := State{
		Waiting: r.scheduler.Waiting() + r.incoming.Len(),
		Used:    r.memory.Used(), Capacity: r.memory.Capacity(),
	}
	for i := range r.batches {
		b := &r.batches[i]
		st.Running += b.running
		st.Decoding += b.decodes
		if b.flight.active && b.flight.leaping {
			// The step that runs has its memory, see store.
			running := b.flight.run.completed(at-b.flight.start) + 1
			if early {
				running = b.flight.run.ending(at - b.flight.start)
			}
			running = min(running, b.flight.steps)
			st.Used += r.memory.Growth(b.lane, running-b.flight.stored)
		}
	}
	return st
}

// busy returns the time during which steps ran until now.
func (r *replica) busy(now Time) Time {
	begin := Never
	for i := range r.batches {
		if fl := &r.batches[i].flight; fl.active {
			begin = min(begin, fl.start)
		}
	}
	return r.result.Busy + max(0, now-max(begin, r.busyUntil))
}

// serves reports whether r can serve q, and if not, why.
func (r *replica) serves(q *Request) (why Rejection, ok bool) {
	tokens := q.Prompt + q.Output - 1 // the last token's KV is never stored
	if r.passes {
		tokens = q.Prompt
	}
	switch {
	case r.limit > 0 && q.Prompt+q.Output > r.limit:
		return TooLong, false
	case !r.memory.Fits(tokens):
		return TooLarge, false
	}
	return 0, true
}
