package scenarios

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// audit observes a run, and holds it against what must be true of all.
type audit struct {
	record   record
	ends     map[int64]bool
	wrong    []string
	replicas []sim.ReplicaConfig
	// end is when the last step ended, spans the sum of the times between first and last tokens of
	// finished requests, tokens those of their tokens that came after the first; gaps and spaces
	// are the number and the sum of all times between tokens.
	end           sim.Time
	spans, spaces sim.Time
	tokens, gaps  int64
	interrupted   bool // some requests ended or began anew after tokens had come out
	// some tokens reach their users together: tokens of drafts, of static batches, and tokens
	// that come out while the first is held back
	together bool
	users    *users // nil where tokens are not watched one by one
}

// users are told each token, as those of a server are.
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
	Replica, Prompt, Output, Preemptions, Retries  int
	Cached, Drafted, Accepted                      int
	Arrival, Scheduled, FirstToken, LastToken, E2E sim.Time
}

type rejectedRequest struct {
	ID  int64
	Why sim.Rejection
}

type sampledState struct {
	At                         sim.Time
	Replica                    int
	Waiting, Running, Decoding int
	Used                       int64
}

func newAudit(c *sim.Config) *audit {
	a := &audit{ends: map[int64]bool{}, replicas: c.Replicas,
		record: record{Gaps: map[sim.Time]int64{}}}
	for i := range c.Replicas {
		r := &c.Replicas[i]
		_, static := r.Scheduler.(*batching.Static)
		a.together = a.together || r.Speculator != nil || static || r.FirstChunk > 0
	}
	return a
}

func (a *audit) problem(format string, args ...any) {
	if len(a.wrong) < 5 {
		a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
	}
}

// Steps implements sim.Observer.
func (a *audit) Steps(l *sim.Leap) {
	if l.Start < 0 || l.End <= l.Start || l.Steps < 1 || l.Used < 0 {
		a.problem("impossible leap: %+v", *l)
	}
	a.end = max(a.end, l.End)
	for _, g := range l.Gaps {
		a.gap(g.Span, g.Count)
	}
	for i := int64(1); i < l.Steps && !l.Together; i++ {
		a.gap(l.Length(i), int64(l.Decodes))
	}
}

func (a *audit) gap(t sim.Time, count int64) {
	if t < 0 || t > a.end || count < 1 {
		a.problem("a gap between tokens of %v, seen %d times until %v", t, count, a.end)
	}
	a.record.Gaps[t] += count
	a.gaps += count
	a.spaces += t * sim.Time(count)
}

// Finished implements sim.Observer.
func (a *audit) Finished(s *sim.Sequence) {
	a.ended(s.ID)
	f := finishedRequest{
		ID: s.ID, Replica: s.Replica, Prompt: s.Prompt, Output: s.Output,
		Preemptions: s.Preemptions, Retries: s.Retries, Cached: s.Cached,
		Drafted: s.Drafted, Accepted: s.Accepted,
		Arrival: s.Arrival, Scheduled: s.Scheduled, FirstToken: s.FirstToken,
		LastToken: s.LastToken, E2E: s.E2E(),
	}
	a.record.Finished = append(a.record.Finished, f)
	shared := 0 // tokens that another prompt can have
	for _, segment := range s.Content {
		shared += segment.Tokens
	}
	if s.Arrival > s.Scheduled || s.Scheduled >= s.FirstToken || s.FirstToken > s.LastToken ||
		s.Generated != s.Output || s.Accepted > s.Drafted ||
		s.Cached < 0 || s.Cached >= s.Prompt || s.Cached > shared {
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
func (a *audit) Rejected(r *sim.Request, why sim.Rejection) {
	a.ended(r.ID)
	a.record.Rejected = append(a.record.Rejected, rejectedRequest{r.ID, why})
	a.interrupted = a.interrupted || why != sim.TooLong && why != sim.TooLarge && why != sim.Refused
}

func (a *audit) ended(id int64) {
	if a.ends[id] {
		a.problem("request %d ended twice", id)
	}
	a.ends[id] = true
}

// Sampled implements sim.Observer.
func (a *audit) Sampled(at sim.Time, replica int, s sim.State) {
	a.record.Samples = append(a.record.Samples, sampledState{at, replica, s.Waiting, s.Running,
		s.Decoding, s.Used})
	if s.Waiting < 0 || s.Running < 0 || s.Decoding < 0 || s.Decoding > s.Running || s.Used < 0 ||
		s.Used > s.Capacity {
		a.problem("impossible state of replica %d at %v: %+v", replica, at, s)
	}
}

// problems says what is wrong once the run is over.
func (a *audit) problems() []string {
	ids := make([]int64, 0, len(a.ends))
	for id := range a.ends {
		ids = append(ids, id)
	}
	slices.Sort(ids)
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
