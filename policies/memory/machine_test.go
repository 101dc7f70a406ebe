package memory

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// twin is a memory in the plainest form, which walks every token and every block. It is told the
// same as the memory under test.
type twin interface {
	units(tokens int) int64
	fits(tokens int) bool
	match(s *sim.Sequence) int
	extend(s *sim.Sequence, n int, reserve int64) bool
	// join notes that s, whose prompt is stored, decodes.
	join(s *sim.Sequence)
	// step stores one more token for each of the sequences, or returns false and may leave anything
	// behind.
	step(decoding []*sim.Sequence) bool
	release(s *sim.Sequence, done bool)
	used() int64
	clone() twin
}

// machine drives a memory and its twin through what a replica may do with a memory, and compares
// them after every move.
type machine struct {
	memory  sim.Memory
	twin    twin
	waiting []*sim.Sequence
	prompts []*sim.Sequence    // that are being computed
	lanes   [2][]*sim.Sequence // that decode
	drafted []*sim.Sequence    // that decode with a draft, each by itself
	next    int64
	vacant  []int // slots of sequences that are gone
	request func(t *rapid.T) sim.Request
}

func (m *machine) run(t *rapid.T) {
	moves := []func(*rapid.T){
		m.arrive, m.arrive, m.prefill, m.prefill, m.prefill, m.join, m.join, m.advance, m.advance,
		m.draft, m.pause,
		func(t *rapid.T) { m.end(t, true) },
		func(t *rapid.T) { m.end(t, false) },
	}
	for range rapid.IntRange(0, 300).Draw(t, "moves") {
		moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")](t)
		m.check(t)
	}
	for _, list := range [][]*sim.Sequence{m.prompts, m.drafted, m.lanes[0], m.lanes[1]} {
		for len(list) > 0 {
			list = list[1:]
			m.end(t, rapid.Bool().Draw(t, "done"))
		}
	}
	if m.memory.Used() != 0 {
		t.Fatalf("%d units are not given back", m.memory.Used())
	}
}

func (m *machine) arrive(t *rapid.T) {
	s := &sim.Sequence{Request: m.request(t)}
	s.ID = m.next
	m.next++
	if k := len(m.vacant) - 1; k >= 0 {
		s.Slot, m.vacant = m.vacant[k], m.vacant[:k]
	} else {
		s.Slot = int(s.ID)
	}
	tokens := s.Prompt + s.Output - 1
	if got, want := m.memory.Units(tokens), m.twin.units(tokens); got != want {
		t.Fatalf("Units(%d) is %d, want %d", tokens, got, want)
	}
	fits := m.memory.Fits(tokens)
	if want := m.twin.fits(tokens); fits != want {
		t.Fatalf("Fits(%d) is %t, want %t", tokens, fits, want)
	}
	if fits {
		m.waiting = append(m.waiting, s)
	}
}

// prefill extends a sequence that waits, or whose prompt is not complete.
func (m *machine) prefill(t *rapid.T) {
	var incomplete []*sim.Sequence
	for _, s := range slices.Concat(m.waiting, m.prompts) {
		if s.Remaining() > 0 {
			incomplete = append(incomplete, s)
		}
	}
	if len(incomplete) == 0 {
		return
	}
	s := rapid.SampledFrom(incomplete).Draw(t, "sequence")
	waits := slices.Contains(m.waiting, s)
	newcomer := waits && s.Swapped == 0
	if newcomer {
		s.Stored = m.memory.Match(s)
		if want := m.twin.match(s); s.Stored != want {
			t.Fatalf("Match(%+v) is %d, want %d", s.Request, s.Stored, want)
		}
		if s.Stored < 0 || s.Stored >= s.Prompt+s.Generated {
			t.Fatalf("Match(%+v) is %d", s.Request, s.Stored)
		}
	}
	n := s.Swapped + rapid.IntRange(1, s.Remaining()).Draw(t, "chunk")
	reserve := rapid.Int64Range(0, 2).Draw(t, "reserve")
	used := m.memory.Used()
	ok := m.memory.Extend(s, n, reserve)
	if want := m.twin.extend(s, n, reserve); ok != want {
		t.Fatalf("Extend by %d with %d in reserve is %t, want %t: %d of %d used", n, reserve, ok,
			want, used, m.memory.Capacity())
	}
	if p, tiered := m.memory.(*PrefixCache); ok && tiered {
		var want sim.Time
		for i, blocks := range m.twin.(*prefixTwin).fetched {
			want += sim.Time(blocks) * fetchTimes[i]
		}
		if _, got := p.Fetched(); got != want {
			t.Fatalf("fetched in %d, want %d", got, want)
		}
	}
	if !ok {
		if m.memory.Used() != used {
			t.Fatalf("Extend failed, but changed something")
		}
		if newcomer {
			s.Stored = 0
		}
		return
	}
	s.Stored, s.Swapped = s.Stored+n, 0
	if waits {
		m.waiting = without(m.waiting, s)
		m.prompts = append(m.prompts, s)
	}
}

// join makes a sequence decode; its prompt gives it the first token.
func (m *machine) join(t *rapid.T) {
	i := slices.IndexFunc(m.prompts, func(s *sim.Sequence) bool {
		return s.Remaining() == 0 &&
			s.Generated < s.Output-1
	})
	if i < 0 {
		return
	}
	s := m.prompts[i]
	m.prompts = slices.Delete(m.prompts, i, i+1)
	s.Generated++
	lane := rapid.IntRange(0, len(m.lanes)-1).Draw(t, "lane")
	m.memory.Join(lane, s)
	m.twin.join(s)
	m.lanes[lane] = append(m.lanes[lane], s)
}

// advance takes decode steps; first it compares how many there is room for, and what each of them
// takes.
func (m *machine) advance(t *rapid.T) {
	lane := rapid.IntRange(0, len(m.lanes)-1).Draw(t, "lane")
	limit := int64(rapid.SampledFrom([]int{1, 1, 2, 17, 60, 300}).Draw(t, "limit"))
	for _, s := range m.lanes[lane] {
		limit = min(limit, int64(s.Output-s.Generated))
	}
	if limit < 1 {
		return
	}
	room := m.memory.Headroom(lane, limit)
	if room < 0 || room > limit {
		t.Fatalf("Headroom up to %d is %d", limit, room)
	}
	trial := m.twin.clone()
	decoding := make([]*sim.Sequence, len(m.lanes[lane]))
	for i, s := range m.lanes[lane] {
		c := *s
		decoding[i] = &c
	}
	for step := int64(0); step < room; step++ {
		if !trial.step(decoding) {
			t.Fatalf("Headroom is %d, want %d", room, step)
		}
		for _, s := range decoding {
			s.Stored++
		}
		if grown := trial.used() - m.twin.used(); m.memory.Growth(lane, step+1) != grown {
			t.Fatalf("Growth in %d steps is %d, want %d", step+1, m.memory.Growth(lane, step+1),
				grown)
		}
	}
	// A memory may promise less than there is room for, so that something else can happen in
	// between, but not nothing.
	if room == 0 && limit > 0 && trial.step(decoding) {
		t.Fatalf("no Headroom, but there is room")
	}
	if room == 0 {
		return
	}
	steps := rapid.Int64Range(1, room).Draw(t, "steps")
	m.memory.Advance(lane, steps)
	for range steps {
		m.twin.step(m.lanes[lane])
		for _, s := range m.lanes[lane] {
			s.Stored++
			s.Generated++
		}
	}
}

// draft decodes a step of one sequence, whose prompt is stored, with drafted tokens, of which some
// are rejected.
func (m *machine) draft(t *rapid.T) {
	for _, s := range m.prompts {
		if s.Remaining() == 0 && s.Generated == 0 {
			m.prompts = without(m.prompts, s)
			m.drafted = append(m.drafted, s)
			s.Generated++
			break
		}
	}
	open := slices.DeleteFunc(slices.Clone(m.drafted), func(s *sim.Sequence) bool {
		return s.Generated == s.Output
	})
	if len(open) == 0 {
		return
	}
	s := rapid.SampledFrom(open).Draw(t, "sequence")
	n := 1 + rapid.IntRange(0, 7).Draw(t, "drafts")
	ok := m.memory.Extend(s, n, 0)
	if want := m.twin.extend(s, n, 0); ok != want {
		t.Fatalf("Extend by %d drafted tokens is %t, want %t", n, ok, want)
	}
	if ok {
		accepted := min(rapid.IntRange(1, n).Draw(t, "accepted"), s.Output-s.Generated)
		s.Stored += accepted
		s.Generated += accepted
	}
}

// pause takes a sequence out of its lane, which goes on later with what it has.
func (m *machine) pause(t *rapid.T) {
	decoding := slices.Concat(m.lanes[0], m.lanes[1])
	if len(decoding) == 0 {
		return
	}
	s := rapid.SampledFrom(decoding).Draw(t, "sequence")
	if s.Generated == s.Output {
		return
	}
	m.leave(s)
	s.Preemptions++
	m.prompts = append(m.prompts, s)
}

// end lets a sequence finish, or preempts it: its KV is dropped, or swapped out.
func (m *machine) end(t *rapid.T, done bool) {
	running := slices.Concat(m.prompts, m.drafted, m.lanes[0], m.lanes[1])
	if len(running) == 0 {
		return
	}
	s := rapid.SampledFrom(running).Draw(t, "sequence")
	done = done || s.Generated == s.Output
	m.leave(s)
	m.prompts, m.drafted = without(m.prompts, s), without(m.drafted, s)
	m.memory.Release(s, done)
	m.twin.release(s, done)
	if done {
		m.vacant = append(m.vacant, s.Slot)
		return
	}
	if rapid.Bool().Draw(t, "swap") {
		s.Swapped = s.Stored
	}
	s.Stored = 0
	s.Preemptions++
	m.waiting = append(m.waiting, s)
}

func (m *machine) leave(s *sim.Sequence) {
	for lane := range m.lanes {
		if slices.Contains(m.lanes[lane], s) {
			m.lanes[lane] = without(m.lanes[lane], s)
			m.memory.Leave(lane, s)
		}
	}
}

func (m *machine) check(t *rapid.T) {
	if got, want := m.memory.Used(), m.twin.used(); got != want {
		t.Fatalf("%d units used, want %d", got, want)
	}
	if m.memory.Used() < 0 || m.memory.Used() > m.memory.Capacity() {
		t.Fatalf("%d of %d units used", m.memory.Used(), m.memory.Capacity())
	}
	if memory, ok := m.memory.(sim.SlotMemory); ok {
		m.checkSlots(t, memory)
	}
}

// checkSlots holds the rooms of the running sequences, less what they share, against the units
// used.
func (m *machine) checkSlots(t *rapid.T, memory sim.SlotMemory) {
	all, shared := memory.Slots()
	rooms := -shared
	for _, s := range slices.Concat(m.prompts, m.drafted, m.lanes[0], m.lanes[1]) {
		room := memory.Room(s, s.Stored)
		if room < int64(s.Stored) {
			t.Fatalf("room for %d tokens, but %d are stored", room, s.Stored)
		}
		rooms += room
	}
	used := m.memory.Used() * (all / m.memory.Capacity())
	if _, rounded := m.twin.(*contiguousTwin); rooms > used || rooms < used && !rounded {
		t.Fatalf("running sequences have room for %d tokens, but %d are used", rooms, used)
	}
}

func without(list []*sim.Sequence, s *sim.Sequence) []*sim.Sequence {
	return slices.DeleteFunc(list, func(other *sim.Sequence) bool { return other == s })
}

// drawRequest makes up a request of a few texts, so that beginnings are often shared, and sometimes
// an answer that others repeat.
func drawRequest(t *rapid.T) sim.Request {
	r := sim.Request{Prompt: rapid.IntRange(1, 60).Draw(t, "prompt"),
		Output: rapid.IntRange(1, 200).Draw(t, "output")}
	for left := r.Prompt; left > 0 && rapid.IntRange(0, 3).Draw(t, "more") > 0; {
		n := min(left, rapid.SampledFrom([]int{1, 4, 5, 16, 60}).Draw(t, "run"))
		r.Content = append(r.Content, sim.Segment{ID: rapid.Uint64Range(1, 3).Draw(t, "text"),
			Tokens: n})
		left -= n
	}
	r.Answer = rapid.Uint64Range(0, 3).Draw(t, "answer")
	return r
}

// pagedTwin counts the blocks of every sequence.
type pagedTwin struct {
	blockSize, capacity int
	tokens              map[int64]int
}

func (p *pagedTwin) blocks(tokens int) int {
	n := 0
	for stored := 0; stored < tokens; stored += p.blockSize {
		n++
	}
	return n
}

func (p *pagedTwin) used() int64 {
	n := 0
	for _, tokens := range p.tokens {
		n += p.blocks(tokens)
	}
	return int64(n)
}

func (p *pagedTwin) units(tokens int) int64  { return int64(p.blocks(tokens)) }
func (p *pagedTwin) fits(tokens int) bool    { return p.blocks(tokens) <= p.capacity }
func (p *pagedTwin) match(*sim.Sequence) int { return 0 }
func (p *pagedTwin) join(*sim.Sequence)      {}
func (p *pagedTwin) clone() twin {
	return &pagedTwin{p.blockSize, p.capacity, maps.Clone(p.tokens)}
}
func (p *pagedTwin) within(reserve int64) bool { return p.used()+reserve <= int64(p.capacity) }

func (p *pagedTwin) extend(s *sim.Sequence, n int, reserve int64) bool {
	old, there := p.tokens[s.ID]
	p.tokens[s.ID] = max(old, s.Stored+n)
	if p.within(reserve) {
		return true
	}
	if p.tokens[s.ID] = old; !there {
		delete(p.tokens, s.ID)
	}
	return false
}

func (p *pagedTwin) step(decoding []*sim.Sequence) bool {
	for _, s := range decoding {
		p.tokens[s.ID]++
	}
	return p.within(0)
}

func (p *pagedTwin) release(s *sim.Sequence, _ bool) { delete(p.tokens, s.ID) }

// Paged memory counts as if it walked every token.
func pagedEqualsTwin(t *rapid.T) {
	block := rapid.SampledFrom([]int{1, 3, 16}).Draw(t, "block")
	capacity := rapid.IntRange(1, 300/block).Draw(t, "capacity")
	p, err := NewPaged(int64(capacity), block)
	testkit.OK(t, err)
	m := machine{memory: p, twin: &pagedTwin{block, capacity, map[int64]int{}},
		request: drawRequest}
	m.run(t)
}

func TestPagedEqualsTwin(t *testing.T) { rapid.Check(t, pagedEqualsTwin) }

func FuzzPagedEqualsTwin(f *testing.F) { f.Fuzz(rapid.MakeFuzz(pagedEqualsTwin)) }
