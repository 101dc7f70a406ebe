package sim

import "math/bits"

// Sum is an exact sum of products of numbers and spans of time, in ticks. It has 128 bits, so that
// neither a long run nor the order of the terms changes it.
type Sum struct{ High, Low uint64 }

// Add adds n·span. Neither is negative.
func (s *Sum) Add(n int64, span Time) {
	high, low := bits.Mul64(uint64(n), uint64(span))
	var carry uint64
	s.Low, carry = bits.Add64(s.Low, low, 0)
	s.High, _ = bits.Add64(s.High, high, carry)
}

// sub subtracts n·span, which the sum must contain.
func (s *Sum) sub(n int64, span Time) {
	high, low := bits.Mul64(uint64(n), uint64(span))
	var borrow uint64
	s.Low, borrow = bits.Sub64(s.Low, low, 0)
	s.High, _ = bits.Sub64(s.High, high, borrow)
}

// Ticks returns the sum, rounded to a float64.
func (s Sum) Ticks() float64 { return float64(s.High)*(1<<64) + float64(s.Low) }

// Over returns the mean over a span of time of the number whose integral is s; 0 over no time.
func (s Sum) Over(span Time) float64 {
	if span <= 0 {
		return 0
	}
	return s.Ticks() / float64(span)
}

// Load is the number of requests that wait and that run, over the time from 0 to Result.End. A
// request is in the system from its arrival until its last token comes out, or until it ends
// without an answer. It runs while it has a place in a batch, and waits otherwise: in a queue, for
// a replica, while its images are encoded, and while its KV cache moves. So the two integrals are
// together the sum of the times that requests spend in the system.
type Load struct{ Waiting, Running Level }

// Level is a number over time.
type Level struct {
	// Integral is exact, and so is Peak, the largest number that lasted for more than an instant.
	Integral Sum
	Peak     int64
}

// stage is the count of a Load to which a request belongs.
type stage uint8

const (
	outside stage = iota // it has not arrived, or has ended
	waits
	runs
)

// load is a Load under way. Only move and pass change it.
type load struct {
	at   Time     // of the last change; never falls
	now  [2]int64 // the requests that wait and that run, from at on; neither is below 0
	Load          // from time 0 to at
}

// move notes that a request is at another stage from the given time on.
func (l *load) move(at Time, from, to stage) {
	if at > l.at {
		l.pass(at)
	}
	if from != outside {
		l.now[from-waits]--
	}
	if to != outside {
		l.now[to-waits]++
	}
}

// pass adds the time up to the given one.
func (l *load) pass(until Time) {
	span := until - l.at
	l.at = until
	if n := l.now[0]; n > 0 {
		l.Waiting.Peak = max(l.Waiting.Peak, n)
		l.Waiting.Integral.Add(n, span)
	}
	if n := l.now[1]; n > 0 {
		l.Running.Peak = max(l.Running.Peak, n)
		l.Running.Integral.Add(n, span)
	}
}

// until returns the load up to a time, which is not before the last change.
func (l load) until(end Time) Load {
	if end > l.at {
		l.pass(end)
	}
	return l.Load
}

// loads are the loads of a fleet: of all requests, and of each class, tenant and set of replicas.
type loads struct {
	all                    load
	classes, tenants, sets []load
}

// allUntil returns loads up to a time.
func allUntil(end Time, list []load) []Load {
	all := make([]Load, len(list))
	for i := range list {
		all[i] = list[i].until(end)
	}
	return all
}
