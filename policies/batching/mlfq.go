package batching

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// MLFQ is the skip-join multi-level feedback queue of FastServe (Wu et al., Fast Distributed
// Inference Serving for Large Language Models, arXiv:2305.05920, section 4). The lengths of answers
// are unknown, so requests that have run for long give way to others. A request enters the first
// queue whose quantum is long enough to compute its prompt. It moves to the next queue when it has
// run for the quantum of its queue; each quantum is twice the one before. The requests in the first
// queues run, with whole prompts in the same step as decodes. A request that gives way keeps its KV
// cache while there is memory. Swapping ahead of need is not modelled.
//
// Each sequence is either in the heap of its level in waiting or in a queue of running. The ranks
// of heaps are times as float64: above 2^53 ticks (25 hours) they are rounded, and equal ones are
// ordered by ID.
type MLFQ struct {
	MLFQConfig
	waiting []heap        // by level, in the order in which they entered it
	paused  []sim.Queue   // by level, the waiting sequences that hold memory: job.paused
	running [][]sim.Queue // by lane and level, in the order in which their quantum began
	// jobs are the states of sequences, by Sequence.Slot. In a sim.PerSequence, those that wait
	// would take rows in the tables of all policies.
	jobs []job
	n    int // sequences in waiting
}

// MLFQConfig holds the parameters of a multi-level feedback queue.
type MLFQConfig struct {
	// MaxSequences is the largest number of sequences in a batch.
	MaxSequences int
	// Levels is the number of queues, in [1, 32]. The last queue has no limit of time.
	Levels int
	// Quantum is the quantum of the first queue, above 0.
	Quantum sim.Time
	// PrefillRate is the number of prompt tokens computed in a second, as measured beforehand,
	// above 0. It decides which queue a request enters.
	PrefillRate float64
	// Starvation is the time after which a request moves from its queue to the first one; 0 means
	// never.
	Starvation sim.Time
	// Swap is true if KV caches move to host memory when memory is short. Otherwise they are
	// computed again.
	Swap bool
}

// job is the state of a sequence in the queues.
type job struct {
	entered sim.Time // when it entered its queue, at most now
	began   sim.Time // when its quantum began; means nothing while it waits
	level   int32    // of its queue, in [0, Levels)
	paused  bool     // it waits and holds memory
}

// NewMLFQ returns the scheduler.
func NewMLFQ(c MLFQConfig) (*MLFQ, error) {
	switch {
	case c.MaxSequences < 1:
		return nil, fmt.Errorf("max-sequences is %d, want at least 1", c.MaxSequences)
	case c.Levels < 1 || c.Levels > 32:
		return nil, fmt.Errorf("levels is %d, want 1 to 32", c.Levels)
	case c.Quantum <= 0:
		return nil, fmt.Errorf("quantum is %v, want more than 0", c.Quantum)
	case !(c.PrefillRate > 0):
		return nil, fmt.Errorf("prefill-rate is %g, want more than 0", c.PrefillRate)
	case c.Starvation < 0:
		return nil, fmt.Errorf("starvation is %v, want 0 (never) or more", c.Starvation)
	}
	m := &MLFQ{MLFQConfig: c, waiting: make([]heap, c.Levels), paused: make([]sim.Queue, c.Levels)}
	places := new([]int32)
	for level := range m.waiting {
		m.waiting[level].places = places
	}
	return m, nil
}

// quantum returns the quantum of a level.
func (m *MLFQ) quantum(level int) sim.Time {
	if level == m.Levels-1 || m.Quantum > sim.Never>>(level+1) {
		return sim.Never / 2
	}
	return m.Quantum << level
}

func (m *MLFQ) job(s *sim.Sequence) *job { return &m.jobs[s.Slot] }

// Waiting implements sim.Scheduler.
func (m *MLFQ) Waiting() int { return m.n }

// Enqueue implements sim.Scheduler.
func (m *MLFQ) Enqueue(s *sim.Sequence) {
	prefill := sim.Seconds(float64(s.Prompt) / m.PrefillRate)
	level := 0
	for level < m.Levels-1 && m.quantum(level) < prefill {
		level++
	}
	if missing := s.Slot + 1 - len(m.jobs); missing > 0 {
		m.jobs = double(m.jobs, missing)[:s.Slot+1]
	}
	*m.job(s) = job{level: int32(level), entered: s.Arrival}
	m.add(s)
}

// add lets s, which arrived or made way, wait.
func (m *MLFQ) add(s *sim.Sequence) {
	m.wait(s, s.Stored > 0)
	m.n++
}

// wait puts s into the queue of its level.
func (m *MLFQ) wait(s *sim.Sequence, paused bool) {
	j := m.job(s)
	m.waiting[j.level].push(entry{float64(j.entered), s.ID, s})
	if j.paused = paused; paused {
		m.paused[j.level].Push(s)
	}
}

// unwait takes s out of the queue of its level, and reports whether s holds memory.
func (m *MLFQ) unwait(s *sim.Sequence) (paused bool) {
	j := m.job(s)
	m.waiting[j.level].remove(s)
	if j.paused {
		m.paused[j.level].Remove(s)
	}
	return j.paused
}

// Schedule implements sim.Scheduler.
func (m *MLFQ) Schedule(b *sim.Batch) sim.Decision {
	for len(m.running) <= b.Lane() {
		m.running = append(m.running, make([]sim.Queue, m.Levels))
	}
	m.promote(b.Now())
	m.demote(m.running[b.Lane()], b.Now())
	if !b.Decode() {
		for m.release(b, nil) && !b.Decode() {
		}
		return sim.Decision{Steps: 1} // nobody starts where memory was short
	}
	for s := m.first(); s != nil && m.start(b, s); s = m.first() {
	}
	return sim.Decision{Steps: sim.Forever, Wake: m.wake(m.running[b.Lane()])}
}

// before reports whether s comes before other.
func (m *MLFQ) before(s, other *sim.Sequence) bool {
	a, b := m.job(s), m.job(other)
	if a.level != b.level {
		return a.level < b.level
	}
	e := entry{float64(a.entered), s.ID, s}
	return e.before(&entry{float64(b.entered), other.ID, other})
}

// first returns the sequence that starts next, or nil.
func (m *MLFQ) first() *sim.Sequence {
	for _, waiting := range m.waiting {
		if waiting.len() > 0 {
			return waiting.entries[0].s
		}
	}
	return nil
}

// start puts s, which is the first, into the batch. Others that come after it give way. start
// returns false if there is no place or no memory.
func (m *MLFQ) start(b *sim.Batch, s *sim.Sequence) bool {
	for {
		if b.Running() >= m.MaxSequences {
			worst := m.worst(b)
			if !m.before(s, worst) {
				return false
			}
			m.add(b.Pause(worst))
		}
		if b.Prefill(s, math.MaxInt) > 0 {
			break
		}
		if !m.release(b, s) {
			return false
		}
	}
	m.unwait(s)
	m.n--
	j := m.job(s)
	j.began = b.Now()
	m.running[b.Lane()][j.level].Push(s)
	return true
}

// worst returns the last in order of the running sequences in b, or nil.
func (m *MLFQ) worst(b *sim.Batch) *sim.Sequence { return last(m.running[b.Lane()], nil) }

// last returns the last sequence of the highest level, other than the one given, or nil.
func last(levels []sim.Queue, other *sim.Sequence) *sim.Sequence {
	for level := len(levels) - 1; level >= 0; level-- {
		s := levels[level].Back()
		if s != nil && s == other {
			s = levels[level].Front()
		}
		if s != nil && s != other {
			return s
		}
	}
	return nil
}

// release frees the memory of one sequence: of a paused sequence of the highest level, or else of
// the last one that runs in b. If first is given, the sequence must come after first. release
// returns false if there is no such sequence.
func (m *MLFQ) release(b *sim.Batch, first *sim.Sequence) bool {
	s := last(m.paused, first) // all that wait come after the first
	paused := s != nil
	if paused {
		j := m.job(s)
		j.paused = false
		m.paused[j.level].Remove(s)
	} else if s = m.worst(b); s == nil || first != nil && !m.before(first, s) {
		return false
	}
	if !m.Swap || !b.SwapOut(s) {
		b.Preempt(s)
	}
	if !paused {
		m.add(s)
	}
	return true
}

// promote moves sequences that have waited in their queue for too long into the first one.
func (m *MLFQ) promote(now sim.Time) {
	for level := 1; level < m.Levels && m.Starvation > 0; level++ {
		for m.waiting[level].len() > 0 {
			s := m.waiting[level].entries[0].s
			j := m.job(s)
			if j.entered+m.Starvation > now {
				break
			}
			paused := m.unwait(s)
			j.level, j.entered = 0, j.entered+m.Starvation
			m.wait(s, paused)
		}
	}
}

// demote moves the jobs whose quantum is over to the next queue. Their time there counts from the
// end of the quantum.
func (m *MLFQ) demote(levels []sim.Queue, now sim.Time) {
	for level := range m.Levels - 1 {
		for s := levels[level].Front(); s != nil && m.job(s).began+
			m.quantum(level) <= now; s = levels[level].Front() {
			levels[level].Remove(s)
			j := m.job(s)
			j.level++
			j.began += m.quantum(level)
			j.entered = j.began
			levels[j.level].Push(s)
		}
	}
}

// wake returns the time at which the order of waiting and running sequences changes by itself, or
// 0.
func (m *MLFQ) wake(levels []sim.Queue) sim.Time {
	if m.n == 0 {
		return 0
	}
	at := sim.Never
	for level := range m.Levels - 1 {
		if s := levels[level].Front(); s != nil {
			at = min(at, m.job(s).began+m.quantum(level))
		}
	}
	for level := 1; level < m.Levels && m.Starvation > 0; level++ {
		if m.waiting[level].len() > 0 {
			at = min(at, m.job(m.waiting[level].entries[0].s).entered+m.Starvation)
		}
	}
	return at
}

// Entered implements sim.Listener.
func (m *MLFQ) Entered(*sim.Batch, *sim.Sequence) {}

// Joined implements sim.Listener.
func (m *MLFQ) Joined(*sim.Batch, *sim.Sequence) {}

// Left implements sim.Listener.
func (m *MLFQ) Left(b *sim.Batch, s *sim.Sequence, _ bool) {
	m.running[b.Lane()][m.job(s).level].Remove(s)
}

// Withdraw implements sim.Withdrawer.
func (m *MLFQ) Withdraw(s *sim.Sequence) {
	m.unwait(s)
	m.n--
}
