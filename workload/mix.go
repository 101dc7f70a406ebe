package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/internal/content"
	"github.com/llmsim/llmsim/workload/internal/discrete"
)

// script yields the requests without their times, one after another.
type script interface {
	// more reports whether there is another request.
	more() bool
	// fill writes the next request of the given class into r: every field except ID and Arrival,
	// with Deadline counted from the arrival. A class below 0 stands for any class that shares
	// arrivals. If the request opens a conversation, fill returns the later turns, which are valid
	// until the next call.
	fill(r *sim.Request, class int) []turn
	// err returns the error that ended the script, or nil.
	err() error
}

// turn is a later turn of a conversation.
type turn struct {
	// message is the number of tokens that the user writes, and output that of the answer.
	message, output int
	// think is the time between the answer before and this turn.
	think sim.Time
}

// mix is the script that draws requests from classes.
type mix struct {
	classes []drawnClass
	// pick chooses among several classes that share arrivals; nil if there is one class.
	pick *discrete.Table

	picks, prompts, outputs, groups, counts rand.PCG
	// texts is the key of the lengths that belong to a text rather than to a request.
	texts uint64
	// session is the number of conversations so far.
	session int64
	turns   []turn
}

// drawnClass is a class with the state for drawing from it.
type drawnClass struct {
	Class
	number uint64
	// sent counts the requests of a class with distinct prompts.
	sent uint64
	// popularity chooses among groups; nil if there is one.
	popularity *discrete.Table
	think      func() sim.Time
}

func newMix(classes []Class, seed uint64) (*mix, error) {
	if len(classes) > maxClasses {
		return nil, fmt.Errorf("found %d classes, allowed: at most %d", len(classes), maxClasses)
	}
	m := &mix{
		picks: *classStream.source(seed), prompts: *promptStream.source(seed),
		outputs: *outputStream.source(seed),
		groups:  *groupStream.source(seed), counts: *turnStream.source(seed),
		texts: textStream.key(seed),
	}
	weights := make([]float64, len(classes))
	shared := 0
	for i, c := range classes {
		if err := c.check(i + 1); err != nil {
			return nil, err
		}
		drawn, err := newDrawnClass(c, i, seed)
		if err != nil {
			return nil, fmt.Errorf("class %d: %w", i+1, err)
		}
		m.classes = append(m.classes, drawn)
		if c.Arrivals == nil {
			weights[i] = c.Weight
			shared++
		}
	}
	if len(classes) == 1 || shared == 0 {
		return m, nil
	}
	var err error
	if m.pick, err = discrete.New(weights); err != nil {
		return nil, fmt.Errorf("class weights: %w", err)
	}
	return m, nil
}

func newDrawnClass(c Class, i int, seed uint64) (drawnClass, error) {
	d := drawnClass{Class: c, number: uint64(i)}
	var err error
	if c.Prefix != nil && c.Prefix.Groups > 1 {
		d.popularity, err = discrete.New(zipf(c.Prefix.Groups, c.Prefix.Zipf))
	}
	if err == nil && c.Turns != nil {
		// Each class thinks by itself, so that a second class does not change how the first one
		// thinks.
		d.think, err = c.Turns.Think.Sampler(turnThinkStream.nth(seed, i))
	}
	return d, err
}

func (m *mix) more() bool { return true }
func (m *mix) err() error { return nil }

func (m *mix) fill(r *sim.Request, class int) []turn {
	c := &m.classes[max(class, 0)]
	if class < 0 && m.pick != nil {
		c = &m.classes[m.pick.Draw(&m.picks)]
	}
	r.Prompt = c.Prompt.Draw(&m.prompts)
	r.Output = c.Output.Draw(&m.outputs)
	r.Class = int(c.number)
	c.mark(r)
	r.Session, r.Content, r.Answer = 0, r.Content[:0], 0
	if c.Prefix == nil && c.Distinct == 0 && c.Turns == nil {
		return nil
	}
	return m.share(c, r)
}

// share adds the text that the prompt of r shares with others.
func (m *mix) share(c *drawnClass, r *sim.Request) []turn {
	var text uint64
	if c.Distinct > 0 {
		text = c.sent % uint64(c.Distinct)
		c.sent++
		r.Prompt = c.Prompt.At(m.fixed(content.Question, c.text(text)))
	}
	message := r.Prompt
	if c.Prefix != nil {
		group := text % uint64(c.Prefix.Groups)
		if c.Distinct == 0 && c.popularity != nil {
			group = uint64(c.popularity.Draw(&m.groups))
		}
		tokens := c.Prefix.Tokens.At(m.fixed(content.SharedPrefix, c.text(group)))
		r.Content = append(r.Content,
			sim.Segment{ID: content.ID(content.SharedPrefix, c.text(group)), Tokens: tokens})
		r.Prompt += tokens
	}
	if c.Distinct > 0 {
		r.Content = append(r.Content, sim.Segment{ID: content.ID(content.Question, c.text(text)),
			Tokens: message})
	}
	if c.Turns == nil {
		return nil
	}
	m.session++
	r.Session = m.session
	r.Content = append(r.Content, sim.Segment{ID: turnText(content.UserMessage, r.Session, 0),
		Tokens: message})
	r.Answer = turnText(content.Answer, r.Session, 0)
	return m.converse(c)
}

// converse draws the turns after the first, so that they do not depend on when and in which order
// answers come.
func (m *mix) converse(c *drawnClass) []turn {
	m.turns = m.turns[:0]
	for range c.Turns.Count.Draw(&m.counts) - 1 {
		m.turns = append(m.turns,
			turn{message: c.Prompt.Draw(&m.prompts), output: c.Output.Draw(&m.outputs),
				think: c.think()})
	}
	return m.turns
}

// text returns the segment ID of text number n of a class.
func (c *drawnClass) text(n uint64) uint64 { return c.number<<40 | n }

// fixed returns the random number that belongs to a text.
func (m *mix) fixed(kind content.Kind, text uint64) uint64 {
	return content.Mix(m.texts ^ content.ID(kind, text))
}

// turnText returns the segment ID of message or answer number n of a session.
func turnText(kind content.Kind, session int64, n int) uint64 {
	return content.ID(kind, uint64(session)*maxTurns+uint64(n))
}

// zipf returns weights proportional to 1/k^exponent for k from 1 to n.
func zipf(n int, exponent float64) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -exponent)
	}
	return weights
}
