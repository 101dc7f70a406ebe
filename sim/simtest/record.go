package simtest

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// record is an Observer that writes down its calls, and the problems that they show.
type record struct {
	memories []sim.Memory
	requests int
	ended    []end
	gaps     map[sim.Time]int64
	samples  []sample
	problems []string
	stop     func() // ends the simulation
}

// end is the outcome of a request.
type end struct {
	ID, Generated                          int64
	Replica, Preemptions, Why              int // Why is -1 where it was answered
	Arrival, Scheduled, FirstToken, LastTo sim.Time
}

type sample struct {
	At      sim.Time
	Replica int
	State   sim.State
}

// mostProblems bounds the problems of one simulation that are reported.
const mostProblems = 5

func (r *record) problem(format string, args ...any) {
	if len(r.problems) < mostProblems {
		r.problems = append(r.problems, fmt.Sprintf(format, args...))
	}
	r.stop()
}

func (r *record) Steps(l *sim.Leap) {
	for _, g := range l.Gaps {
		r.gaps[g.Span] += g.Count
	}
	for i := int64(1); i < l.Steps && !l.Together; i++ {
		r.gaps[l.Form.At(l.Context+i*int64(l.Decodes))] += int64(l.Decodes)
	}
}

func (r *record) Finished(s *sim.Sequence) {
	if s.Generated != s.Output {
		r.problem("request %d finished with %d of %d tokens", s.ID, s.Generated, s.Output)
	}
	if s.Arrival > s.Scheduled || s.Scheduled >= s.FirstToken || s.FirstToken > s.LastToken {
		r.problem("request %d arrived at %v, began at %v, and had its first token at %v and its "+
			"last at %v",
			s.ID, s.Arrival, s.Scheduled, s.FirstToken, s.LastToken)
	}
	r.ended = append(r.ended, end{
		s.ID, int64(s.Generated), s.Replica, s.Preemptions, -1, s.Arrival, s.Scheduled,
		s.FirstToken, s.LastToken,
	})
}

func (r *record) Rejected(q *sim.Request, why sim.Rejection) {
	r.ended = append(r.ended, end{ID: q.ID, Why: int(why), Arrival: q.Arrival})
}

func (r *record) Sampled(at sim.Time, replica int, state sim.State) {
	state.Slots = nil
	r.samples = append(r.samples, sample{at, replica, state})
	if state.Used < 0 || state.Used > state.Capacity || state.Decoding > state.Running {
		r.problem("replica %d is in an impossible state at %v: %+v", replica, at, state)
	}
}

// conservation looks for what was lost or came twice.
func (r *record) conservation(result sim.Result) {
	seen := make([]int, r.requests)
	for _, e := range r.ended {
		if seen[e.ID]++; seen[e.ID] > 1 {
			r.problem("request %d ended twice", e.ID)
		}
	}
	for id, n := range seen {
		if n == 0 {
			r.problem("request %d never ended", id)
		}
	}
	if sum := result.Completed + result.Rejected + result.TimedOut + result.Cancelled +
		result.Lost; sum != result.Arrived {
		r.problem("%d requests arrived and %d ended", result.Arrived, sum)
	}
	for span := range r.gaps {
		if span <= 0 {
			r.problem("a time between two tokens of %v", span)
		}
	}
	for i, m := range r.memories {
		if m.Used() != 0 {
			r.problem("at the end the memory of replica %d still has %d units in use", i, m.Used())
		}
	}
}

// differs says where leaping and stepping part.
func differs(what string, stepped, leaped any) string {
	a, b := fmt.Sprintf("%+v", stepped), fmt.Sprintf("%+v", leaped)
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-60)
	return fmt.Sprintf("%s differ: stepping gives …%.120s…, leaping …%.120s…", what, a[from:],
		b[from:])
}
