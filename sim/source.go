package sim

// Source yields requests in order of arrival. Open-loop sources ignore Done. Closed-loop sources
// send a user's next request after the previous one has ended.
type Source interface {
	// NextArrival returns the arrival time of the next known request, or Never if no request is
	// known. While requests are unfinished, Done may make more known. Only Next and Done change the
	// result.
	NextArrival() Time
	// Next fills r with the request that NextArrival announced, and reuses the space of r.Content.
	// It writes every field of r except ID, which the simulator sets. It is called only when
	// NextArrival is not Never.
	Next(r *Request)
	// Done is called when r ended at the time at, with or without an answer. Arrivals that follow
	// from it must not be earlier than at.
	Done(r *Request, at Time)
	// Err returns the error that ended the stream, such as a corrupt line of a trace, or nil. The
	// simulator calls it when NextArrival is Never.
	Err() error
}

// Timed is a Source that can be asked for requests over a span of time.
type Timed interface {
	Source
	// Until returns the time until which requests were asked for, or 0 if something else ended the
	// stream, such as a number of requests. The simulator calls it when NextArrival is Never and
	// all requests have ended. The simulation then goes on until that time: scalers are asked,
	// replicas fail and recover, and the state is sampled.
	Until() Time
}

// List is a Source of requests whose times are known, in the order of their arrival. Next removes
// the first of them.
type List []Request

// NextArrival implements Source.
func (l *List) NextArrival() Time {
	if len(*l) == 0 {
		return Never
	}
	return (*l)[0].Arrival
}

// Next implements Source.
func (l *List) Next(r *Request) {
	id, space := r.ID, r.Content[:0]
	*r = (*l)[0]
	r.ID, r.Content = id, append(space, r.Content...)
	*l = (*l)[1:]
}

// Done implements Source.
func (*List) Done(*Request, Time) {}

// Err implements Source.
func (*List) Err() error { return nil }

// noRequests is a source without requests.
type noRequests struct{}

func (noRequests) NextArrival() Time { return Never }

func (noRequests) Next(*Request) {}

func (noRequests) Done(*Request, Time) {}

func (noRequests) Err() error { return nil }

// arrivals are the requests that the source has yet to give.
type arrivals struct {
	source Source
	// announce is the time before its arrival at which a request that continues a session is taken
	// in.
	announce Time
	// next is when the next request is taken in: when it arrives, or up to announce before. It is
	// Never after the last request. Only expect sets it, whenever the source may have changed.
	next     Time
	numbered int64 // requests that have an ID so far, also those from outside: the next ID
}

// expect notes when the next request of the source is taken in, at the given time or later.
func (a *arrivals) expect(from Time) {
	a.next = a.source.NextArrival()
	if a.announce > 0 && a.next != Never {
		a.next = min(a.next, max(a.next-a.announce, from))
	}
}

// number gives q, which is about to arrive, its ID.
func (a *arrivals) number(q *Request) {
	q.ID = a.numbered
	a.numbered++
}

// until returns the time for which the source was asked, or 0.
func (a *arrivals) until() Time {
	if t, ok := a.source.(Timed); ok {
		return t.Until()
	}
	return 0
}
