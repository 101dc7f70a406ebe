package workload

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// Opening sends the first requests of a source, for a run that only prepares another, which sends
// the others.
type Opening struct {
	Source
	// Enough reports whether the opening is over. It is asked when a request was sent or has ended.
	Enough func() bool
	sent   int64
	over   bool
	last   sim.Time // when the last of them arrived
}

// Sent returns the number of its requests so far.
func (o *Opening) Sent() int64 { return o.sent }

// Over reports whether enough requests were sent.
func (o *Opening) Over() bool { return o.over }

// NextArrival implements sim.Source.
func (o *Opening) NextArrival() sim.Time {
	if o.over {
		return sim.Never
	}
	return o.Source.NextArrival()
}

// Next implements sim.Source.
func (o *Opening) Next(r *sim.Request) {
	o.Source.Next(r)
	o.last = r.Arrival
	o.sent++
	o.over = o.over || o.Enough()
}

// Done implements sim.Source.
func (o *Opening) Done(r *sim.Request, at sim.Time) {
	o.Source.Done(r, at)
	o.over = o.over || o.Enough()
}

// Until implements sim.Timed. An opening ends with its last request.
func (o *Opening) Until() sim.Time { return 0 }

// Rest returns the source of the requests that follow. Its time 0 is when the last request of the
// opening arrived, so that arrivals go on as if there had been one run.
func (o *Opening) Rest() Source { return &rest{o.Source, o.last, o.sent} }

// Opened returns the number of requests of a source that an opening has sent.
func Opened(s Source) int64 {
	if r, ok := s.(*rest); ok {
		return r.sent
	}
	return 0
}

// rest is a source from a time on.
type rest struct {
	Source
	begin sim.Time
	sent  int64
}

// NextArrival implements sim.Source.
func (s *rest) NextArrival() sim.Time { return s.since(s.Source.NextArrival()) }

// since returns a time of the source as one of the rest.
func (s *rest) since(at sim.Time) sim.Time {
	if at == sim.Never {
		return at
	}
	return at - s.begin
}

// Next implements sim.Source.
func (s *rest) Next(r *sim.Request) {
	s.Source.Next(r)
	r.Arrival -= s.begin
	if r.Deadline > 0 {
		r.Deadline = s.since(r.Deadline)
	}
}

// Done implements sim.Source.
func (s *rest) Done(r *sim.Request, at sim.Time) {
	r.Arrival += s.begin
	s.Source.Done(r, later(at, s.begin))
	r.Arrival -= s.begin
}

// Until implements sim.Timed.
func (s *rest) Until() sim.Time {
	timed, ok := s.Source.(sim.Timed)
	if !ok {
		return 0
	}
	return max(0, timed.Until()-s.begin)
}

// Summary implements Source.
func (s *rest) Summary() Summary {
	sum := s.Source.Summary()
	sum.Text += fmt.Sprintf("; before the run, %d of them filled the caches", s.sent)
	if sum.Requests > 0 {
		sum.Requests -= s.sent
	}
	if sum.Duration > 0 {
		sum.Duration -= s.begin
	}
	return sum
}
