package sim

import (
	"context"
	"errors"
	"fmt"
)

// Fleet is the set of replicas that a Router chooses from.
type Fleet struct {
	source   Source
	router   Router
	observer Observer
	replicas []replica
	next     tournament // when something happens at each replica

	now    Time
	err    error
	spare  []*Sequence // finished sequences, for reuse
	result Result
}

// Len returns the number of replicas.
func (f *Fleet) Len() int { return len(f.replicas) }

// Outstanding returns the number of requests that replica i has accepted and not finished.
func (f *Fleet) Outstanding(i int) int {
	r := &f.replicas[i]
	n := r.scheduler.Waiting() + r.incoming.Len()
	for b := range r.batches {
		n += r.batches[b].running
	}
	return n
}

// eventsPerCheck is how many events pass between two looks at the context.
const eventsPerCheck = 4096

// Run simulates until every request of the source is answered or rejected, or ctx is cancelled. The result is determined by
// the configuration alone. The error is the context's, the source's, or says which scheduler left requests behind.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	f := newFleet(&c)
	sample := Never
	if c.SampleEvery > 0 && c.Observer != nil {
		sample = 0
	}
	for events := 0; ; events++ {
		if events%eventsPerCheck == 0 && ctx.Err() != nil {
			return f.summary(), context.Cause(ctx)
		}
		arrival := f.source.NextArrival()
		i, at := f.next.min()
		if sample < min(arrival, at) {
			if min(arrival, at) == Never {
				break
			}
			f.sample(sample)
			sample += c.SampleEvery
			continue
		}
		// At the same time, arrivals come before what happens at replicas, and those are in order of their index.
		if arrival <= at {
			if arrival == Never {
				break
			}
			f.arrive(arrival)
		} else {
			f.now = at
			f.replicas[i].advance(at)
			f.next.set(i, f.replicas[i].next)
		}
		if f.err != nil {
			return f.summary(), f.err
		}
	}
	if err := f.source.Err(); err != nil {
		return f.summary(), err
	}
	return f.summary(), f.abandoned()
}

func newFleet(c *Config) *Fleet {
	f := &Fleet{source: c.Source, router: c.Router, observer: c.Observer, next: newTournament(len(c.Replicas))}
	maxLeap := c.MaxLeap
	if maxLeap == 0 {
		maxLeap = Forever
	}
	f.replicas = make([]replica, len(c.Replicas))
	for i := range c.Replicas {
		f.replicas[i] = newReplica(f, i, &c.Replicas[i], maxLeap)
		f.replicas[i].init()
	}
	return f
}

// arrive takes the next request from the source to a replica.
func (f *Fleet) arrive(at Time) {
	s := f.sequence()
	f.source.Next(&s.Request)
	s.ID = f.result.Arrived
	switch {
	case at < f.now || s.Arrival != at:
		f.err = fmt.Errorf("sim: request %d arrives at %v, announced for %v, when it is %v already", s.ID, s.Arrival, at, f.now)
		return
	case s.Prompt < 1 || s.Output < 1:
		f.err = fmt.Errorf("sim: request %d has %d prompt and %d output tokens, want 1 or more of each", s.ID, s.Prompt, s.Output)
		return
	}
	f.now = at
	f.result.Arrived++
	i := f.router.Route(&s.Request, f)
	if i < 0 || i >= len(f.replicas) {
		f.err = fmt.Errorf("sim: the router sent request %d to replica %d of %d", s.ID, i, len(f.replicas))
		return
	}
	r := &f.replicas[i]
	switch {
	case r.limit > 0 && s.Prompt+s.Output > r.limit:
		f.reject(r, s, TooLong)
	case !r.memory.Fits(s.Prompt + s.Output - 1): // the last token's KV is never stored
		f.reject(r, s, TooLarge)
	default:
		r.accept(s, at)
		f.next.set(i, r.next)
	}
}

func (f *Fleet) reject(r *replica, s *Sequence, why Rejection) {
	r.result.Rejected++
	f.result.Rejected++
	if f.observer != nil {
		f.observer.Rejected(&s.Request, why)
	}
	f.retire(s, f.now)
}

// finish counts s, whose last token came out now.
func (f *Fleet) finish(s *Sequence) {
	f.result.Completed++
	f.result.End = max(f.result.End, s.LastToken)
	if f.observer != nil {
		f.observer.Finished(s)
	}
	f.retire(s, s.LastToken+s.Latency)
}

// retire tells the source that s is done with, and keeps its space for reuse.
func (f *Fleet) retire(s *Sequence, at Time) {
	f.source.Done(&s.Request, at)
	s.reset()
	f.spare = append(f.spare, s)
}

func (f *Fleet) sequence() *Sequence {
	n := len(f.spare)
	if n == 0 {
		return new(Sequence)
	}
	s := f.spare[n-1]
	f.spare = f.spare[:n-1]
	return s
}

func (f *Fleet) sample(at Time) {
	for i := range f.replicas {
		f.observer.Sampled(at, i, f.replicas[i].state(at))
	}
}

func (f *Fleet) summary() Result {
	f.result.Replicas = make([]ReplicaResult, len(f.replicas))
	for i := range f.replicas {
		f.result.Replicas[i] = f.replicas[i].result
		f.result.Replicas[i].KVCapacity = f.replicas[i].memory.Capacity()
	}
	return f.result
}

// abandoned returns an error where a scheduler rests although requests wait.
func (f *Fleet) abandoned() error {
	var errs []error
	for i := range f.replicas {
		if n := f.Outstanding(i); n > 0 {
			errs = append(errs, fmt.Errorf("sim: the scheduler %T of replica %d rests although %d requests wait", f.replicas[i].scheduler, i, n))
		}
	}
	return errors.Join(errs...)
}
