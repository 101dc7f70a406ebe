package sim_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
)

// plainReplica serves requests on one replica in the plainest way, for any scheduler: one step
// after another, each a walk over every sequence, with every block counted. It shares no code with
// the simulator. What a step does, its plan says.
type plainReplica struct {
	c        *setting
	plan     plan
	hostTime sim.Time // of a token on the link to host memory

	now, ready, linkFree sim.Time
	pending              []*plainSequence // not arrived, in order
	all                  []*plainSequence // arrived and not finished
	running              []*plainSequence // in order of admission
	hostFree             int64
	together             bool // answers are held back until all that run are complete
	chunks               []*plainSequence
	padded               int // the length to which chunks are padded
	done                 []finished
}

// plan is a scheduler in its plainest form.
type plan interface {
	arrive(s *plainSequence)
	// step plans the next step, and returns when to ask again where it plans nothing: at the next
	// arrival, or earlier.
	step(r *plainReplica) (wake sim.Time)
}

type plainSequence struct {
	finished
	stored, swapped int
	planned         int // tokens that the next step stores
	decoding        bool
	complete        bool // but held back
}

func (s *plainSequence) remaining() int {
	if s.decoding || s.complete {
		return 0
	}
	return s.Prompt + s.Generated - s.stored - s.swapped
}

func (r *plainReplica) blocks(tokens int) int64 {
	return int64((tokens + r.c.blockSize - 1) / r.c.blockSize)
}

func (r *plainReplica) free() int64 {
	free := r.c.blocks
	for _, s := range r.all {
		free -= r.blocks(s.stored + s.planned)
	}
	return free
}

func (r *plainReplica) run() []finished {
	for len(r.pending)+len(r.all) > 0 {
		for len(r.pending) > 0 && r.pending[0].Arrival <= r.now {
			r.all = append(r.all, r.pending[0])
			r.plan.arrive(r.pending[0])
			r.pending = r.pending[1:]
		}
		r.chunks, r.padded = nil, 0
		wake := r.plan.step(r)
		if slices.ContainsFunc(r.all, func(s *plainSequence) bool { return s.planned > 0 }) {
			r.execute()
			continue
		}
		if len(r.pending) > 0 {
			wake = min(wake, r.pending[0].Arrival)
		}
		if wake == sim.Never {
			panic("the plan rests although requests wait")
		}
		r.now = wake
	}
	slices.SortFunc(r.done, func(a, b finished) int { return int(a.ID - b.ID) })
	return r.done
}

// decode plans a token for each sequence that decodes; it returns false where memory is short.
func (r *plainReplica) decode() bool {
	need := int64(0)
	for _, s := range r.running {
		if s.decoding {
			need += r.blocks(s.stored+1) - r.blocks(s.stored)
		}
	}
	if need > r.free() {
		if r.deliver() { // what is held back gives way first
			return r.decode()
		}
		return false
	}
	for _, s := range r.running {
		if s.decoding {
			s.planned = 1
		}
	}
	return true
}

// prefill plans the next tokens of the prompt of s, and returns how many. It leaves blocks free.
func (r *plainReplica) prefill(s *plainSequence, limit int, reserve int64) int {
	n := min(s.remaining(), limit)
	need := r.blocks(s.stored+s.swapped+n) - r.blocks(s.stored)
	if n == 0 || need > r.free()-reserve {
		return 0
	}
	if s.swapped > 0 {
		r.hostFree += int64(s.swapped)
		r.transfer(s.swapped)
		s.stored, s.swapped = s.swapped, 0
	}
	if !slices.Contains(r.running, s) {
		r.running = append(r.running, s)
		if s.Preemptions == 0 && s.Generated == 0 {
			s.Scheduled = r.now
		}
	}
	s.planned = n
	r.chunks = append(r.chunks, s)
	return n
}

// transfer puts tokens on the link to host memory. The next step waits for it.
func (r *plainReplica) transfer(tokens int) {
	r.linkFree = max(r.linkFree, r.now) + sim.Time(tokens)*r.hostTime
	r.ready = r.linkFree
}

// pause takes the place of s, preempt its memory too.
func (r *plainReplica) pause(s *plainSequence) {
	same := func(other *plainSequence) bool { return other == s }
	r.running = slices.DeleteFunc(r.running, same)
	r.chunks = slices.DeleteFunc(r.chunks, same)
	s.planned, s.decoding = 0, false
	s.Preemptions++
	if all := func(s *plainSequence) bool { return !s.complete }; len(r.running) > 0 &&
		!slices.ContainsFunc(r.running, all) {
		r.deliver()
	}
}

func (r *plainReplica) preempt(s *plainSequence) {
	if slices.Contains(r.running, s) {
		r.pause(s)
	}
	s.stored = 0
}

// displace preempts s, or moves its memory to the host where that has room.
func (r *plainReplica) displace(s *plainSequence, swap bool) {
	n := s.stored
	r.preempt(s)
	if swap && n > 0 && int64(n) <= r.hostFree {
		s.swapped = n
		r.hostFree -= int64(n)
		r.transfer(n)
	}
}

// execute lets the planned step take its time, and books its tokens.
func (r *plainReplica) execute() {
	var step sim.Step
	held := 0
	for _, s := range r.running {
		switch {
		case s.complete:
			held++
		case s.decoding && s.planned > 0:
			step.Decodes++
			step.Context += int64(s.stored + 1)
		}
	}
	if step.Decodes > 0 {
		step.Decodes += held
		step.DecodeTokens = step.Decodes
	}
	for _, s := range r.chunks {
		step.Prefill = append(step.Prefill, sim.Chunk{New: s.planned, Cached: s.stored,
			Padding: max(0, r.padded-s.planned)})
	}
	r.now = max(r.now, r.ready) + max(r.c.clock.Duration(&step), 1)
	for _, s := range slices.Clone(r.running) {
		if s.planned > 0 {
			r.book(s)
		}
	}
	if !slices.ContainsFunc(r.running, func(s *plainSequence) bool { return !s.complete }) {
		r.deliver()
	}
}

// book counts what the step computed for s.
func (r *plainReplica) book(s *plainSequence) {
	s.stored, s.planned = s.stored+s.planned, 0
	if s.remaining() > 0 {
		return
	}
	if s.Generated == 0 {
		s.FirstToken = r.now
	}
	s.Generated++
	s.LastTok = r.now
	s.decoding = s.Generated < s.Output
	if s.decoding {
		return
	}
	if s.complete = r.together; !s.complete {
		r.finish(s)
	}
}

// deliver finishes the sequences that are held back; it returns false where there are none.
func (r *plainReplica) deliver() bool {
	any := false
	for _, s := range slices.Clone(r.running) {
		if s.complete {
			any = true
			s.FirstToken, s.LastTok = r.now, r.now
			r.finish(s)
		}
	}
	return any
}

func (r *plainReplica) finish(s *plainSequence) {
	same := func(other *plainSequence) bool { return other == s }
	r.running, r.all = slices.DeleteFunc(r.running, same), slices.DeleteFunc(r.all, same)
	r.done = append(r.done, s.finished)
}

// last returns the running sequence that was admitted last and is not complete, or nil.
func (r *plainReplica) last() *plainSequence {
	for _, s := range slices.Backward(r.running) {
		if !s.complete {
			return s
		}
	}
	return nil
}

// agrees compares a scheduler with its plain form in random settings, request by request and to the
// tick.
func agrees(t *testing.T, draw func(t *rapid.T, c *setting) plan) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawSetting(t)
		c.stages, c.replicas, c.lookahead, c.prefixCache, c.maxContext = 1, 1, 0, false, 0
		c.host = sim.HostMemory{Tokens: rapid.SampledFrom([]int64{0, 60, 300}).Draw(t, "host"),
			Time: sim.Footprint[sim.Time]{Token: rapid.SampledFrom([]sim.Time{0, 1e6, 1e8}).Draw(t,
				"hostTime")}}
		r := plainReplica{c: &c, plan: draw(t, &c), hostFree: c.host.Tokens,
			hostTime: c.host.Time.Token}
		for i := range c.requests {
			q := &c.requests[i]
			if r.blocks(q.Prompt+q.Output-1) <= c.blocks {
				r.pending = append(r.pending, &plainSequence{finished: finished{
					ID: int64(i), Prompt: q.Prompt, Output: q.Output, Arrival: q.Arrival}})
			}
		}
		want := r.run()
		_, j := c.run(t, 0)
		slices.SortFunc(j.finished, func(a, b finished) int { return int(a.ID - b.ID) })
		if d := cmp.Diff(want, j.finished); d != "" {
			t.Fatalf("plain (-), simulator (+):\n%s", d)
		}
	})
}
