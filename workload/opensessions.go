package workload

import "github.com/llmsim/llmsim/sim"

// openSessions are the sessions under way.
type openSessions struct {
	// waiting are users and sessions that will send a request, open the sessions by number, and
	// spare the ended ones, to be used again.
	waiting waiting
	open    map[int64]*session
	spare   []*session
	keepCut bool // see Config.KeepCut
}

func newOpenSessions(keepCut bool) openSessions {
	return openSessions{open: map[int64]*session{}, keepCut: keepCut}
}

// begin takes over a session whose first request is r, at the given time. Other calls that do not
// wait follow when their time has come. That many calls were made before; r becomes the one after
// them.
func (t *openSessions) begin(r *sim.Request, g *graph, at sim.Time, made int32) {
	s := &session{}
	if n := len(t.spare); n > 0 {
		s, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	s.begin(r, g)
	if made > 0 {
		for i := range made {
			s.end(i, func(int32) {})
		}
		s.fill(made, r)
	}
	t.open[r.Session] = s
	for i := made + 1; int(i) < len(s.calls); i++ {
		if s.calls[i].missing == 0 {
			t.waiting.push(later(at, s.calls[i].wait), s, i)
		}
	}
}

// goOn schedules what follows from the end of a call of a session at the given time, and reports
// whether the session goes on.
func (t *openSessions) goOn(r *sim.Request, at sim.Time) bool {
	s := t.open[r.Session]
	if s == nil {
		return false
	}
	if t.keepCut && r.Answered > 0 {
		s.cut(r.Call.Number-1, r.Answered)
	}
	s.end(r.Call.Number-1, func(next int32) {
		t.waiting.push(later(at, s.calls[next].wait), s, next)
	})
	if s.open > 0 {
		return true
	}
	delete(t.open, r.Session)
	t.spare = append(t.spare, s)
	return false
}
