package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
)

// calls returns the calls of a session in an order in which each comes after the calls that it
// waits for, and fills in their defaults.
func (d *demand) calls(field string, list []Call, longest int) []workload.Call {
	at, known := map[string]int{}, len(d.problems)
	names := make([]string, len(list))
	for i := range list {
		if _, twice := at[list[i].Name]; twice {
			d.problem(fmt.Sprintf("%s.%d.name", field, i), "found a second call %q; give each a "+
				"name of its own", list[i].Name)
		}
		at[list[i].Name], names[i] = i, list[i].Name
	}
	for i := range list {
		for _, name := range slices.Concat(list[i].After, []string{list[i].From}) {
			if _, found := at[name]; !found && name != "" {
				d.problem(fmt.Sprintf("%s.%d", field, i), "waits for a call that never comes: %s",
					nearest.Unknown("call", name, names))
			}
		}
	}
	if len(d.problems) > known {
		return nil
	}
	number := map[string]int{} // in order
	ended := map[string]map[string]bool{}
	var calls []workload.Call
	for len(number) < len(list) {
		before := len(number)
		for i := range list {
			c := &list[i]
			if _, done := number[c.Name]; done || slices.ContainsFunc(c.After, func(a string) bool {
				_, done := number[a]
				return !done
			}) {
				continue
			}
			number[c.Name] = len(calls)
			ended[c.Name] = map[string]bool{"": true}
			for _, a := range c.After {
				ended[c.Name][a] = true
				maps.Copy(ended[c.Name], ended[a])
			}
			place := fmt.Sprintf("%s.%d", field, i)
			if !ended[c.Name][c.From] {
				d.problem(place+".from", "found %s, which may not have ended; name it in after",
					c.From)
			}
			calls = append(calls, d.call(place, c, number, longest))
		}
		if len(number) == before {
			d.reportCycle(field, list, number)
			return nil
		}
	}
	return calls
}

// call returns a call; the calls before it have numbers.
func (d *demand) call(field string, c *Call, number map[string]int, longest int) workload.Call {
	c.Prompt.complete(Length{}, longest)
	c.Output.complete(defaultOutput(), longest)
	made := workload.Call{From: -1, Wait: c.Wait.delay(),
		Prompt: d.lengths(field+".prompt", &c.Prompt),
		Output: d.lengths(field+".output", &c.Output)}
	for _, a := range c.After {
		made.After = append(made.After, number[a])
	}
	if c.From != "" {
		made.From = number[c.From]
	}
	return made
}

// reportCycle notes calls that wait for each other, which all lack a number.
func (d *demand) reportCycle(field string, list []Call, number map[string]int) {
	next := func(c *Call) string {
		for _, a := range c.After {
			if _, done := number[a]; !done {
				return a
			}
		}
		return ""
	}
	at, first := map[string]int{}, ""
	for i := range list {
		at[list[i].Name] = i
		if _, done := number[list[i].Name]; !done {
			first = list[i].Name
		}
	}
	var path []string
	for name := first; ; name = next(&list[at[name]]) {
		if i := slices.Index(path, name); i >= 0 {
			d.problem(fmt.Sprintf("%s.%d.after", field, at[name]), "found a circle: %s",
				strings.Join(append(path[i:], name), " waits for "))
			return
		}
		path = append(path, name)
	}
}

// classOfCalls returns a class of sessions that are described call by call.
func (d *demand) classOfCalls(field string, c *Class, traits workload.Traits,
	longest int) workload.Class {
	if c.Prompt != (Length{}) || c.Output != (Length{}) || c.Sessions != nil || c.Distinct > 0 ||
		c.Samples > 0 || c.Preset != "" {
		d.problem(field+".calls", "say what prompts and answers are; leave preset, prompt, "+
			"output, distinct, samples and sessions out")
	}
	c.Calls = slices.Clone(c.Calls)
	drawn := workload.Class{Name: c.Name, Weight: cmp.Or(c.Share, 1), Traits: traits,
		Calls:      d.calls(field+".calls", c.Calls, longest),
		MaxContext: d.fleet.context(traits.Model)}
	if len(drawn.Calls) > 0 {
		drawn.Prompt, drawn.Output = drawn.Calls[0].Prompt, drawn.Calls[0].Output
	}
	drawn.Prefix = d.prefix(field+".prefix", c, longest)
	return drawn
}

// prefix returns the prefix of a class, nil if it has no prefix, and fills in its defaults.
func (d *demand) prefix(field string, c *Class, longest int) *workload.Prefix {
	if c.Prefix == nil {
		return nil
	}
	prefix := *c.Prefix
	prefix.Tokens.complete(Length{}, longest)
	c.Prefix = &prefix
	return &workload.Prefix{Groups: prefix.Groups, Zipf: prefix.Zipf,
		Tokens: d.lengths(field+".tokens", &prefix.Tokens)}
}

// sessions returns the sessions of a class in the form of the workload package, and fills in their
// defaults. longest bounds lengths. A conversation ends where its next turn would be longer than
// the context that is served.
func (d *demand) sessions(field string, s *Sessions, longest, served int) *workload.Turns {
	known := len(d.problems)
	s.Turns.complete(Length{}, maxTurns)
	t := &workload.Turns{
		Count: d.lengths(field+".turns", &s.Turns), Think: s.Think.delay(), MaxContext: served,
	}
	if s.Tools != nil {
		tools := *s.Tools
		tools.Result.complete(Length{}, longest)
		t.Tools = &workload.Tools{Share: tools.Share, Wait: tools.Wait.delay(),
			Retries: tools.Retries, Result: d.lengths(field+".tools.result", &tools.Result)}
		s.Tools = &tools
	}
	if s.Agents != nil {
		a := *s.Agents
		a.Count.complete(Length{}, maxAgents)
		a.Turns.complete(Length{}, maxTurns)
		a.Prompt.complete(Length{}, longest)
		t.Agents = &workload.Agents{Share: a.Share,
			Count:  d.lengths(field+".agents.count", &a.Count),
			Turns:  d.lengths(field+".agents.turns", &a.Turns),
			Prompt: d.lengths(field+".agents.prompt", &a.Prompt)}
		s.Agents = &a
	}
	if s.Thinking != nil {
		thinking := *s.Thinking
		thinking.Keep = cmp.Or(thinking.Keep, "none")
		t.Thinking = workload.Thinking{Share: thinking.Share, Budget: thinking.Budget,
			Keep: map[string]workload.Keep{"all": workload.KeepAll, "task": workload.KeepTask,
				"none": workload.KeepNone}[thinking.Keep]}
		s.Thinking = &thinking
	}
	if k := s.Compact; k != nil {
		t.Compact = &workload.Compaction{At: k.At, To: k.To}
	}
	if len(d.problems) > known {
		return t
	}
	if err := t.Check(); err != nil {
		d.problem(field, "%v", err)
	}
	return t
}

// maxTurns and maxAgents bound distributions of turns and of agents without bounds of their own.
const (
	maxTurns  = 1000
	maxAgents = 64
)

// files lists the files with lengths.
func (s *Sessions) files() []string {
	list := []string{s.Turns.File}
	if s.Tools != nil {
		list = append(list, s.Tools.Result.File)
	}
	if s.Agents != nil {
		list = append(list, s.Agents.Count.File, s.Agents.Turns.File, s.Agents.Prompt.File)
	}
	return list
}

// process returns the arrival process at a rate, for workloads that are not a closed loop.
func (a *Arrivals) process(r *Rate) arrivals.Process {
	switch a.Process {
	case "at-once":
		return arrivals.Process{Rate: arrivals.AtOnce{}}
	case "constant":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.Constant{}}
	case "gamma":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.Gamma{CV: a.CV}}
	case "weibull":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.Weibull{K: a.Shape, CV: a.CV}}
	case "lognormal":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.LogNormal{CV: a.CV}}
	}
	return arrivals.Process{Rate: r.overTime()}
}

// overTime returns the rate as a function of time.
func (r *Rate) overTime() arrivals.Rate {
	switch r.Pattern {
	case "phases":
		phases := arrivals.Phases{Repeat: r.Repeat}
		for _, p := range r.Phases {
			phases.List = append(phases.List, p.piece())
		}
		return phases
	case "bursts":
		return arrivals.Bursts{High: float64(r.High), Low: float64(r.Low), For: sim.Time(r.For),
			Pause: sim.Time(r.Pause), Random: r.Random}
	case "wave":
		return arrivals.Diurnal{Average: float64(r.Average), Swing: r.Swing,
			Period: sim.Time(r.Period), Peak: sim.Time(r.Peak)}
	}
	return arrivals.Steady(r.Value)
}

func (p Phase) piece() arrivals.Phase {
	end := p.Rate
	if p.To != nil {
		end = *p.To
	}
	return arrivals.Phase{From: float64(p.Rate), To: float64(end), For: sim.Time(p.For)}
}

// delay returns the user's thinking time in the form of the workload package.
func (d *Delay) delay() arrivals.Delay {
	delay := arrivals.Delay{Mean: sim.Time(d.Mean)}
	switch d.Distribution {
	case "exponential":
		delay.Shape = arrivals.Exponential{}
	case "gamma":
		delay.Shape = arrivals.Gamma{CV: d.CV}
	case "lognormal":
		delay.Shape = arrivals.LogNormal{CV: d.CV}
	}
	return delay
}
