package observed

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Limits of a closed loop, found with the 37 files of requests of real servers in measured/ and
// measured_2026_11/requests that say enough: within 2 % of the mean latency of the end of an
// answer, a client with a fixed number of streams sends at least 97 % of its requests, and of open
// arrivals at most 68 % come.
const (
	// loopSlack is the longest time between the end of an answer and the request that follows it on
	// the same stream, as a share of the mean latency.
	loopSlack = 0.02
	// loopShare is the least share of such requests.
	loopShare = 0.8
	// loopRequests is the least number of requests after the first of each stream.
	loopRequests = 8
)

// FindLoop finds out whether the client waited for answers, as one does that has a fixed number of
// streams or a limit on its requests in flight: then the k-th request after the first N is sent as
// the k-th answer ends, and N, the most in flight, becomes Load.Concurrency. Of a client whose own
// times of arrival are known, the requests that it sent late have to be such ones; of others, most
// have to be, and their times have to follow the ends of answers more closely than an even pace.
// Requests that waited are due when the one before them is, as no time of their own is known.
//
// The requests are in order of arrival. FindLoop reports whether it found a limit that the source
// does not say.
func (r *Run) FindLoop() bool {
	var sent []*Request
	var ends []float64
	total := 0.0
	for i := range r.Requests {
		if q := &r.Requests[i]; !q.Failed && max(q.TTFT, q.E2E) > 0 {
			sent = append(sent, q)
			ends = append(ends, q.Start()+max(q.TTFT, q.E2E))
			total += max(q.TTFT, q.E2E)
		}
	}
	slices.SortStableFunc(sent, func(a, b *Request) int {
		return cmp.Compare(a.Start(), b.Start())
	})
	slices.Sort(ends)
	slack := loopSlack * total / float64(len(sent))
	streams := r.Load.Concurrency
	for i, ended := 0, 0; i < len(sent) && r.Load.Concurrency == 0; i++ {
		for ended < len(ends) && ends[ended] <= sent[i].Start()+slack {
			ended++
		}
		streams = max(streams, i+1-ended)
	}
	if streams == 0 || len(sent) < streams+loopRequests {
		return false
	}
	var lags, gaps []float64
	late, lateAfterEnd := 0, 0
	followed := make([]bool, len(sent))
	for i := streams; i < len(sent); i++ {
		q, lag := sent[i], sent[i].Start()-ends[i-streams]
		followed[i] = math.Abs(lag) <= slack
		if followed[i] {
			lags = append(lags, lag)
			gaps = append(gaps, q.Start()-sent[i-1].Start())
		}
		if q.Start()-q.Arrival > slack {
			late++
			if followed[i] {
				lateAfterEnd++
			}
		}
	}
	switch after := float64(len(sent) - streams); {
	case late >= loopRequests: // the times of arrival are the client's own
		if float64(lateAfterEnd) < loopShare*float64(late) {
			return false
		}
	case r.Load.Concurrency == 0 && (float64(len(lags)) < loopShare*after ||
		stat.PopStdDev(lags, nil) > stat.PopStdDev(gaps, nil)+1e-6):
		return false
	default:
		for i, q := range sent[1:] {
			if followed[i+1] {
				q.Sent, q.Arrival = q.Start(), sent[i].Arrival
			}
		}
		r.Sort()
	}
	found := r.Load.Concurrency == 0
	r.Load.Concurrency = streams
	return found
}
