package scenarios

import (
	"cmp"

	"github.com/llmsim/llmsim/workload"
)

// sessions returns the sessions of a class in the form of the workload package, and fills in their
// defaults. longest is the longest context that is served.
func (d *demand) sessions(field string, s *Sessions, longest int) *workload.Turns {
	known := len(d.problems)
	s.Turns.complete(Length{}, maxTurns)
	t := &workload.Turns{
		Count: d.lengths(field+".turns", &s.Turns), Think: s.Think.delay(), MaxContext: longest,
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
