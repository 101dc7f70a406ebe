package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// realTime makes simulated time wall time: users are goroutines that send their requests when it is
// time, and a step lasts until it has ended. So it has what the virtual clock leaves out: the work
// of schedulers and memory between steps, threads that wake up late, and what other programs take
// of the processors.
type realTime struct {
	sim.NopObserver
	sim.Source
	clock   *engine.Clock
	begin   time.Time
	arrived chan struct{}
	// next is when the next step begins: when the one before ends, or a request arrives after that.
	// Began is when the latest step did.
	next, began sim.Time
	err         error
}

// now returns the wall time since the beginning.
func (r *realTime) now() sim.Time { return sim.Time(time.Since(r.begin)) * sim.Nanosecond }

// Next implements sim.Source: it waits for the user.
func (r *realTime) Next(request *sim.Request) {
	at := r.NextArrival()
	go func() {
		time.Sleep(time.Duration((at - r.now()) / sim.Nanosecond))
		r.arrived <- struct{}{}
	}()
	<-r.arrived
	r.next = max(r.next, at)
	r.Source.Next(request)
}

// Duration implements sim.StepClock.
func (r *realTime) Duration(s *sim.Step) sim.Time {
	r.clock.Duration(s)
	r.began = r.next
	r.next = max(r.now(), r.began+sim.Tick)
	return r.next - r.began
}

// Steps implements sim.Observer.
func (r *realTime) Steps(l *sim.Leap) {
	if l.Start != r.began && r.err == nil {
		r.err = scenarios.BadInput(
			fmt.Errorf("a step began at %v, when no step ended and no request arrived: a "+
				"scheduler that waits cannot run in real time", l.Start))
	}
}

// runInRealTime executes the scenario once with wall-clock arrivals.
func (d *side) runInRealTime(ctx context.Context) error {
	s, err := d.file.Build(policies.Default())
	if err != nil {
		return err
	}
	if d.drafts != nil {
		return scenarios.BadInput(errors.New("scenarios with drafts do not run in real time"))
	}
	clock := d.host.Clock(d.engine)
	defer clock.Reset()
	live := &realTime{clock: clock, arrived: make(chan struct{}), begin: time.Now()}
	s.ReplaceClocks(func(sim.StepClock) sim.StepClock { return live })
	s.ReplaceSource(func(source sim.Source) sim.Source {
		live.Source = source
		return live
	})
	w := &watcher{clock: clock}
	result, err := s.Run(ctx, live, w)
	if err = errors.Join(err, clock.Err(), live.err); err != nil {
		return fmt.Errorf("%s: %w", d.result.Name, err)
	}
	d.result.RealTime = &Run{Result: result, Requests: w.requests, Spans: w.spans}
	return nil
}
