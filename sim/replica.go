package sim

// replica is a server: a scheduler over a memory, with one batch a pipeline stage.
type replica struct {
	index      int
	scheduler  Scheduler
	memory     Memory
	clock      StepClock
	leaper     LeapClock // clock, where it can leap
	speculator Speculator
	listener   Listener     // scheduler, where it wants to be told
	tiered     TieredMemory // memory, where it has tiers
	host       HostMemory
	lookahead  int64
	maxLeap    int64
	latency    Time
	limit      int // longest context, 0 without bound
	kvBytes    int64
	layers     int
	link       int
	coldStart  Time
	steady     bool // never stopped by a scaler

	now     Time
	batches []Batch
	free    []Time // when each pipeline stage is free
	first   int    // the batch that is served first when the first stage is free
	retry   Time   // when to try to start a batch that rests, or Never
	next    Time   // when something happens by itself, or Never

	admissions int64
	planned    int64     // steps planned so far: the number of the next one
	hostFree   int64     // room in host memory, in tokens
	linkFree   Time      // when the link to it is free
	paused     *Sequence // the first of those that wait and keep their KV cache, see Batch.Pause
	incoming   Queue     // arrivals that the next step cannot see yet, see ReplicaConfig.Lookahead

	// Its place in the fleet. The generation tells failures and stops apart from what was noted before them.
	pool       *Pool
	role       Role
	position   int // in pool.members
	phase      phase
	generation uint32
	since      Time // when it was switched on
	recovers   bool // an outage will end

	// What it was given and has not finished: requests, their prompt tokens, and of these the tokens of prompts not complete.
	outstanding         int
	prompts, uncomputed int64
	leases              int // requests that go on elsewhere and hold memory here
	residents           residents
	computed            Time // when these prompts will be complete, as far as can be told; kept where pool.predicting
	promptToken         Time // see timePerPromptToken

	fleet     *Fleet
	busyUntil Time
	result    ReplicaResult
	leap      Leap // what the observer is shown
	slots     func() Slots
	sampled   Time // when the observer was last shown the state
}

// flight is the leap that a batch has under way.
type flight struct {
	active bool
	start  Time
	end    Time
	// padding is the number of complete sequences among those that decode.
	padding int
	steps   int64
	stored  int64   // steps whose decodes have their memory
	run     stretch // of steps that all stages take one after another; valid where leaping
	// leaping tells that run gives the lengths of the steps; else there is one step.
	leaping        bool
	ignoreArrivals bool
}

func newReplica(f *Fleet, index int, c *ReplicaConfig, maxLeap int64) replica {
	stages := max(c.Stages, 1)
	r := replica{
		index: index, scheduler: c.Scheduler, memory: c.Memory, clock: c.Clock, speculator: c.Speculator,
		maxLeap: maxLeap, latency: c.Latency, limit: c.MaxContext,
		kvBytes: c.KVBytes, layers: c.Layers, link: c.Link, role: c.Role, coldStart: c.ColdStart, steady: c.Steady, phase: serving,
		batches: make([]Batch, stages), free: make([]Time, stages),
		host: c.Host, hostFree: c.Host.Tokens,
		retry: Never, next: Never, fleet: f,
	}
	if stages == 1 {
		r.lookahead = int64(c.Lookahead)
	}
	r.leaper, _ = c.Clock.(LeapClock)
	r.listener, _ = c.Scheduler.(Listener)
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
	s.Replica, s.Latency = r.index, r.latency
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

// interrupt cuts b's leap short at the first boundary at which s can be planned for, and sets s.visible to it.
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

// fly sets the number of steps of b's leap, and with it its end and when the pipeline stages are free.
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

// advance does what happens now: leaps end, and the next ones begin.
func (r *replica) advance(now Time) {
	r.now = now
	for i := range r.batches {
		if b := &r.batches[i]; b.flight.active && b.flight.end == now {
			b.land()
			r.retryFrom(now)
		}
	}
	if r.retry <= now {
		r.retry = Never
		r.launch()
	}
	r.schedule()
}

// launch starts a batch that rests, if the scheduler has a step for one.
func (r *replica) launch() {
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

// alone tells whether no other batch than b has or may soon have work.
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

// state returns what the replica looks like at the time at, before which nothing else happens. A step that ends then counts as
// running still where events of that time are to come.
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
