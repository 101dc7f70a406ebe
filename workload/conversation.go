package workload

import (
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/internal/content"
)

// conversation is a session whose turns are not all sent yet.
type conversation struct {
	// last is the turn that was sent last. Its Deadline counts from the arrival, and the
	// conversation owns its Content.
	last sim.Request
	// sent is the number of turns sent, and turns are those after the first.
	sent  int
	turns []turn
	// maxContext is the longest prompt and output together; 0 means any.
	maxContext int
}

// begin takes over the first turn, r, and the turns after it, reusing the space of c.
func (c *conversation) begin(r *sim.Request, turns []turn, maxContext int) {
	text := append(c.last.Content[:0], r.Content...)
	c.last = *r
	c.last.Content = text
	c.sent = 1
	c.turns = append(c.turns[:0], turns...)
	c.maxContext = maxContext
}

// coming returns the turn that comes next; there must be one.
func (c *conversation) coming() turn { return c.turns[c.sent-1] }

// goesOn reports whether there is another turn that fits into the context.
func (c *conversation) goesOn() bool {
	if c.sent > len(c.turns) {
		return false
	}
	t := c.coming()
	return c.maxContext == 0 || c.last.Prompt+c.last.Output+t.message+t.output <= c.maxContext
}

// next fills r with the next turn: all earlier turns with their answers, and a new message.
func (c *conversation) next(r *sim.Request) {
	t := c.coming()
	c.last.Content = append(c.last.Content,
		sim.Segment{ID: c.last.Answer, Tokens: c.last.Output},
		sim.Segment{ID: turnText(content.UserMessage, c.last.Session, c.sent), Tokens: t.message})
	c.last.Prompt += c.last.Output + t.message
	c.last.Output = t.output
	c.last.Answer = turnText(content.Answer, c.last.Session, c.sent)
	c.sent++
	id, space := r.ID, r.Content[:0]
	*r = c.last
	r.ID, r.Content = id, append(space, c.last.Content...)
}
