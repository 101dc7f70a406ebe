package sim_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// reference serves requests with the vLLM V1 scheduler on one replica in the plainest way: a loop
// over steps, each a walk over every sequence, with every block counted. It shares no code with the
// simulator.
type reference struct {
	c       *setting
	now     sim.Time
	pending []*plain // not arrived, in order
	waiting []*plain
	running []*plain
	done    []finished
	// With lookahead, requests that arrived after the step that runs was planned.
	unseen []*plain
}

type plain struct {
	finished
	stored  int
	preempt int
}

func (r *reference) blocks(tokens int) int64 {
	return int64((tokens + r.c.blockSize - 1) / r.c.blockSize)
}

func (r *reference) free() int64 {
	free := r.c.blocks
	for _, s := range r.running {
		free -= r.blocks(s.stored)
	}
	return free
}

func (r *reference) run() []finished {
	for len(r.pending)+len(r.unseen)+len(r.waiting)+len(r.running) > 0 {
		if len(r.unseen)+len(r.waiting)+len(r.running) == 0 {
			r.now = max(r.now, r.pending[0].Arrival)
		}
		r.step()
	}
	slices.SortFunc(r.done, func(a, b finished) int { return int(a.ID - b.ID) })
	return r.done
}

// arrivals returns the requests that have arrived by now.
func (r *reference) arrivals() []*plain {
	n := 0
	for n < len(r.pending) && r.pending[n].Arrival <= r.now {
		n++
	}
	came := r.pending[:n]
	r.pending = r.pending[n:]
	return came
}

// step plans and runs one step. What arrived while the last one ran can be planned for, or, with
// lookahead, is seen one step later.
func (r *reference) step() {
	came := r.arrivals()
	if r.c.lookahead == 0 || len(r.running)+len(r.waiting)+len(r.unseen) == 0 {
		r.waiting = append(r.waiting, came...)
	} else {
		r.waiting = append(r.waiting, r.unseen...)
		r.unseen = came
		if len(r.running)+len(r.waiting) == 0 {
			r.waiting, r.unseen = r.unseen, nil
		}
	}
	planned := map[*plain]int{} // tokens computed in this step
	preempted := false
	budget := r.c.budget
	chunk := r.c.chunk
	if chunk == 0 {
		chunk = r.c.budget
	}
	// Sequences that decode come before sequences that prefill.
	order := slices.Clone(r.running)
	slices.SortStableFunc(order, func(a, b *plain) int { return prefilling(a) - prefilling(b) })
	for _, s := range order {
		if !slices.Contains(r.running, s) {
			continue
		}
		n := min(s.Prompt+s.Generated-s.stored, budget)
		if prefilling(s) == 1 {
			n = min(n, chunk)
		}
		for n > 0 && r.blocks(s.stored+n)-r.blocks(s.stored) > r.free() {
			victim := r.running[len(r.running)-1]
			if prefilling(victim) == 0 && planned[victim] > 0 {
				budget++ // its token is not spent
			}
			victim.stored, victim.preempt = 0, victim.preempt+1
			victim.Preemptions++
			delete(planned, victim)
			r.running = r.running[:len(r.running)-1]
			r.waiting = append([]*plain{victim}, r.waiting...)
			preempted = true
			if victim == s {
				n = 0
			}
		}
		if n > 0 {
			planned[s] = n
			s.stored += n
			budget -= n
		}
	}
	for !preempted && budget > 0 && len(r.waiting) > 0 && len(r.running) < r.c.maxSequences {
		s := r.waiting[0]
		n := min(s.Prompt+s.Generated, budget, chunk)
		if r.blocks(n) > r.free() {
			break
		}
		if s.Preemptions == 0 {
			s.Scheduled = r.now
		}
		r.waiting = r.waiting[1:]
		r.running = append(r.running, s)
		planned[s] = n
		s.stored = n
		budget -= n
	}
	r.execute(planned)
}

func prefilling(s *plain) int {
	if s.Generated > 0 && s.stored == s.Prompt+s.Generated-1 {
		return 0
	}
	return 1
}

// execute lets the planned step take its time, and books its tokens.
func (r *reference) execute(planned map[*plain]int) {
	if len(planned) == 0 {
		return
	}
	var step sim.Step
	for _, s := range r.running {
		n := planned[s]
		switch {
		case n == 0:
		case n == 1 && s.Generated > 0 && s.stored == s.Prompt+s.Generated:
			step.Decodes++
			step.DecodeTokens++
			step.Context += int64(s.stored)
		default:
			step.Prefill = append(step.Prefill, sim.Chunk{New: n, Cached: s.stored - n})
		}
	}
	r.now += max(r.c.clock.Duration(&step), 1)
	var left []*plain
	for _, s := range r.running {
		if planned[s] > 0 && s.stored == s.Prompt+s.Generated {
			if s.Generated == 0 {
				s.FirstToken = r.now
			}
			s.Generated++
			s.LastTok = r.now
		}
		if s.Generated == s.Output {
			r.done = append(r.done, s.finished)
		} else {
			left = append(left, s)
		}
	}
	r.running = left
}

// The simulator agrees with the reference about every request's times, to the tick.
func TestAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		c.stages, c.replicas, c.prefixCache = 1, 1, false
		r := reference{c: &c}
		for i := range c.requests {
			q := &c.requests[i]
			if c.maxContext > 0 && q.Prompt+q.Output > c.maxContext ||
				r.blocks(q.Prompt+q.Output-1) > c.blocks {
				continue
			}
			r.pending = append(r.pending, &plain{finished: finished{
				ID: int64(i), Prompt: q.Prompt, Output: q.Output, Arrival: q.Arrival,
			}})
		}
		want := r.run()
		_, j := c.run(t, 0)
		slices.SortFunc(j.finished, func(a, b finished) int { return int(a.ID - b.ID) })
		if d := cmp.Diff(want, j.finished); d != "" {
			t.Fatalf("reference (-), simulator (+):\n%s", d)
		}
	})
}
