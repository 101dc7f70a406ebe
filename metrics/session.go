package metrics

import (
	"math/bits"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Sessions sums up the sessions of a run. A mean over sessions is 0 and absent in JSON if no
// session was completed.
type Sessions struct {
	// Completed sessions had an answer to every call. In Incomplete ones a call had no answer, or
	// they were under way when the run ended.
	Completed  int64 `json:"completed" jsonschema:"sessions with an answer to every call; of completed sessions"`
	Incomplete int64 `json:"incomplete" jsonschema:"sessions with a call that had none, or under way at the end; of begun sessions"`
	// Mean, Median, P90 and P99 are the time of a completed session in seconds, from its first
	// request to its last token.
	Mean   float64 `json:"mean_s,omitzero"`
	Median float64 `json:"median_s,omitzero" jsonschema:"median time; of completed sessions"`
	P90    float64 `json:"p90_s,omitzero" jsonschema:"90th percentile of the time; of completed sessions"`
	P99    float64 `json:"p99_s,omitzero"`
	// ModelShare is the share of this time in which a call of the session was computed, QueueShare
	// the share in which no call was computed and one waited for its first step, and WaitShare the
	// rest, in which tools worked and users thought.
	ModelShare float64 `json:"model_share"`
	QueueShare float64 `json:"queue_share"`
	WaitShare  float64 `json:"wait_share" jsonschema:"share of their time in which tools work and users think; of completed sessions"`
	// Calls and tokens of a completed session, means.
	Calls  float64 `json:"mean_calls,omitzero" jsonschema:"calls of a session; of completed sessions"`
	Input  float64 `json:"mean_input_tokens,omitzero" jsonschema:"prompt tokens of a session; of completed sessions"`
	Cached float64 `json:"mean_cached_tokens,omitzero" jsonschema:"prompt tokens from a prefix cache; of completed sessions"`
	Output float64 `json:"mean_output_tokens,omitzero" jsonschema:"output tokens of a session; of completed sessions"`
	// Turns sums up the calls by the number of calls that they continue: the first, the second, and
	// then those up to each power of two.
	Turns []Turns `json:"turns,omitempty"`
}

// Turns sums up the completed calls of sessions whose turn is in a range.
type Turns struct {
	// From and To are the first and the last turn, from 1.
	From  int   `json:"from" jsonschema:"first turn, from 1; of completed requests of sessions"`
	To    int   `json:"to" jsonschema:"last turn; of completed requests of sessions"`
	Calls int64 `json:"calls" jsonschema:"calls; of completed requests of sessions"`
	// TTFT in milliseconds.
	MeanTTFT   float64 `json:"mean_ttft_ms" jsonschema:"mean time to first token; of completed requests of sessions"`
	MedianTTFT float64 `json:"median_ttft_ms" jsonschema:"median time to first token; of completed requests of sessions"`
	P99TTFT    float64 `json:"p99_ttft_ms" jsonschema:"99th percentile of the time to first token; of completed requests of sessions"`
	// CachedShare is the share of the prompt tokens that came from a prefix cache.
	CachedShare float64 `json:"cached_share" jsonschema:"share of the prompt tokens that came from a prefix cache; of completed requests of sessions"`
}

// sessions collects sessions whose calls are numbered.
type sessions struct {
	open      map[int64]*session
	spare     []*session
	completed *Distribution
	broken    int64

	model, queue, wait           float64 // in seconds
	calls, input, cached, output int64
	turns                        []*turns
}

// session is a session under way.
type session struct {
	begin, end                   sim.Time
	busy, model                  spans
	calls, input, cached, output int64
	ended                        int32 // calls
	broken                       bool
}

type turns struct {
	ttft          *Distribution
	input, cached int64
}

func (c *sessions) of(r *sim.Request) *session {
	s := c.open[r.Session]
	if s != nil {
		s.begin = min(s.begin, r.Arrival)
		return s
	}
	if n := len(c.spare); n > 0 {
		s, c.spare = c.spare[n-1], c.spare[:n-1]
		*s = session{busy: spans{list: s.busy.list[:0]}, model: spans{list: s.model.list[:0]}}
	} else {
		most := max(0, int(min(r.Call.Of, 8)))
		both := make([]span, 2*most)
		s = &session{busy: spans{list: both[:0:most]}, model: spans{list: both[most:most]}}
	}
	if c.open == nil {
		c.open = map[int64]*session{}
	}
	s.begin = r.Arrival
	c.open[r.Session] = s
	return s
}

// finished notes the answer to a call.
func (c *sessions) finished(q *sim.Sequence) {
	if q.Call.Number == 0 {
		return
	}
	s, end, cached := c.of(&q.Request), q.LastToken+q.Latency, int64(q.Cached)
	s.busy.add(q.Arrival, end)
	s.model.add(q.Scheduled, end)
	s.calls++
	s.input += int64(q.Prompt)
	s.cached += cached
	s.output += int64(q.Output)
	k := bits.Len32(uint32(q.Call.Turn))
	for k >= len(c.turns) {
		c.turns = append(c.turns, &turns{ttft: newDistribution(requestAccuracy)})
	}
	t := c.turns[k]
	t.ttft.Add(q.TTFT())
	t.input += int64(q.Prompt)
	t.cached += cached
	s.end = max(s.end, end)
	c.count(&q.Request, s)
}

// count notes that a call has ended, and the session, if it was the last one.
func (c *sessions) count(r *sim.Request, s *session) {
	if s.ended++; s.ended < r.Call.Of {
		return
	}
	at := s.end
	delete(c.open, r.Session)
	c.spare = append(c.spare, s)
	if s.broken {
		c.broken++
		return
	}
	if c.completed == nil {
		c.completed = newDistribution(requestAccuracy)
	}
	c.completed.Add(at - s.begin)
	c.model += s.model.sum.Seconds()
	c.queue += (s.busy.sum - s.model.sum).Seconds()
	c.wait += (at - s.begin - s.busy.sum).Seconds()
	c.calls += s.calls
	c.input += s.input
	c.cached += s.cached
	c.output += s.output
}

// rejected notes that a call ended without an answer.
func (c *sessions) rejected(r *sim.Request) {
	if r.Call.Number == 0 {
		return
	}
	s := c.of(r)
	s.broken = true
	c.count(r, s)
}

// summary sums up; nil if there were no sessions.
func (c *sessions) summary() *Sessions {
	if c.open == nil {
		return nil
	}
	s := &Sessions{Incomplete: c.broken + int64(len(c.open))}
	for k, t := range c.turns {
		if t.ttft.Count() == 0 {
			continue
		}
		mean, median, _, _, _, p99 := t.ttft.statistics()
		s.Turns = append(s.Turns, Turns{From: 1<<k/2 + 1, To: 1 << k, Calls: t.ttft.Count(),
			MeanTTFT: mean, MedianTTFT: median, P99TTFT: p99,
			CachedShare: ratio(float64(t.cached), float64(t.input))})
	}
	if c.completed == nil {
		return s
	}
	s.Completed = c.completed.Count()
	mean, median, _, p90, _, p99 := c.completed.statistics()
	s.Mean, s.Median, s.P90, s.P99 = mean/1000, median/1000, p90/1000, p99/1000
	n, time := float64(s.Completed), c.model+c.queue+c.wait
	s.ModelShare, s.QueueShare = ratio(c.model, time), ratio(c.queue, time)
	s.WaitShare = ratio(c.wait, time)
	s.Calls, s.Input = float64(c.calls)/n, float64(c.input)/n
	s.Cached, s.Output = float64(c.cached)/n, float64(c.output)/n
	return s
}

// spans is a union of spans of time, and sum its length.
type spans struct {
	list []span
	sum  sim.Time
}

type span struct{ from, to sim.Time }

// add adds a span.
func (s *spans) add(from, to sim.Time) {
	i := len(s.list)
	for i > 0 && s.list[i-1].to >= from {
		i--
	}
	j := i
	for ; j < len(s.list) && s.list[j].from <= to; j++ {
		from, to = min(from, s.list[j].from), max(to, s.list[j].to)
		s.sum -= s.list[j].to - s.list[j].from
	}
	s.list = slices.Replace(s.list, i, j, span{from, to})
	s.sum += to - from
}
