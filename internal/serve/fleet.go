package serve

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmsim/llmsim/internal/alarm"
	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/sim"
)

// FleetConfig is a fleet that is simulated in wall-clock time.
type FleetConfig struct {
	// Simulation is the fleet. Its source may send requests of its own, whose answers go to no
	// client.
	Simulation sim.Config
	// Models are the names of the served models, by sim.Request.Model.
	Models []Model
	// Speed is the number of simulated seconds in one second of wall-clock time, above 0.
	Speed float64
	// Tenants are the names of tenants by sim.Request.Tenant. Other names follow as they come.
	Tenants []string
	// Record, if set, is called with every request when it arrives.
	Record func(r *sim.Request)
	// Complete, if set, is called with the sequence of an answer that ends by a stop which the
	// simulation could not foresee.
	Complete func(s *sim.Sequence)
	// Executor, if set, computes the steps of the one replica.
	Executor *Executor
}

// Fleet is a Backend that simulates. One goroutine drives the simulation, and others give it
// orders.
type Fleet struct {
	sim.NopObserver
	config  FleetConfig
	loop    *sim.Simulation
	alarm   *alarm.Alarm
	start   time.Time
	slow    []slowClock // by replica
	broken  []lasting   // in the order in which they were caused
	pins    *pins
	jobs    map[int64]*Job // under way, by sim.Request.ID
	ids     map[*Job]int64
	delayed delay
	known   tenants
	err     error
	// up says for each replica whether it serves, as it was seen last. watch, if set, hears it.
	up    []atomic.Bool
	watch func(replica int, up bool)

	mu     sync.Mutex
	orders []order
	taken  []order
	closed bool
	done   chan struct{}
}

// order is a call that another goroutine wants to be made, at a time of the simulation.
type order struct {
	at time.Time
	do func(at sim.Time)
}

// housekeeping is the interval of scaling and sampling in a fleet without requests, in wall time.
const housekeeping = 100 * time.Millisecond

// NewFleet returns a fleet. Run drives it.
func NewFleet(c FleetConfig) (*Fleet, error) {
	f := &Fleet{config: c, known: newTenants(c.Tenants), jobs: map[int64]*Job{},
		ids: map[*Job]int64{}, done: make(chan struct{})}
	s := c.Simulation
	s.MaxLeap = 1 // tokens are seen one by one
	s.Tokens = f.tokens
	f.pins = &pins{Router: s.Router, replica: map[int64]int{}, refuse: f.refuse}
	s.Router = f.pins
	f.slow = make([]slowClock, len(s.Replicas))
	s.Replicas = append([]sim.ReplicaConfig(nil), s.Replicas...)
	if c.Executor != nil {
		c.Executor.job = func(id int64) *Job { return f.jobs[id] }
		// Computing blocks this goroutine, and users must not wait for it with what is there.
		c.Executor.before = func() { f.delayed.deliver(time.Now()) }
		c.Executor.began = func() time.Time { return f.momentOf(f.loop.Now()) }
	}
	f.up = make([]atomic.Bool, len(s.Replicas))
	for i := range s.Replicas {
		f.up[i].Store(true)
		f.slow[i] = slowClock{StepClock: s.Replicas[i].Clock, factor: 1}
		s.Replicas[i].Clock = &f.slow[i]
	}
	if s.Observer == nil {
		s.Observer = f
	} else {
		s.Observer = sim.Observers{s.Observer, f}
	}
	var err error
	if f.loop, err = sim.New(s); err != nil {
		return nil, err
	}
	if f.alarm, err = alarm.New(); err != nil {
		return nil, err
	}
	f.start = time.Now()
	return f, nil
}

// Models implements Backend.
func (f *Fleet) Models() []Model { return f.config.Models }

// Ready implements Backend: a replica serves.
func (f *Fleet) Ready() bool {
	for i := range f.up {
		if f.up[i].Load() {
			return true
		}
	}
	return false
}

// setUp notes whether a replica serves.
func (f *Fleet) setUp(replica int, up bool) {
	f.up[replica].Store(up)
	if f.watch != nil {
		f.watch(replica, up)
	}
}

// refuse ends a request that only one replica may serve, which does not take it.
func (f *Fleet) refuse(id int64) {
	f.order(func(sim.Time) {
		if j := f.jobs[id]; j != nil {
			f.loop.Cancel(id)
			j.fail(sim.Unavailable)
		}
	})
}

// Run drives the simulation until stop is called, and returns the error that ended it, if any.
func (f *Fleet) Run() error {
	defer close(f.done)
	defer f.alarm.Close()
	for {
		f.delayed.deliver(time.Now())
		orders, closed := f.take()
		for _, o := range orders {
			// What is pushed comes after what has happened, so that there must be room before it.
			at := max(f.timeOf(o.at), f.loop.Now()+1)
			f.advance(at - 1)
			o.do(at)
		}
		now := time.Now()
		f.advance(f.timeOf(now))
		if closed || f.err != nil {
			f.abandon()
			return f.err
		}
		f.delayed.deliver(now)
		f.alarm.Wait(f.wake(now))
	}
}

// stop ends Run, and with it all requests in flight.
func (f *Fleet) stop() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.alarm.Wake()
}

// wake returns when something is to be done next.
func (f *Fleet) wake(now time.Time) time.Time {
	until := now.Add(housekeeping)
	if next := f.loop.Next(); next != sim.Never {
		if at := f.momentOf(next); at.Before(until) {
			until = at
		}
	}
	if at, ok := f.delayed.next(); ok && at.Before(until) {
		until = at
	}
	return until
}

// advance lets everything happen that is due.
func (f *Fleet) advance(at sim.Time) {
	if f.err == nil {
		f.err = f.loop.Advance(at)
	}
	if x := f.config.Executor; x != nil && f.err == nil {
		f.err = x.err
	}
}

// Now returns the time of the simulation.
func (f *Fleet) Now() sim.Time { return f.timeOf(time.Now()) }

func (f *Fleet) timeOf(t time.Time) sim.Time {
	return sim.Time(float64(t.Sub(f.start)) * f.config.Speed * float64(sim.Nanosecond))
}

// momentOf returns the first moment at which the time of the simulation is t.
func (f *Fleet) momentOf(t sim.Time) time.Time {
	return f.start.Add(time.Duration(float64(t)/float64(sim.Nanosecond)/f.config.Speed) + 1)
}

// order hands something to the goroutine that drives.
func (f *Fleet) order(do func(at sim.Time)) {
	o := order{time.Now(), do}
	f.mu.Lock()
	f.orders = append(f.orders, o)
	f.mu.Unlock()
	f.alarm.Wake()
}

// take returns the orders since the last call, valid until the next.
func (f *Fleet) take() (orders []order, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.taken)
	f.orders, f.taken = f.taken[:0], f.orders
	return f.taken, f.closed
}

// Start implements Backend.
func (f *Fleet) Start(j *Job) {
	if !j.Came.IsZero() {
		j.reading = time.Since(j.Came)
	}
	f.order(func(at sim.Time) {
		r := j.Request
		r.Arrival, r.Tenant = at, f.known.number(j.Tenant)
		id, err := f.loop.Push(r)
		if err != nil {
			j.fail(sim.Unavailable)
			return
		}
		r.ID = id
		f.jobs[id], f.ids[j] = j, id
		f.pins.pin(id, j.Replica)
		if f.config.Record != nil {
			f.config.Record(&r)
		}
	})
}

// Cancel implements Backend.
func (f *Fleet) Cancel(j *Job) {
	if j.snapshot().Ended {
		return
	}
	f.order(func(sim.Time) {
		if id, ok := f.ids[j]; ok {
			f.loop.Cancel(id)
		}
	})
}

// Stop implements Backend. For the simulation the request is cancelled; for metrics it is complete.
func (f *Fleet) Stop(j *Job) {
	f.order(func(sim.Time) {
		id, ok := f.ids[j]
		if !ok || j.complete {
			return
		}
		if f.config.Complete != nil && len(j.generated) > 0 {
			j.Asked.Finish = "stop"
			j.seen.Output = len(j.generated)
			f.config.Complete(&j.seen)
		}
		j.complete = true
		f.loop.Cancel(id)
	})
}

// abandon fails what is under way when the fleet stops.
func (f *Fleet) abandon() {
	f.delayed.deliver(time.Now().Add(time.Hour))
	for _, j := range f.jobs {
		j.fail(sim.Lost)
	}
	orders, _ := f.take()
	for _, o := range orders {
		o.do(f.loop.Now())
	}
}

// tokens is called by the simulation when tokens came out.
func (f *Fleet) tokens(s *sim.Sequence, count int, at sim.Time) {
	j := f.jobs[s.ID]
	if j == nil {
		return
	}
	n := update{tokens: s.Progress(), cached: s.Cached, first: s.Progress() == count}
	if x := f.config.Executor; x != nil {
		n.text, n.logprobs = j.generated, j.logprobs
		n.tokens = len(n.text)
		j.seen = *s
		j.seen.LastToken = at
		if last := n.tokens - 1; last >= 0 && x.ends(n.text[last]) && !j.IgnoreEnd {
			n.tokens, n.ended, n.stopped = last, true, true
			f.Stop(j)
		}
	}
	f.delayed.add(f.seen(j, at, s.Latency), j, n)
}

// seen returns when the user of j sees what came out at a time. The front end of the simulated
// server takes latency; what reading the request took for real is a part of it.
func (f *Fleet) seen(j *Job, at, latency sim.Time) time.Time {
	earliest := f.momentOf(at)
	if seen := f.momentOf(at + latency).Add(-j.reading); seen.After(earliest) {
		return seen
	}
	return earliest
}

// Finished implements sim.Observer.
func (f *Fleet) Finished(s *sim.Sequence) {
	if j := f.forget(s.ID); j != nil {
		f.delayed.add(f.seen(j, s.LastToken, s.Latency), j,
			update{tokens: s.Output, cached: s.Cached, text: j.generated, logprobs: j.logprobs,
				ended: true})
	}
}

// Rejected implements sim.Observer.
func (f *Fleet) Rejected(r *sim.Request, why sim.Rejection) {
	if j := f.forget(r.ID); j != nil {
		j.fail(why)
	}
}

// Sampled implements sim.Observer.
func (f *Fleet) Sampled(_ sim.Time, replica int, s sim.State) { f.setUp(replica, s.Up) }

// forget returns the job of a request that has ended, and drops it.
func (f *Fleet) forget(id int64) *Job {
	j := f.jobs[id]
	if j != nil {
		delete(f.jobs, id)
		delete(f.ids, j)
		f.pins.unpin(id)
	}
	if x := f.config.Executor; x != nil {
		x.release(id)
	}
	return j
}

// parameters returns what was asked for beside the prompt of a request that ends.
func (f *Fleet) parameters(r *sim.Request) telemetry.Parameters {
	if j := f.jobs[r.ID]; j != nil {
		j.Asked.Complete = j.complete
		return j.Asked
	}
	return telemetry.Parameters{N: 1}
}

// mostTenants bounds the tenants that are counted apart. All that come later count as one.
const mostTenants = 1 << 16

// tenants numbers tenants by their names.
type tenants struct{ numbers map[string]int }

// newTenants numbers the tenants of a scenario as it does. A scenario without has one of no name.
func newTenants(names []string) tenants {
	if len(names) == 0 {
		names = []string{""}
	}
	t := tenants{numbers: map[string]int{}}
	for i, name := range names {
		t.numbers[name] = i
	}
	return t
}

// number returns the number of a tenant; 0 for one without a name.
func (t tenants) number(name string) int {
	n, known := t.numbers[name]
	if known || name == "" {
		return n
	}
	if n = len(t.numbers); n < mostTenants {
		t.numbers[name] = n
	}
	return n
}
