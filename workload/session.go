package workload

import (
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// call is a request of a session. Its prompt is the text of an earlier call, the answer to it, and
// a message.
type call struct {
	// from is the number of the call whose text goes on, or −1 for a text that begins with the
	// prefix of the session. If summary is set, only the answer is repeated, not the text before.
	from    int32
	summary bool
	// missing is the number of calls that must end before this one and have not.
	missing int32
	// text is the number of the message, and message the number of its tokens, from 0.
	text    int32
	message int
	// output is the length of the answer, which begins with the given number of thinking tokens,
	// and prompt the length of the whole prompt.
	output, thinking, prompt int
	// after is the part of graph.after that lists the calls that must have ended, and wait is the
	// time between the end of the last of them and this call.
	after span
	wait  sim.Time
	// turn counts the calls that the text continues, and task the messages of the user so far.
	turn, task int32
	// recorded is the whole prompt, in place of what is said above, and answer what later prompts
	// call its answer; nil and 0 if they were not recorded.
	recorded []sim.Segment
	answer   uint64
}

// span is a part of a list.
type span struct{ from, to int32 }

// Keep says whether later prompts repeat the thinking tokens of an answer.
type Keep int

// The ways to keep thinking tokens: always, until the user writes again, never.
const (
	KeepAll Keep = iota
	KeepTask
	KeepNone
)

// graph holds the calls of a session. Each call has a larger number than the calls it waits for.
type graph struct {
	calls []call
	after []int32
	// prefix is the number of tokens that all texts begin with, and longest the longest prompt and
	// output together, 0 for any.
	prefix, longest int
	keep            Keep
	// samples is set if the calls are answers to the same prompt, which no other repeats.
	samples bool
}

// reset empties the graph.
func (g *graph) reset(prefix, longest int, keep Keep) {
	*g = graph{g.calls[:0], g.after[:0], prefix, longest, keep, false}
}

// add adds a call after others and returns its number. It reports false, and adds nothing, if the
// call would be too long. The first call is never too long.
func (g *graph) add(c call, after []int32) (number int32, fits bool) {
	number = int32(len(g.calls))
	c.prompt = g.prompt(&c)
	if number > 0 && g.longest > 0 && c.prompt+c.output > g.longest {
		return 0, false
	}
	c.after = span{int32(len(g.after)), int32(len(g.after) + len(after))}
	c.missing = int32(len(after))
	if c.from >= 0 {
		c.turn = g.calls[c.from].turn + 1
	}
	g.calls, g.after = append(g.calls, c), append(g.after, after...)
	return number, true
}

// shrink leaves the given number of calls.
func (g *graph) shrink(calls int) {
	if calls < len(g.calls) {
		g.after = g.after[:g.calls[calls].after.from]
		g.calls = g.calls[:calls]
	}
}

// cut shortens the answer to a call to the tokens that came out, in the prompts of later calls too.
func (g *graph) cut(number int32, tokens int) {
	c := &g.calls[number]
	if tokens >= c.output {
		return
	}
	c.output, c.thinking = tokens, min(c.thinking, tokens)
	for i := number + 1; int(i) < len(g.calls); i++ {
		if after := &g.calls[i]; after.recorded == nil {
			after.prompt = g.prompt(after)
		}
	}
}

// repeated returns the number of tokens of an answer that a prompt after it has.
func (g *graph) repeated(answer *call, after *call) int {
	if g.keep == KeepNone || g.keep == KeepTask && answer.task != after.task {
		return answer.output - answer.thinking
	}
	return answer.output
}

// prompt returns the length of the prompt of a call.
func (g *graph) prompt(c *call) int {
	tokens := g.prefix
	for at := c; ; at = &g.calls[at.from] {
		tokens += at.message
		if at.from < 0 {
			return tokens
		}
		before := &g.calls[at.from]
		tokens += g.repeated(before, c)
		switch {
		case at.summary:
			return tokens
		case g.keep != KeepTask || before.task == c.task: // its prompt is the same text
			return tokens + before.prompt - g.prefix
		}
	}
}

// text appends the prompt of a call of a session, after the prefix.
func (g *graph) text(list []sim.Segment, session int64, number int32) []sim.Segment {
	begin := len(list)
	list = slices.Grow(list, 2*int(g.calls[number].turn)+1)
	add := func(kind content.Kind, text int32, tokens int) {
		if tokens > 0 {
			list = append(list, sim.Segment{ID: turnText(kind, session, int(text)), Tokens: tokens})
		}
	}
	for i := number; ; i = g.calls[i].from {
		c := &g.calls[i]
		add(content.UserMessage, c.text, c.message)
		if c.from < 0 {
			break
		}
		if n := g.repeated(&g.calls[c.from], &g.calls[number]); n < g.calls[c.from].output {
			add(content.Conclusion, c.from, n)
		} else {
			add(content.Answer, c.from, n)
		}
		if c.summary {
			break
		}
	}
	slices.Reverse(list[begin:])
	return list
}

// session is a session under way.
type session struct {
	graph
	// first is the first request. Its Deadline counts from the arrival. The session owns its
	// Content, which is the prefix.
	first sim.Request
	open  int // calls that have not ended
}

// begin takes over a session whose first request is r, with the prefix as its content, reusing the
// space of s. It fills r in.
func (s *session) begin(r *sim.Request, g *graph) {
	prefix := append(s.first.Content[:0], r.Content...)
	s.first = *r
	s.first.Content = prefix
	calls, after := append(s.calls[:0], g.calls...), append(s.after[:0], g.after...)
	s.graph = *g
	s.calls, s.after = calls, after
	s.open = len(calls)
	s.fill(0, r)
}

// fill fills r with a call: every field except ID and Arrival.
func (s *session) fill(number int32, r *sim.Request) {
	c := &s.calls[number]
	id, space := r.ID, r.Content[:0]
	*r = s.first
	r.ID = id
	if c.recorded != nil {
		r.Content = append(space, c.recorded...)
	} else {
		r.Content = s.text(append(space, s.first.Content...), r.Session, number)
	}
	r.Prompt, r.Output, r.Answer = c.prompt, c.output, 0
	if !s.samples && (c.thinking == 0 || s.keep != KeepNone) {
		r.Answer = turnText(content.Answer, r.Session, int(number))
	}
	if c.recorded != nil {
		r.Answer = c.answer
	}
	r.Call = sim.Call{Number: number + 1, Turn: c.turn, Of: int32(len(s.calls))}
}

// end notes that a call has ended, and calls ready for each call that waited for nothing else.
func (s *session) end(number int32, ready func(number int32)) {
	s.open--
	next := number + 1
	for p, before := range s.after[s.calls[number].after.to:] {
		if before != number {
			continue
		}
		for s.calls[next].after.to-s.calls[number].after.to <= int32(p) {
			next++
		}
		if s.calls[next].missing--; s.calls[next].missing == 0 {
			ready(next)
		}
	}
}
