package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// Tools lets turns follow from the results of tools in place of messages of the user.
type Tools struct {
	// Share is the probability that a turn after the first has the result of a tool, from 0 to 1.
	Share float64
	// Result is the number of tokens that a tool returns, and Wait the time that it takes.
	Result *lengths.Distribution
	Wait   arrivals.Delay
	// Retries is the probability that an answer cannot be used, so that the same prompt is sent
	// again at once, from 0 to 0.9.
	Retries float64
}

// Agents lets a turn start further agents, which work at the same time, each in a text of its own
// that begins with the prefix of the session. When all have ended, the next turn has their last
// answers as its message.
type Agents struct {
	// Share is the probability that a turn after the first comes from agents, from 0 to 1.
	Share float64
	// Count is the number of agents, Turns the number of turns of each, and Prompt what each is
	// told. After its first turn, an agent works with tools.
	Count, Turns, Prompt *lengths.Distribution
}

// Compaction bounds the text of a session. Before a turn whose prompt and output together would be
// longer than At, the model is asked for a summary of To tokens. It takes the place of the text
// between the prefix and the turn.
type Compaction struct{ At, To int }

// Thinking is the part of each answer that is not for the user.
type Thinking struct {
	// Share is the share of an answer's tokens, from 0 to below 1.
	Share float64
	Keep  Keep
	// Budget is the largest number of thinking tokens, 0 for any. When they are used up, the engine
	// forces the end of thinking, and the rest of the answer follows as if it had come by itself
	// (vLLM, v1/sample/thinking_budget_state.py, v0.22; SGLang, docs, thinking budget).
	Budget int
}

// begin divides the answer to a call into thinking and the rest.
func (t *Thinking) begin(c *call) {
	c.thinking = int(t.Share * float64(c.output))
	if over := c.thinking - t.Budget; t.Budget > 0 && over > 0 {
		c.thinking -= over
		c.output -= over
	}
}

// most bounds the calls that one turn can lead to in retries.
const mostRetries = 10

// checkAgents refuses parameters of agentic sessions out of range.
func (t Turns) checkAgents() error {
	probability := func(name string, p, most float64) error {
		if p >= 0 && p <= most {
			return nil
		}
		return fmt.Errorf("turns: %s: found %v, allowed: numbers from 0 to %v", name, p, most)
	}
	calls := t.Count.Max()
	if a := t.Agents; a != nil {
		if a.Count == nil || a.Turns == nil || a.Prompt == nil {
			return errors.New("turns: agents: found no number, turns or prompts of agents")
		}
		if t.Tools == nil && a.Turns.Max() > 1 {
			return errors.New("turns: agents: found turns of agents without tools, allowed: one " +
				"turn, or tools")
		}
		if a.Count.Max() >= maxTurns || a.Turns.Max() >= maxTurns {
			return fmt.Errorf("turns: agents: found up to %d agents of up to %d turns, allowed: "+
				"at most %d", a.Count.Max(), a.Turns.Max(), maxTurns-1)
		}
		calls *= 1 + a.Count.Max()*a.Turns.Max()
		if err := probability("share of agents", a.Share, 1); err != nil {
			return err
		}
	}
	if o := t.Tools; o != nil {
		if o.Result == nil {
			return errors.New("turns: tools: found no lengths of results")
		}
		if o.Retries > 0 {
			calls *= 1 + mostRetries
		}
		if err := errors.Join(probability("share of tools", o.Share, 1),
			probability("retries", o.Retries, 0.9)); err != nil {
			return err
		}
	}
	if c := t.Compact; c != nil {
		if c.To < 1 || c.At <= c.To || t.MaxContext > 0 && c.At+c.To > t.MaxContext {
			return fmt.Errorf("turns: compaction at %d tokens to %d, allowed: to 1 or more, at "+
				"more than that, and together at most the longest context, %d", c.At, c.To,
				t.MaxContext)
		}
		calls *= 2
	}
	if calls >= maxTurns {
		return fmt.Errorf("turns: found up to %d calls in a session, agents, retries and "+
			"summaries included, allowed: at most %d", calls, maxTurns-1)
	}
	if s, n := t.Thinking.Share, t.Thinking.Budget; !(s >= 0 && s < 1) || n < 0 {
		return fmt.Errorf("turns: thinking: found a share of %v and a budget of %d, allowed: "+
			"0 to below 1, and 0 tokens or more", s, n)
	}
	return nil
}

// plan draws the calls of a session, so that they do not depend on when and in which order answers
// come. The session ends before the first turn that is too long.
func (m *mix) plan(c *drawnClass, prefix, message, output int) {
	t, g := c.Turns, &m.graph
	g.reset(prefix, t.MaxContext, t.Thinking.Keep)
	last, fits := m.ask(c, call{from: -1, message: message, output: output}, nil)
	task := int32(0)
	for range t.Count.Draw(&m.counts) - 1 {
		mark := len(g.calls)
		next, after := call{from: last}, []int32{last}
		byUser := false
		switch {
		case t.Agents != nil && chance(&m.choices, t.Agents.Share):
			next.message, after = m.delegate(c, last, task)
		case t.Tools != nil && chance(&m.choices, t.Tools.Share):
			next.message, next.wait = t.Tools.Result.Draw(&m.results), c.work()
		default:
			next.message, byUser = c.Prompt.Draw(&m.prompts), true
			task++
		}
		next.output, next.task = c.Output.Draw(&m.outputs), task
		if byUser {
			next.wait = c.think()
		}
		if fits {
			last, fits = m.ask(c, next, after)
		}
		if !fits {
			g.shrink(mark)
		}
	}
}

// sample lists the answers to a prompt.
func (m *mix) sample(c *drawnClass, prefix, message, output int) {
	g := &m.graph
	g.reset(prefix, 0, KeepAll)
	g.samples = true
	for range c.Samples {
		g.add(call{from: -1, message: message, output: output}, nil)
	}
}

// fork lists the steps of beams that search an answer, as vLLM sends them since 0.6.3 (beam_search
// in vllm/entrypoints/llm.py): when all beams have made a step, each goes on from the text of one
// of them. Which one depends on the model; here all are equally likely.
func (m *mix) fork(c *drawnClass, prefix, message, output int) {
	g := &m.graph
	g.reset(prefix, 0, KeepAll)
	var before []int32
	for round := range c.beamRounds(output) {
		var beams []int32
		for range c.Samples {
			next := call{from: -1, message: message,
				output: min(c.BeamStep, output-round*c.BeamStep)}
			if round > 0 {
				next.from, next.message = before[m.choices.Uint64()%uint64(c.Samples)], 0
			}
			number, _ := g.add(next, before)
			beams = append(beams, number)
		}
		before = beams
	}
}

// ask adds a call to the session, with the summary that it needs before it and retries after it. It
// returns the number of the call whose answer counts, and reports whether all of them fit.
func (m *mix) ask(c *drawnClass, next call, after []int32) (last int32, fits bool) {
	t, g := c.Turns, &m.graph
	next.text = int32(len(g.calls))
	t.Thinking.begin(&next)
	if k := t.Compact; k != nil && next.from >= 0 && g.prompt(&next)+next.output > k.At {
		summary := call{from: next.from, text: next.text, output: k.To, task: next.task}
		number, fits := g.add(summary, after)
		if !fits {
			return 0, false
		}
		next.from, next.summary, next.text = number, true, next.text+1
		after = []int32{number}
	}
	last, fits = g.add(next, after)
	for n := 0; fits && t.Tools != nil && n < mostRetries &&
		chance(&m.choices, t.Tools.Retries); n++ {
		next.output, next.wait = c.Output.Draw(&m.outputs), 0
		t.Thinking.begin(&next)
		last, fits = g.add(next, []int32{last})
	}
	return last, fits
}

// delegate adds the calls of agents that a call starts. It returns the length of their last
// answers, and the numbers of the last calls.
func (m *mix) delegate(c *drawnClass, start, task int32) (reports int, ends []int32) {
	a, g := c.Turns.Agents, &m.graph
	for range a.Count.Draw(&m.agents) {
		next := call{from: -1, message: a.Prompt.Draw(&m.agents), task: task,
			output: c.Output.Draw(&m.outputs)}
		last, fits := m.ask(c, next, []int32{start})
		if !fits {
			continue
		}
		for range a.Turns.Draw(&m.agents) - 1 {
			next = call{from: last, message: c.Turns.Tools.Result.Draw(&m.results), task: task,
				output: c.Output.Draw(&m.outputs), wait: c.work()}
			number, fits := m.ask(c, next, []int32{last})
			if !fits {
				break
			}
			last = number
		}
		reports += g.calls[last].output - g.calls[last].thinking
		ends = append(ends, last)
	}
	if ends == nil {
		return 0, []int32{start}
	}
	return reports, ends
}

// chance reports whether something of the given probability happens. What cannot happen draws no
// random number.
func chance(r *rand.PCG, p float64) bool {
	return p > 0 && float64(r.Uint64()>>11)/(1<<53) < p
}

// plain reports whether the turns of a session follow one another and repeat all that was before.
func (t *Turns) plain() bool {
	return t.Tools == nil && t.Agents == nil && t.Compact == nil && t.Thinking.Share == 0
}

// sampled returns the means over sessions of a class: of their calls, and of the sums of prompts
// and of outputs.
func (c Class) sampled() (calls, prompts, outputs float64) {
	const sessions = 500
	c.Weight = 1
	m, err := newMix([]Class{c}, 0, 0)
	if err != nil {
		return 1, c.Prompt.Mean(), c.Output.Mean()
	}
	var r sim.Request
	for range sessions {
		for _, call := range m.fill(&r, 0).calls {
			calls++
			prompts += float64(call.prompt)
			outputs += float64(call.output)
		}
	}
	return calls / sessions, prompts / sessions, outputs / sessions
}

// Call is a request of a session that is described call by call.
type Call struct {
	// After lists the earlier calls that must have ended, by their numbers from 0. From is the one
	// of the earlier calls whose text goes on, or −1 for a text that begins with the prefix.
	After []int
	From  int
	// Prompt is the number of tokens that are new in the prompt, and Output the number of tokens of
	// the answer.
	Prompt, Output *lengths.Distribution
	// Wait is the time between the end of the calls before and this one.
	Wait arrivals.Delay
}

// checkCalls refuses calls that wait for later ones, or continue what they do not wait for.
func (c *Class) checkCalls() error {
	if c.Turns != nil || c.Distinct > 0 || c.Samples > 1 {
		return errors.New("found calls beside turns, samples or distinct prompts, allowed: one " +
			"of them")
	}
	if len(c.Calls) >= maxTurns {
		return fmt.Errorf("found %d calls, allowed: at most %d", len(c.Calls), maxTurns-1)
	}
	before := make([]map[int]bool, len(c.Calls)) // that a call waits for, also through others
	for i, call := range c.Calls {
		before[i] = map[int]bool{-1: true}
		for _, a := range call.After {
			if a < 0 || a >= i {
				return fmt.Errorf("call %d: after: found %d, allowed: earlier calls", i, a)
			}
			before[i][a] = true
			for b := range before[a] {
				before[i][b] = true
			}
		}
		switch {
		case !before[i][call.From]:
			return fmt.Errorf("call %d: from: found %d, allowed: calls that it waits for, or −1", i,
				call.From)
		case call.Prompt == nil || call.Output == nil:
			return fmt.Errorf("call %d: found no lengths", i)
		}
	}
	return nil
}

// waits returns the times between the calls of a class.
func (c *Class) waits(seed uint64, class int) (list []func() sim.Time, err error) {
	for i := range c.Calls {
		source := rand.NewPCG(toolStream.key(seed)+uint64(class), uint64(i))
		wait, err := c.Calls[i].Wait.Sampler(source)
		if err != nil {
			return nil, err
		}
		list = append(list, wait)
	}
	return list, nil
}

// follow lists the calls of a session that is described call by call. A call that would be too long
// is left out, and so are the calls that wait for it.
func (m *mix) follow(c *drawnClass, prefix int) {
	g := &m.graph
	g.reset(prefix, c.MaxContext, KeepAll)
	numbers := make([]int32, len(c.Calls))
	for i := range c.Calls {
		described := &c.Calls[i]
		next := call{from: -1, text: int32(i), message: described.Prompt.Draw(&m.prompts),
			output: described.Output.Draw(&m.outputs), wait: c.between[i]()}
		fits := true
		var after []int32
		for _, a := range described.After {
			fits = fits && numbers[a] >= 0
			after = append(after, numbers[a])
		}
		if len(after) == 0 {
			next.wait = 0
		}
		if described.From >= 0 {
			next.from = numbers[described.From]
		}
		numbers[i] = -1
		if !fits {
			continue
		}
		if number, fits := g.add(next, after); fits {
			numbers[i] = number
		}
	}
}
