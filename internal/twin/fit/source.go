package fit

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/sim"
)

// replay is a sim.Source of the requests of a run. A client with a limit sends a request when it is
// due and one of its slots is free.
type replay struct {
	requests []sim.Request
	order    []int // of sending: numbers of requests
	limited  bool
	next     int
	free     []sim.Time // when the slots that are free became so, the earliest first
}

func newReplay(requests []sim.Request, limit int) *replay {
	s := &replay{requests: requests, order: make([]int, len(requests)), limited: limit > 0,
		free: make([]sim.Time, min(limit, len(requests)))}
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		return cmp.Compare(requests[a].Arrival, requests[b].Arrival)
	})
	return s
}

// NextArrival implements sim.Source.
func (s *replay) NextArrival() sim.Time {
	switch {
	case s.next == len(s.requests), s.limited && len(s.free) == 0:
		return sim.Never
	case s.limited:
		return max(s.requests[s.order[s.next]].Arrival, s.free[0])
	}
	return s.requests[s.order[s.next]].Arrival
}

// Next implements sim.Source.
func (s *replay) Next(r *sim.Request) {
	id, space, at := r.ID, r.Content[:0], s.NextArrival()
	*r = s.requests[s.order[s.next]]
	r.ID, r.Arrival, r.Content = id, at, append(space, r.Content...)
	s.next++
	if s.limited {
		s.free = s.free[1:]
	}
}

// Done implements sim.Source.
func (s *replay) Done(_ *sim.Request, at sim.Time) {
	if s.limited {
		i, _ := slices.BinarySearch(s.free, at)
		s.free = slices.Insert(s.free, i, at)
	}
}

// Err implements sim.Source.
func (s *replay) Err() error { return nil }

// requestsOf returns the requests of a run in its order, without the failed ones, and how many come
// before the requests that are compared. A request that ended without a token costs what one with a
// single token does.
func requestsOf(r *observed.Run) (list []sim.Request, before int) {
	if len(r.Requests) == 0 {
		return drawnRequests(r)
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		at := q.Arrival
		if r.Load.Concurrency == 0 {
			at = q.Start()
		}
		if q.Failed {
			continue
		}
		one := sim.Request{Arrival: sim.Seconds(at), Prompt: max(1, q.Prompt),
			Output: max(1, q.Output), Content: q.Content}
		if q.Cached > 0 && len(q.Content) == 0 {
			one.Content = []sim.Segment{{ID: 1, Tokens: min(q.Cached, one.Prompt-1)}}
		}
		list = append(list, one)
	}
	return list, 0
}

// mostDrawn bounds the requests that are drawn for a run whose requests are not known one by one.
const mostDrawn = 20_000

// drawnRequests returns requests at random, for a run with only its figures known: given their
// number, the arrivals of a Poisson process are independent and uniform.
func drawnRequests(r *observed.Run) (list []sim.Request, before int) {
	l := &r.Load
	rng := rand.New(rand.NewPCG(0, 1))
	prompt, output := max(1, int(l.Prompt+0.5)), max(1, int(l.Output+0.5))
	at, n := 0.0, 0
	send := func(count int, seconds float64) {
		times := make([]float64, count)
		for i := range times {
			times[i] = at + rng.Float64()*seconds
		}
		slices.Sort(times)
		for _, t := range times {
			q := sim.Request{Arrival: sim.Seconds(t), Prompt: prompt, Output: output}
			if l.Distinct > 0 {
				q.Content = content(l, n%l.Distinct, prompt)
			}
			list = append(list, q)
			n++
		}
		at += seconds
	}
	if l.Warm && l.Distinct > 0 && l.Rate > 0 {
		send(l.Distinct, float64(l.Distinct)/l.Rate)
		before = l.Distinct
	}
	for _, v := range r.Intervals {
		send(min(int(v.Requests+0.5), mostDrawn-len(list)), v.Seconds)
	}
	if len(r.Intervals) == 0 {
		count, seconds := l.Requests, l.Seconds
		if count == 0 {
			count = int(l.Rate*seconds + 0.5)
		}
		if l.Rate == 0 { // a closed loop: the limit alone sets the pace
			seconds = 0
		} else if seconds == 0 || l.Concurrency > 0 {
			seconds = float64(count) / l.Rate
		}
		if count > mostDrawn {
			seconds *= mostDrawn / float64(count)
			count = mostDrawn
		}
		send(count, seconds)
	}
	return list, before
}

// content returns what prompt number n of a run shares: the system prompt of its group, and the
// rest with its repetitions.
func content(l *observed.Load, n, prompt int) []sim.Segment {
	var list []sim.Segment
	system := min(l.System, prompt-1)
	if system > 0 {
		list = append(list, sim.Segment{ID: uint64(1 + n%max(1, l.Groups)), Tokens: system})
	}
	return append(list, sim.Segment{ID: uint64(1 + max(1, l.Groups) + n), Tokens: prompt - system})
}
