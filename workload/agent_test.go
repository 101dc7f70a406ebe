package workload

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// agentic returns a workload of sessions all of which are alike, one at a time.
func agentic(turns Turns) Config {
	return Config{Requests: 60, Users: &Users{Count: 1}, Classes: []Class{{Weight: 1,
		Prompt: fixed(50), Output: fixed(20), Turns: &turns,
		Prefix: &Prefix{Groups: 1, Tokens: fixed(100)}}}}
}

// whole returns the segments of the calls of the first session.
func whole(t *testing.T, c Config) (list []sim.Request) {
	t.Helper()
	for _, r := range serve(t, open(t, c), 1000, func() sim.Time { return sim.Second }).sent {
		if list = append(list, r); r.Call.Number == r.Call.Of {
			return list
		}
	}
	t.Fatal("the session does not end")
	return nil
}

// A turn that starts two agents of two turns each goes on when both have ended, with what they
// answered last; an agent's text begins with the prefix alone.
func TestAgentsAreJoined(t *testing.T) {
	list := whole(t, agentic(Turns{Count: fixed(2),
		Tools:  &Tools{Result: fixed(30), Wait: arrivals.Delay{Mean: 5 * sim.Second}},
		Agents: &Agents{Share: 1, Count: fixed(2), Turns: fixed(2), Prompt: fixed(7)}}))
	type sent struct {
		at, prompt, turn, segments int
		last                       bool
	}
	var got []sent
	for _, r := range list {
		got = append(got, sent{int(r.Arrival / sim.Second), r.Prompt, int(r.Call.Turn),
			len(r.Content), r.Call.Number == r.Call.Of})
	}
	want := []sent{{0, 150, 0, 2, false}, {1, 107, 0, 2, false}, {1, 107, 0, 2, false},
		{7, 157, 1, 4, false}, {7, 157, 1, 4, false}, {8, 150 + 20 + 40, 1, 4, true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sent{})); diff != "" {
		t.Error(diff)
	}
	if list[5].Content[2].ID != list[0].Answer || list[1].Content[1] == list[2].Content[1] {
		t.Errorf("%+v", list)
	}
}

// Prompts repeat thinking tokens always, until the user writes again, or never; what is repeated
// without them has another name, and is no part of what was computed.
func TestThinkingIsDropped(t *testing.T) {
	for keep, want := range map[Keep][2]int{KeepAll: {150 + 20 + 30, 200 + 20 + 30},
		KeepTask: {150 + 20 + 30, 200 + 20 + 30}, KeepNone: {150 + 5 + 30, 185 + 5 + 30}} {
		list := whole(t, agentic(Turns{Count: fixed(3), Tools: &Tools{Share: 1,
			Result: fixed(30)}, Thinking: Thinking{Share: 0.75, Keep: keep}}))
		if got := [2]int{list[1].Prompt, list[2].Prompt}; got != want {
			t.Errorf("keep %d: prompts %v, want %v", keep, got, want)
		}
		if same := list[1].Content[2].ID == list[0].Answer; same != (keep != KeepNone) {
			t.Errorf("keep %d: %+v after %+v", keep, list[1], list[0])
		}
	}
	list := whole(t, agentic(Turns{Count: fixed(3), Thinking: Thinking{Share: 0.75,
		Keep: KeepTask}}))
	if list[1].Prompt != 150+5+50 || list[2].Prompt != 205+5+50 {
		t.Errorf("the user writes after each answer: %d and %d", list[1].Prompt, list[2].Prompt)
	}
}

// A budget cuts the thinking of an answer and leaves the rest as it is, also in later prompts; one
// that no answer reaches changes nothing.
func TestThinkingHasABudget(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		turns := Turns{Count: fixed(3), Thinking: Thinking{
			Share: rapid.Float64Range(0, 0.99).Draw(rt, "share"),
			Keep:  rapid.SampledFrom([]Keep{KeepAll, KeepTask, KeepNone}).Draw(rt, "keep")}}
		free := whole(t, agentic(turns))
		thinking := int(turns.Thinking.Share * 20)
		budget := rapid.IntRange(1, 25).Draw(rt, "budget")
		turns.Thinking.Budget = budget
		cut := max(0, thinking-budget)
		repeats := 1
		if turns.Thinking.Keep != KeepAll { // no tool stands between these turns
			repeats = 0
		}
		for i, r := range whole(t, agentic(turns)) {
			if r.Output != 20-cut || r.Prompt != free[i].Prompt-i*repeats*cut {
				rt.Errorf("call %d: %d tokens to %d, without a budget 20 to %d", i, r.Output,
					r.Prompt, free[i].Prompt)
			}
		}
	})
}

// A summary takes the place of the text between the prefix and the turn for which it was too long.
func TestSummaryTakesThePlaceOfText(t *testing.T) {
	list := whole(t, agentic(Turns{Count: fixed(4), Compact: &Compaction{At: 300, To: 10}}))
	var prompts []int
	for _, r := range list {
		prompts = append(prompts, r.Prompt)
	}
	// 100 + 50, + 20 + 50 each; the third would be 290 + 20 with its answer, so the second and its
	// answer are summed up: 100 + 10 + 50.
	if diff := cmp.Diff([]int{150, 220, 240, 160, 230}, prompts); diff != "" {
		t.Error(diff)
	}
	if c := list[3].Content; len(c) != 3 || c[1].ID != list[2].Answer {
		t.Errorf("%+v", c)
	}
}

// A retry sends the same prompt again.
func TestRetriesRepeatThePrompt(t *testing.T) {
	list := whole(t, agentic(Turns{Count: fixed(3), Tools: &Tools{Share: 1, Result: fixed(30),
		Retries: 0.5}}))
	again := 0
	for i := 1; i < len(list); i++ {
		if cmp.Equal(list[i].Content, list[i-1].Content) {
			again++
		}
	}
	if again == 0 || again != len(list)-3 || list[len(list)-1].Prompt != 250 {
		t.Errorf("%d of %d requests are repeated", again, len(list))
	}
}

// A prompt is sent again ten times at most: of prompts whose every answer fails with the share 0.9,
// 0.9^10 come to that, within five standard deviations.
func TestRetriesEnd(t *testing.T) {
	const sessions = 500
	c := agentic(Turns{Count: fixed(1), Tools: &Tools{Result: fixed(1), Retries: 0.9}})
	c.Requests = 12 * sessions
	calls := map[int64]int{}
	for _, r := range serve(t, open(t, c), 12*sessions, second).sent {
		calls[r.Session] = int(r.Call.Of)
	}
	most := 0.0
	for session, n := range calls {
		if n < 1 || n > 11 {
			t.Fatalf("session %d sends its prompt %d times", session, n)
		}
		if n == 11 {
			most++
		}
	}
	n, p := float64(len(calls)), math.Pow(0.9, 10)
	if math.Abs(most-n*p) > 5*math.Sqrt(n*p*(1-p)) {
		t.Errorf("%g of %g prompts are sent 11 times, want about %.0f", most, n, n*p)
	}
}

// Whatever the sessions: each call of a session is sent once, the last when all others have ended.
func TestSessionsEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		turns := Turns{Count: must(lengths.Uniform(1, 5)), Think: drawThink(rt),
			MaxContext: rapid.SampledFrom([]int{0, 3000}).Draw(rt, "context")}
		drawAgents(rt, &turns)
		c := agentic(turns)
		c.Users = &Users{Count: rapid.IntRange(1, 5).Draw(rt, "users")}
		s := open(t, c)
		sent, ended := map[int64]map[int32]bool{}, map[int64]int{}
		over := map[int64]bool{}
		now := sim.Time(0)
		var open []sim.Request
		for s.NextArrival() != sim.Never || len(open) > 0 {
			if len(open) > 0 && (s.NextArrival() == sim.Never || rapid.Bool().Draw(rt, "answer")) {
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				ended[open[i].Session]++
				s.Done(&open[i], now)
				open = append(open[:i], open[i+1:]...)
				continue
			}
			now = max(now, s.NextArrival())
			var r sim.Request
			s.Next(&r)
			of := sent[r.Session]
			if of == nil {
				of = map[int32]bool{}
				sent[r.Session] = of
			}
			if of[r.Call.Number] || over[r.Session] {
				rt.Fatalf("%+v again, or after the last", r)
			}
			of[r.Call.Number] = true
			if over[r.Session] = r.Call.Number == r.Call.Of; over[r.Session] &&
				(ended[r.Session] != len(of)-1 || int(r.Call.Number) != len(of)) {
				rt.Fatalf("%+v is the last of %d, when %d have ended", r, len(of),
					ended[r.Session])
			}
			open = append(open, r)
		}
	})
}

// Samples of a prompt are sent at once and are alike but for their numbers; a user waits for all.
func TestSamples(t *testing.T) {
	c := agentic(Turns{})
	c.Classes[0].Turns, c.Classes[0].Samples = nil, 3
	sent := serve(t, open(t, c), 1000, jitter(1)).sent
	for i, r := range sent {
		first := sent[i-i%3]
		if r.Call != (sim.Call{Number: int32(i%3 + 1), Of: 3}) || r.Arrival != first.Arrival ||
			r.Session != first.Session || !cmp.Equal(r.Content, first.Content) || r.Answer != 0 {
			t.Fatalf("sample %d of %+v is %+v", i%3, first, r)
		}
		if i%3 == 0 && i > 0 && r.Session == sent[i-1].Session {
			t.Fatalf("%+v goes on", r)
		}
	}
}

// Whatever the graph: a call is sent when the calls before it have ended and its wait is over, and
// repeats the text that it continues with the answer.
func TestCallsWaitForEachOther(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := agentic(Turns{})
		class := &c.Classes[0]
		class.Turns = nil
		for i := range rapid.IntRange(1, 8).Draw(rt, "calls") {
			next := Call{From: -1, Prompt: fixed(i + 1), Output: fixed(10 + i),
				Wait: arrivals.Delay{Mean: sim.Time(i) * sim.Second}}
			for k := range i {
				if rapid.Bool().Draw(rt, "after") {
					next.After = append(next.After, k)
					next.From = k
				}
			}
			class.Calls = append(class.Calls, next)
		}
		ends := map[[2]int64]sim.Time{}
		requests := map[[2]int64]sim.Request{}
		for _, r := range serve(t, open(t, c), 1000, func() sim.Time { return sim.Second }).sent {
			number := int64(r.Call.Number - 1)
			call, ready := class.Calls[number], sim.Time(0)
			for _, a := range call.After {
				end, ended := ends[[2]int64{r.Session, int64(a)}]
				if !ended {
					rt.Fatalf("call %d comes before call %d", number, a)
				}
				ready = max(ready, end)
			}
			if len(call.After) > 0 && r.Arrival != ready+sim.Time(number)*sim.Second {
				rt.Fatalf("call %d comes at %v, those before ended at %v", number, r.Arrival, ready)
			}
			want := 100 + int(number) + 1
			if call.From >= 0 {
				from := requests[[2]int64{r.Session, int64(call.From)}]
				want = from.Prompt + from.Output + int(number) + 1
			}
			if r.Prompt != want || int(r.Call.Of) != len(class.Calls) {
				rt.Fatalf("call %d: %+v, want a prompt of %d", number, r, want)
			}
			key := [2]int64{r.Session, number}
			ends[key], requests[key] = r.Arrival+sim.Second, r
		}
	})
}

// Beams take steps together: each goes on from the whole text of one of the step before, and all
// answers are of the length drawn.
func TestBeamsFork(t *testing.T) {
	c := agentic(Turns{})
	c.Classes[0].Turns, c.Classes[0].Samples, c.Classes[0].BeamStep = nil, 3, 8
	var before, now []sim.Request
	forked := false
	for _, r := range serve(t, open(t, c), 1000, jitter(1)).sent {
		round := int(r.Call.Turn)
		if len(now) == 3 {
			before, now = now, nil
		}
		if r.Call.Of != 9 || int(r.Call.Number) != round*3+len(now)+1 ||
			r.Prompt != 150+8*round || r.Output != []int{8, 8, 4}[round] {
			t.Fatalf("step %d after %d: %+v", round, len(now), r)
		}
		from := 0
		for _, b := range before {
			text := append(slices.Clone(b.Content), sim.Segment{ID: b.Answer, Tokens: b.Output})
			if cmp.Equal(r.Content, text) {
				from++
			}
		}
		if round > 0 && from != 1 {
			t.Fatalf("%+v goes on from %d beams", r, from)
		}
		forked = forked || round > 0 && len(now) > 0 &&
			cmp.Equal(r.Content, now[0].Content)
		now = append(now, r)
	}
	if !forked {
		t.Error("no two beams go on from the same one")
	}
}

// The first session of each user begins with a call from the middle, whose prompt is what it is in
// a session that is played from the start, and goes on as that does; later sessions begin with
// their first call.
func TestFirstSessionsBeginInTheMiddle(t *testing.T) {
	c := agentic(Turns{Count: fixed(8),
		Tools:  &Tools{Result: fixed(30), Wait: arrivals.Delay{Mean: 5 * sim.Second}},
		Agents: &Agents{Share: 0.3, Count: fixed(2), Prompt: fixed(10), Turns: fixed(2)}})
	c.Users.Count, c.Requests = 5, 400
	played := map[sim.Call]sim.Request{} // by number, of the sessions of the whole play
	key := func(r sim.Request) sim.Call {
		return sim.Call{Number: r.Call.Number, Turn: int32(r.Session)}
	}
	whole := c
	whole.Users = &Users{Count: 5}
	for _, r := range serve(t, open(t, whole), 400, jitter(1)).sent {
		played[key(r)] = r
	}
	c.Users.StartMin, c.Users.StartMax = 0.25, 0.75
	began := map[int64]int32{}
	for _, r := range serve(t, open(t, c), 400, jitter(1)).sent {
		first, known := began[r.Session]
		if !known {
			first = r.Call.Number
			began[r.Session] = first
			share := float64(first-1) / float64(r.Call.Of)
			if inside := share > 0.25-1/float64(r.Call.Of) && share <= 0.75; r.Session <= 5 !=
				inside {
				t.Errorf("session %d begins with call %d of %d", r.Session, first, r.Call.Of)
			}
		}
		if r.Call.Number < first {
			t.Errorf("%+v comes after call %d", r, first)
		}
		if p, known := played[key(r)]; known && (!cmp.Equal(r.Content, p.Content) ||
			r.Prompt != p.Prompt || r.Output != p.Output || r.Answer != p.Answer) {
			t.Errorf("%+v, from the start %+v", r, p)
		}
	}
}
