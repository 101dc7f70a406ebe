package workload

import (
	"errors"
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Class is a kind of request.
type Class struct {
	// Name appears in messages and reports.
	Name string
	// Weight is the share of the class among the requests of all classes without arrivals of their
	// own, in any unit, above 0. For a class with turns, conversations count in place of requests.
	Weight float64
	// Prompt is the length of what the user writes. A shared prefix and, in a conversation, all
	// earlier turns are put before it.
	Prompt *lengths.Distribution
	// Output is the length of the answer.
	Output *lengths.Distribution
	// Traits are the traits of each request.
	Traits
	// Arrivals is the process by which requests of this class arrive, whatever its weight. It is
	// nil if the class shares the arrivals of the workload.
	Arrivals *arrivals.Process
	// Prefix, if any, is the text that groups of prompts begin with.
	Prefix *Prefix
	// Distinct, if not 0, is the number of different prompts that are sent in turn, again and
	// again, as benchmarks do. Prompt number j always has the same length. With prefixes, it has
	// the prefix of group j modulo the number of groups.
	Distinct int
	// Turns, if any, makes each request a conversation.
	Turns *Turns
	// Calls, if any, makes each request a session of these calls. Prompt and Output do not count
	// then. A call whose prompt and output together would be longer than MaxContext, 0 for any, is
	// left out with the calls that wait for it.
	Calls      []Call
	MaxContext int
	// Samples, if above 1, is the number of answers to each prompt, all of the same length. Each is
	// a request of its own, and all are sent at once.
	Samples int
	// BeamStep, if not 0, makes the answers beams: after that many tokens each goes on from one of
	// them, drawn at random, in a request of its own.
	BeamStep int
}

// Traits are properties of a request for policies and reports, with the same meaning as in
// sim.Request.
type Traits struct {
	Priority, Tenant, Model int
	// Deadline counts from the arrival. 0 means unset, as for the other fields.
	Deadline, TTFT, Patience sim.Time
	Region                   int
	AfterFirst, Whole        bool
	// PatienceShape is the distribution of the patience, whose mean is then Patience; nil means
	// that all users have the same.
	PatienceShape arrivals.Shape
}

// patience returns how long users wait before they leave.
func (t *Traits) patience() arrivals.Delay {
	return arrivals.Delay{Mean: t.Patience, Shape: t.PatienceShape}
}

// mark writes the traits into r.
func (t *Traits) mark(r *sim.Request) {
	r.Priority, r.Tenant, r.Model = t.Priority, t.Tenant, t.Model
	r.Deadline, r.TTFT, r.Patience, r.Region = t.Deadline, t.TTFT, t.Patience, t.Region
	r.AfterFirst, r.Whole = t.AfterFirst, t.Whole
}

// check refuses traits out of range.
func (t *Traits) check() error {
	for _, span := range []struct {
		name string
		is   sim.Time
	}{{"deadline", t.Deadline}, {"time to first token", t.TTFT}, {"patience", t.Patience}} {
		if span.is < 0 {
			return fmt.Errorf("%s: found %v, allowed: spans above 0, or 0 for none", span.name,
				span.is)
		}
	}
	if t.Tenant < 0 || t.Model < 0 || t.Region < 0 {
		return fmt.Errorf("tenant, model and region: found %d, %d and %d, allowed: numbers from 0",
			t.Tenant, t.Model, t.Region)
	}
	return nil
}

// Prefix is text that prompts share: system prompts, documents, examples.
type Prefix struct {
	// Groups is the number of different prefixes, at least 1.
	Groups int
	// Tokens is the length of a prefix; each group draws its own once.
	Tokens *lengths.Distribution
	// Zipf is the exponent of the popularity of groups: group number k is chosen in proportion to
	// k^−Zipf. 0 means that all groups are equally popular.
	Zipf float64
}

// Turns describes conversations. The prompt of a turn consists of all earlier turns and a new
// message. It is sent after the answer to the turn before. If a turn is refused, the conversation
// continues as if it had been answered.
type Turns struct {
	// Count is the number of turns.
	Count *lengths.Distribution
	// Think is the time between an answer and the next message.
	Think arrivals.Delay
	// MaxContext ends a conversation before the turn whose prompt and output together would be
	// longer; 0 means never.
	MaxContext int
	// Tools, Agents and Compact are nil where turns use no tools, start no agents, and where the
	// text of a session grows without bound.
	Tools   *Tools
	Agents  *Agents
	Compact *Compaction
	// Thinking describes the beginning of answers.
	Thinking Thinking
}

// Bounds that let text numbers be packed without collisions.
const (
	maxClasses = 1 << 16
	maxTexts   = 1 << 22
	maxTurns   = 1 << 16
	maxSamples = 1024
)

// check refuses parameters out of range; at is the number of the class, from 1.
func (c Class) check(at int) error {
	name := fmt.Sprintf("class %d", at)
	if c.Name != "" {
		name = fmt.Sprintf("class %q", c.Name)
	}
	var err error
	switch {
	case !(c.Weight > 0) || math.IsInf(c.Weight, 1):
		err = fmt.Errorf("weight: found %v, allowed: finite numbers above 0", c.Weight)
	case c.Prompt == nil:
		err = errors.New("found no prompt lengths")
	case c.Output == nil:
		err = errors.New("found no output lengths")
	case c.Distinct < 0 || c.Distinct > maxTexts:
		err = fmt.Errorf("distinct prompts: found %d, allowed: 1 to %d, or 0 for no repetition",
			c.Distinct, maxTexts)
	case c.Distinct > 0 && c.Turns != nil:
		err = errors.New("found distinct prompts and turns, allowed: one of the two; messages of " +
			"a conversation are not repeated")
	case c.Samples < 0 || c.Samples > maxSamples:
		err = fmt.Errorf("samples: found %d, allowed: 1 to %d, or 0 for one", c.Samples, maxSamples)
	case c.Samples > 1 && (c.Turns != nil || c.Distinct > 0):
		err = errors.New("found samples beside turns or distinct prompts, allowed: one of them")
	case c.BeamStep != 0:
		err = c.checkBeams()
	case len(c.Calls) > 0:
		err = c.checkCalls()
	}
	if err == nil && c.Prefix != nil {
		err = c.Prefix.check(c.Distinct > 0)
	}
	if err == nil && c.Turns != nil {
		err = c.Turns.Check()
	}
	if err == nil {
		err = c.Traits.check()
	}
	if err == nil && c.Arrivals != nil {
		if _, at := c.Arrivals.Rate.(arrivals.AtOnce); at {
			err = errors.New("arrivals: found all at once, allowed: the workload as a whole at " +
				"once, or a rate")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkBeams refuses beams out of range.
func (c *Class) checkBeams() error {
	switch {
	case c.BeamStep < 0:
		return fmt.Errorf("beam-step: found %d, allowed: 1 or more tokens, or 0 for none",
			c.BeamStep)
	case c.Samples < 2 || c.Calls != nil:
		return errors.New("beam-step: found no samples that could fork, allowed: samples of 2 or " +
			"more")
	case c.beamRounds(c.Output.Max())*c.Samples >= maxTurns:
		return fmt.Errorf("beam-step: found %d steps of up to %d tokens in %d beams, allowed: %d "+
			"steps in all", c.beamRounds(c.Output.Max()), c.BeamStep, c.Samples, maxTurns-1)
	}
	return nil
}

// beamRounds returns the number of steps of a beam with an answer of that many tokens.
func (c *Class) beamRounds(output int) int { return (output-1)/c.BeamStep + 1 }

func (p Prefix) check(distinct bool) error {
	switch {
	case p.Groups < 1 || p.Groups > maxTexts:
		return fmt.Errorf("prefix: groups: found %d, allowed: 1 to %d", p.Groups, maxTexts)
	case p.Tokens == nil:
		return errors.New("prefix: found no lengths")
	case !(p.Zipf >= 0) || math.IsInf(p.Zipf, 1):
		return fmt.Errorf("prefix: zipf: found %v, allowed: finite numbers from 0", p.Zipf)
	case distinct && p.Zipf != 0:
		return fmt.Errorf("prefix: zipf: found %v with distinct prompts, allowed: 0; they are "+
			"sent in turn", p.Zipf)
	}
	return nil
}

// Check refuses parameters out of range.
func (t Turns) Check() error {
	switch {
	case t.Count == nil:
		return errors.New("turns: found no number of turns")
	case t.Count.Max() >= maxTurns:
		return fmt.Errorf("turns: found up to %d, allowed: 1 to %d", t.Count.Max(), maxTurns-1)
	case t.MaxContext < 0:
		return fmt.Errorf("turns: longest context: found %d, allowed: 1 or more tokens, or 0 "+
			"for any", t.MaxContext)
	}
	return t.checkAgents()
}
