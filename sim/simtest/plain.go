package simtest

import "github.com/llmsim/llmsim/sim"

// inOrder serves waiting sequences first come, first served; when memory runs out, the last one to
// start gives way.
type inOrder struct {
	queue          sim.Queue
	places, budget int
}

func (o *inOrder) Waiting() int { return o.queue.Len() }

func (o *inOrder) Enqueue(s *sim.Sequence) { o.queue.Push(s) }

func (o *inOrder) Schedule(b *sim.Batch) sim.Decision {
	before := o.Waiting()
	for !b.Decode() {
		victim := b.Victim()
		if victim == nil {
			return sim.Decision{Steps: 1}
		}
		o.queue.PushFront(b.Preempt(victim))
	}
	budget := o.budget
	for i := 0; i < len(b.Prefilling()) && budget > 0; i++ {
		n := b.Prefill(b.Prefilling()[i], budget)
		if n == 0 {
			if victim := b.Victim(); victim != nil {
				o.queue.PushFront(b.Preempt(victim))
				return sim.Decision{Steps: 1}
			}
		}
		budget -= n
	}
	if o.Waiting() > before {
		return sim.Decision{Steps: 1} // somebody was preempted: nobody starts in the same step
	}
	for o.Waiting() > 0 && budget > 0 && b.Running() < o.places {
		s := o.queue.Front()
		n := b.Prefill(s, budget)
		if n == 0 {
			break
		}
		o.queue.Remove(s)
		budget -= n
	}
	return sim.Decision{Steps: sim.Forever, IgnoreArrivals: b.Running() >= o.places}
}

// tokens is KV memory in which each token takes one unit.
type tokens struct {
	capacity, used int64
	held           sim.PerSequence[int64]
	decoding       map[int]int64 // sequences by lane
}

func newTokens(capacity int64) *tokens {
	return &tokens{capacity: capacity, decoding: map[int]int64{}}
}

func (m *tokens) Fits(n int) bool         { return int64(n) <= m.capacity }
func (m *tokens) Units(n int) int64       { return int64(n) }
func (m *tokens) Match(*sim.Sequence) int { return 0 }
func (m *tokens) Used() int64             { return m.used }
func (m *tokens) Capacity() int64         { return m.capacity }

func (m *tokens) Extend(s *sim.Sequence, n int, reserve int64) bool {
	held := m.held.Of(s)
	need := max(0, int64(s.Stored+n)-*held)
	if m.capacity-m.used-need < reserve {
		return false
	}
	m.used += need
	*held += need
	return true
}

func (m *tokens) Release(s *sim.Sequence, _ bool) {
	held := m.held.Of(s)
	m.used -= *held
	*held = 0
}

func (m *tokens) Join(lane int, _ *sim.Sequence) { m.decoding[lane]++ }

func (m *tokens) Leave(lane int, s *sim.Sequence) {
	m.decoding[lane]--
	*m.held.Of(s) = int64(s.Context())
}

func (m *tokens) Headroom(lane int, limit int64) int64 {
	if m.decoding[lane] == 0 {
		return limit
	}
	return min(limit, (m.capacity-m.used)/m.decoding[lane])
}

func (m *tokens) Growth(lane int, steps int64) int64 { return m.decoding[lane] * steps }
func (m *tokens) Advance(lane int, steps int64)      { m.used += m.Growth(lane, steps) }

// inTurn sends requests to replicas in turn.
type inTurn struct{ next int }

func (r *inTurn) Route(_ *sim.Request, pool *sim.Pool) int {
	r.next++
	return pool.At(r.next % pool.Len())
}
