package workload

import "github.com/llmsim/llmsim/sim"

// talks are the conversations under way.
type talks struct {
	// waiting are users and conversations that will send a request, awaiting the conversations that
	// wait for an answer, by session, and spare the ended ones, to be used again.
	waiting  waiting
	awaiting map[int64]*conversation
	spare    []*conversation
}

func newTalks() talks { return talks{awaiting: map[int64]*conversation{}} }

// begin takes over a conversation of which r is the first turn.
func (t *talks) begin(r *sim.Request, turns []turn, maxContext int) {
	talk := &conversation{}
	if n := len(t.spare); n > 0 {
		talk, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	talk.begin(r, turns, maxContext)
	t.awaiting[r.Session] = talk
}

// next fills r with the next turn of a conversation.
func (t *talks) next(talk *conversation, r *sim.Request) {
	talk.next(r)
	t.awaiting[r.Session] = talk
}

// goOn schedules the next turn of a session that got its answer at the given time, and reports
// whether there is one.
func (t *talks) goOn(session int64, at sim.Time) bool {
	talk := t.awaiting[session]
	if talk == nil {
		return false
	}
	delete(t.awaiting, session)
	if !talk.goesOn() {
		t.spare = append(t.spare, talk)
		return false
	}
	t.waiting.push(later(at, talk.coming().think), talk)
	return true
}
