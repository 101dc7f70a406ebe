package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// observer watches a run, and holds what it is told against what must be true of all.
type observer struct {
	record   record
	ends     map[int64]bool
	stayed   sim.Time // from the arrivals of requests without a last token to their ends
	wrong    []string
	replicas []sim.ReplicaConfig
	// end is when the last step ended, spans the sum of the times between first and last tokens of
	// requests that finished or were cut, tokens the number of their tokens after the first; gaps
	// and spaces are the number and the sum of all times between tokens.
	end           sim.Time
	spans, spaces sim.Time
	tokens, gaps  int64
	interrupted   bool // some requests ended or began anew after tokens had come out
	// some tokens reach their users together: tokens of drafts, of static batches, and tokens
	// that come out while the first is held back
	together bool
	users    *users // nil where tokens are not watched one by one
	steps    int64
	stop     func() // ends a run that takes too many steps
}

// users are told each token, as users of a server are.
type users struct {
	answers map[try]*answer
	gaps    map[sim.Time]int64
}

// try is a request, and how often it began anew.
type try struct {
	id      int64
	retries int
}

// answer is what has come of an answer.
type answer struct {
	tokens      int
	first, last sim.Time
}

// token is a sim.Config.Tokens.
func (u *users) token(s *sim.Sequence, n int, at sim.Time) {
	key := try{s.ID, s.Retries}
	a := u.answers[key]
	if a == nil {
		a = &answer{first: at, last: at}
		u.answers[key] = a
	}
	if at > a.last {
		u.gaps[at-a.last]++
	}
	a.tokens, a.last = a.tokens+n, at
}

// record is all that an observer is told, in its order.
type record struct {
	Finished []finishedRequest
	Rejected []rejectedRequest
	Samples  []sampledState
	Gaps     map[sim.Time]int64
}

type finishedRequest struct {
	ID                                             int64
	Class, Replica, Prompt, Output, Cached         int
	Preemptions, Retries, Drafted, Accepted        int
	Arrival, Scheduled, FirstToken, LastToken, E2E sim.Time
}

type rejectedRequest struct {
	ID                         int64
	Class, Answered, Output    int
	Arrival, First, Last, Left sim.Time
	Why                        sim.Rejection
}

type sampledState struct {
	At                         sim.Time
	Replica                    int
	Waiting, Running, Decoding int
	Used                       int64
}

func newObserver(c *sim.Config, stop func()) *observer {
	a := &observer{ends: map[int64]bool{}, replicas: c.Replicas, stop: stop,
		record: record{Gaps: map[sim.Time]int64{}}}
	for i := range c.Replicas {
		r := &c.Replicas[i]
		_, static := r.Scheduler.(*batching.Static)
		a.together = a.together || r.Speculator != nil || static || r.FirstChunk > 0
	}
	return a
}

// problem notes what is wrong, the first few.
func (a *observer) problem(format string, args ...any) {
	if len(a.wrong) < 5 {
		a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
	}
}

// Steps implements sim.Observer.
func (a *observer) Steps(l *sim.Leap) {
	if l.Start < 0 || l.End <= l.Start || l.Steps < 1 || l.Used < 0 {
		a.problem("impossible leap: %+v", *l)
	}
	if a.steps += l.Steps; a.steps > mostSteps {
		a.stop()
	}
	a.end = max(a.end, l.End)
	for _, g := range l.Gaps {
		a.gap(g.Span, g.Count)
	}
	for i := int64(1); i < l.Steps && !l.Together; i++ {
		a.gap(l.Length(i), int64(l.Decodes))
	}
}

func (a *observer) gap(t sim.Time, count int64) {
	if t < 0 || t > a.end || count < 1 {
		a.problem("a gap between tokens of %v, seen %d times until %v", t, count, a.end)
	}
	a.record.Gaps[t] += count
	a.gaps += count
	a.spaces += t * sim.Time(count)
}

// Finished implements sim.Observer.
func (a *observer) Finished(s *sim.Sequence) {
	a.ended(s.ID)
	f := finishedRequest{
		ID: s.ID, Class: s.Class, Replica: s.Replica, Prompt: s.Prompt, Output: s.Output,
		Cached: s.Cached, Preemptions: s.Preemptions, Retries: s.Retries, Drafted: s.Drafted,
		Accepted: s.Accepted, Arrival: s.Arrival, Scheduled: s.Scheduled,
		FirstToken: s.FirstToken, LastToken: s.LastToken, E2E: s.E2E(),
	}
	a.record.Finished = append(a.record.Finished, f)
	if s.Arrival > s.Scheduled || s.Scheduled >= s.FirstToken || s.FirstToken > s.LastToken ||
		s.Generated != s.Output || s.Accepted > s.Drafted || s.TTFT() > s.E2E() {
		a.problem("impossible request, %d tokens generated: %+v", s.Generated, f)
	}
	if a.users != nil {
		told := a.users.answers[try{s.ID, s.Retries}]
		if told == nil || *told != (answer{s.Output, s.FirstToken, s.LastToken}) {
			a.problem("the user saw %+v of %+v", told, f)
		}
	}
	a.spans += s.LastToken - s.FirstToken
	a.tokens += int64(s.Output - 1)
	a.interrupted = a.interrupted || s.Retries > 0
}

// Rejected implements sim.Observer.
func (a *observer) Rejected(*sim.Request, sim.Rejection) { a.problem("told by Rejected") }

// Ended implements sim.EndObserver.
func (a *observer) Ended(s *sim.Sequence, why sim.Rejection, at sim.Time) {
	a.ended(s.ID)
	r := rejectedRequest{s.ID, s.Class, s.Answered, s.Output, s.Arrival, s.FirstToken,
		s.LastToken, at, why}
	a.record.Rejected = append(a.record.Rejected, r)
	a.stayed += max(0, at-s.Arrival)
	part, _, cut := metrics.Cut(s, why)
	if !cut {
		a.interrupted = a.interrupted || s.FirstToken > 0 || s.Retries > 0
		return
	}
	if s.Answered > s.Output || s.Arrival > s.Scheduled || s.Scheduled >= s.FirstToken ||
		part.FirstToken > part.LastToken || part.LastToken > at {
		a.problem("impossible request: %+v", r)
	}
	if a.users != nil {
		told := a.users.answers[try{s.ID, s.Retries}]
		if told == nil || *told != (answer{s.Answered, part.FirstToken, part.LastToken}) {
			a.problem("the user saw %+v of %+v", told, r)
		}
	}
	a.spans += part.LastToken - part.FirstToken
	a.tokens += int64(s.Answered - 1)
	a.interrupted = a.interrupted || s.Retries > 0
}

func (a *observer) ended(id int64) {
	if a.ends[id] {
		a.problem("request %d ended twice", id)
	}
	a.ends[id] = true
}

// Sampled implements sim.Observer.
func (a *observer) Sampled(at sim.Time, replica int, s sim.State) {
	a.record.Samples = append(a.record.Samples, sampledState{at, replica, s.Waiting, s.Running,
		s.Decoding, s.Used})
	if s.Waiting < 0 || s.Running < 0 || s.Decoding < 0 || s.Decoding > s.Running || s.Used < 0 ||
		s.Used > s.Capacity {
		a.problem("impossible state of replica %d at %v: %+v", replica, at, s)
	}
}

// problems says what is wrong once the run is over.
func (a *observer) problems() []string {
	ids := slices.Sorted(maps.Keys(a.ends))
	for i, id := range ids {
		if int64(i) != id {
			a.problem("requests that ended: %v", ids)
			break
		}
	}
	for i := range a.replicas {
		if m, ok := a.replicas[i].Memory.(sim.Forgetter); ok {
			m.Forget() // what is pinned stays in use until then
		}
		if used := a.replicas[i].Memory.Used(); used != 0 {
			a.problem("replica %d still holds %d units of KV memory", i, used)
		}
	}
	if a.users != nil && !maps.Equal(a.users.gaps, a.record.Gaps) {
		a.problem("users saw the gaps %v, and the simulation counts %v", a.users.gaps,
			a.record.Gaps)
	}
	wrongNumber := !a.together && (a.gaps < a.tokens || !a.interrupted && a.gaps != a.tokens)
	wrongTime := a.spaces < a.spans || !a.interrupted && a.spaces != a.spans
	if wrongNumber || wrongTime {
		a.problem("%d gaps of together %v between tokens; answers have %d tokens after the "+
			"first, from first to last together %v", a.gaps, a.spaces, a.tokens, a.spans)
	}
	return a.wrong
}
