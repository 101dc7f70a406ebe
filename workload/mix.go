package workload

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// script yields the requests without their times, one after another.
type script interface {
	// more reports whether there is another request.
	more() bool
	// fill writes the next request of the given class into r: every field except ID and Arrival,
	// with Deadline counted from the arrival. A class below 0 means any class that shares arrivals.
	// If the request opens a session, fill returns its calls, which are valid until the next use of
	// the script, and Content is the prefix alone.
	fill(r *sim.Request, class int) *graph
	// talks reports whether requests may open sessions.
	talks() bool
	// err returns the error that ended the script, or nil.
	err() error
}

// mix is the script that draws requests from classes.
type mix struct {
	classes []drawnClass
	// pick chooses among several classes that share arrivals; nil if there is one class.
	pick *lengths.Table

	picks, prompts, outputs, groups, counts rand.PCG
	// choices, results and agents are drawn from only where sessions have tools or agents.
	choices, results, agents rand.PCG
	// texts is the key of the lengths that belong to a text rather than to a request.
	texts uint64
	// session is the number of conversations so far.
	session int64
	graph   graph
}

// drawnClass is a class with the state for drawing from it.
type drawnClass struct {
	Class
	number uint64
	// sent counts the requests of a class with distinct prompts.
	sent uint64
	// popularity chooses among groups; nil if there is one.
	popularity *lengths.Table
	think      func() sim.Time
	// work is the time that tools take; nil without them.
	work func() sim.Time
	// between are the times before calls.
	between []func() sim.Time
}

func newMix(classes []Class, seed uint64, before int64) (*mix, error) {
	if len(classes) > maxClasses {
		return nil, fmt.Errorf("found %d classes, allowed: at most %d", len(classes), maxClasses)
	}
	m := &mix{
		picks: *classStream.source(seed), prompts: *promptStream.source(seed),
		outputs: *outputStream.source(seed),
		groups:  *groupStream.source(seed), counts: *turnStream.source(seed),
		choices: *choiceStream.source(seed), results: *resultStream.source(seed),
		agents: *agentStream.source(seed),
		texts:  textStream.key(seed), session: before,
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
	if m.pick, err = lengths.NewTable(weights); err != nil {
		return nil, fmt.Errorf("class weights: %w", err)
	}
	return m, nil
}

func newDrawnClass(c Class, i int, seed uint64) (drawnClass, error) {
	d := drawnClass{Class: c, number: uint64(i)}
	var err error
	if c.Prefix != nil && c.Prefix.Groups > 1 {
		d.popularity, err = lengths.NewTable(zipf(c.Prefix.Groups, c.Prefix.Zipf))
	}
	if err == nil {
		d.between, err = c.waits(seed, i)
	}
	if err == nil && c.Turns != nil {
		// Each class thinks by itself, so that a second class does not change how the first one
		// thinks.
		d.think, err = c.Turns.Think.Sampler(turnThinkStream.nth(seed, i))
		if t := c.Turns.Tools; err == nil && t != nil {
			d.work, err = t.Wait.Sampler(toolStream.nth(seed, i))
		}
	}
	return d, err
}

func (m *mix) more() bool { return true }
func (m *mix) err() error { return nil }

func (m *mix) talks() bool {
	return slices.ContainsFunc(m.classes, func(c drawnClass) bool { return c.talks() })
}

// talks reports whether requests of the class open sessions.
func (c *drawnClass) talks() bool { return c.Turns != nil || c.Samples > 1 || c.Calls != nil }

func (m *mix) fill(r *sim.Request, class int) *graph {
	c := &m.classes[max(class, 0)]
	if class < 0 && m.pick != nil {
		c = &m.classes[m.pick.Draw(&m.picks)]
	}
	r.Prompt = c.Prompt.Draw(&m.prompts)
	r.Output = c.Output.Draw(&m.outputs)
	r.Class, r.Adapter = int(c.number), 0
	c.mark(r)
	r.Session, r.Content, r.Answer, r.Call, r.Answered = 0, r.Content[:0], 0, sim.Call{}, 0
	if c.Prefix == nil && c.Distinct == 0 && !c.talks() {
		return nil
	}
	return m.share(c, r)
}

// share adds the text that the prompt of r shares with others.
func (m *mix) share(c *drawnClass, r *sim.Request) *graph {
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
		shared := m.prefix(c, group)
		r.Content = append(r.Content, shared)
		r.Prompt += shared.Tokens
	}
	if c.Distinct > 0 {
		r.Content = append(r.Content, sim.Segment{ID: content.ID(content.Question, c.text(text)),
			Tokens: message})
	}
	if !c.talks() {
		return nil
	}
	m.session++
	r.Session = m.session
	switch {
	case c.Calls != nil:
		m.follow(c, r.Prompt-message)
	case c.BeamStep > 0:
		m.fork(c, r.Prompt-message, message, r.Output)
	case c.Samples > 1:
		m.sample(c, r.Prompt-message, message, r.Output)
	default:
		m.plan(c, r.Prompt-message, message, r.Output)
	}
	return &m.graph
}

// text returns the segment ID of text number n of a class.
func (c *drawnClass) text(n uint64) uint64 { return c.number<<40 | n }

// prefix returns the text that a group of prompts of a class begins with.
func (m *mix) prefix(c *drawnClass, group uint64) sim.Segment {
	return sim.Segment{ID: content.ID(content.SharedPrefix, c.text(group)),
		Tokens: c.Prefix.Tokens.At(m.fixed(content.SharedPrefix, c.text(group)))}
}

// Prefixes yields the prefixes of all groups of the classes that ask for a model, as the Content of
// their requests has them with that seed.
func Prefixes(classes []Class, seed uint64, model int) iter.Seq[sim.Segment] {
	return func(yield func(sim.Segment) bool) {
		m := mix{texts: textStream.key(seed)}
		for i := range classes {
			class := drawnClass{Class: classes[i], number: uint64(i)}
			if class.Prefix == nil || class.Model != model {
				continue
			}
			for group := range class.Prefix.Groups {
				if !yield(m.prefix(&class, uint64(group))) {
					return
				}
			}
		}
	}
}

// fixed returns the random number that belongs to a text.
func (m *mix) fixed(kind content.Kind, text uint64) uint64 {
	return content.Hash(m.texts ^ content.ID(kind, text))
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

// stream names a purpose that draws random numbers of its own.
type stream uint64

const (
	gapStream stream = iota
	burstStream
	classStream
	promptStream
	outputStream
	groupStream
	turnStream
	turnThinkStream
	userThinkStream
	textStream
	partStream
	choiceStream
	resultStream
	agentStream
	toolStream
	adapterStream
	escalationStream
	startStream
	placeStream
	patienceStream
)

// source returns the random numbers of a purpose.
func (s stream) source(seed uint64) *rand.PCG { return s.nth(seed, 0) }

// nth returns the random numbers of a purpose in the n-th of several places.
func (s stream) nth(seed uint64, n int) *rand.PCG {
	state := content.Hash(s.key(seed) + uint64(n))
	return rand.NewPCG(state, content.Hash(state))
}

// key returns a number that depends on seed and purpose only.
func (s stream) key(seed uint64) uint64 { return content.Hash(content.Hash(seed) + uint64(s)) }

// limit ends a stream.
type limit struct {
	// left is the number of requests that may still be sent, and until the time from which no
	// request is.
	left  int64
	until sim.Time
	timed bool // the time ended the stream
}

// apply returns at, or sim.Never where no request may be sent then.
func (l *limit) apply(at sim.Time) sim.Time {
	l.timed = l.left > 0 && at >= l.until && at != sim.Never
	if l.left <= 0 || at >= l.until {
		return sim.Never
	}
	return at
}

// Until implements sim.Timed.
func (l *limit) Until() sim.Time {
	if l.timed {
		return l.until
	}
	return 0
}
