// Package timeline records what requests do between their arrival and their last token, and shows
// it. A Life is a sequence of parts without gaps, whose spans add up to the latency that the user
// sees. A Waterfall says where the time of one request went; a Chart has the first requests of a
// run and the steps that carry them, as SVG, as a page or in lines of text; a Trace has the whole
// run in a file for ui.perfetto.dev.
package timeline

import (
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// Kind is what a request does for a while.
type Kind int

// Kinds, in the order in which they usually happen.
const (
	// Queued is the wait for the first step.
	Queued Kind = iota
	// Prefill is steps that compute tokens of the prompt.
	Prefill
	// Transfer is the wait for the KV cache to come from the replica that computed the prompt, as
	// far as it is not hidden behind that computation.
	Transfer
	// Placing is the wait, after that, for a place in a batch of the replica that decodes.
	Placing
	// Decode is steps that give tokens of the answer.
	Decode
	// Waiting is time in a batch in which no step carries the request: steps carry others.
	Waiting
	// Preempted is the wait for a place after another request took it.
	Preempted
	// Recompute is steps that compute again what a preemption or a failure dropped.
	Recompute
	// Failed is the time from the last step at a replica that failed until another one begins.
	Failed
	// Held is the time in which a complete answer keeps its place in a static batch.
	Held
	// FrontEnd is what passes between the user and the engine, for each token the same: taking the
	// request in, splitting its prompt into tokens, a hand-over, and sending the token.
	FrontEnd
)

// String returns the name of a kind: a word in lower case.
func (k Kind) String() string {
	return [...]string{"queued", "prefill", "transfer", "placing", "decode", "waiting", "preempted",
		"recompute", "failed", "held", "front-end"}[k]
}

// Meaning says in a line what a request does.
func (k Kind) Meaning() string {
	return [...]string{
		"waits for its first step",
		"steps that compute its prompt",
		"its KV cache comes from the replica that computed the prompt",
		"waits for a place in a batch of the replica that decodes",
		"steps that give it tokens",
		"has a place in a batch, while steps carry others",
		"lost its place and waits for another",
		"steps that compute again what was dropped",
		"its replica failed, and it waits for another",
		"is complete, and a static batch holds its answer",
		"takes the request in, and sends its tokens",
	}[k]
}

// Part is a stretch of time in which a request does one thing.
type Part struct {
	Kind     Kind
	From, To sim.Time
	// Replica is the one whose steps they are, or that comes next.
	Replica int
	// Steps is the number of steps. Tokens is how many tokens of the prompt they compute (and of
	// the answer, where it was dropped), or how many they give where Kind is Decode.
	Steps  int64
	Tokens int
}

// Span returns how long p lasts.
func (p *Part) Span() sim.Time { return p.To - p.From }

// Life is a request from its arrival until its user has the last token.
type Life struct {
	ID             int64
	Prompt, Output int
	// Cached is the number of prompt tokens that a prefix cache supplied when the request was first
	// scheduled.
	Cached int
	// Replica is the one that gave the last token.
	Replica              int
	Preemptions, Retries int
	// Arrival, First, Last and End are when the request came, when its first and its last token
	// came out, and when the user had the last.
	Arrival, First, Last, End sim.Time
	// Parts follow each other without gaps from Arrival to End.
	Parts []Part
}

// E2E returns the latency that the user sees.
func (l *Life) E2E() sim.Time { return l.End - l.Arrival }

// TTFT returns the time to first token that the user sees.
func (l *Life) TTFT() sim.Time { return l.First + (l.End - l.Last) - l.Arrival }

// Total is all that a request did of one kind.
type Total struct {
	Kind  Kind
	Span  sim.Time
	Parts int
	Steps int64
}

// Totals returns what the parts of each kind add up to, without kinds that do not occur.
func (l *Life) Totals() []Total {
	list := make([]Total, FrontEnd+1)
	for i := range l.Parts {
		p := &l.Parts[i]
		t := &list[p.Kind]
		t.Kind, t.Span = p.Kind, t.Span+p.Span()
		t.Parts, t.Steps = t.Parts+1, t.Steps+p.Steps
	}
	return slices.DeleteFunc(list, func(t Total) bool { return t.Parts == 0 })
}

// end returns when the last part ends, or the request arrived.
func (l *Life) end() sim.Time {
	if n := len(l.Parts); n > 0 {
		return l.Parts[n-1].To
	}
	return l.Arrival
}

// add adds a part at the end. Decode steps that follow each other are one part, and so is time in
// which nothing is computed; each chunk of a prompt is a part of its own.
func (l *Life) add(p Part) {
	if p.To <= p.From {
		return
	}
	if n := len(l.Parts); n > 0 && p.Kind != Prefill && p.Kind != Recompute {
		if last := &l.Parts[n-1]; last.Kind == p.Kind && last.Replica == p.Replica {
			last.To, last.Steps, last.Tokens = p.To, last.Steps+p.Steps, last.Tokens+p.Tokens
			return
		}
	}
	l.Parts = append(l.Parts, p)
}
