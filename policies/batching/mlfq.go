package batching

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// MLFQ is the skip-join multi-level feedback queue of FastServe: nobody knows how long answers get, so that requests that have run
// for long make way for others. A request enters the first queue whose quantum holds the computation of its prompt, and goes to
// the next one whenever it has run for the quantum of its own; each is twice that of the one before. Those in the first queues
// run, whole prompts in the same step as the others; one that makes way keeps its KV cache while there is memory (Wu et al., Fast
// Distributed Inference Serving for Large Language Models, arXiv:2305.05920, section 4). Swapping ahead of need is not modelled.
type MLFQ struct {
	MLFQConfig
	waiting []sim.Queue   // by level
	running [][]sim.Queue // by lane and level, in the order in which their quantum began
	jobs    []job         // by Sequence.Tag − 1
	spare   []int         // tags for reuse
	n       int           // sequences that wait
}

// MLFQConfig is what a multi-level feedback queue is made of.
type MLFQConfig struct {
	// MaxSequences is the most sequences in a batch.
	MaxSequences int
	// Levels is the number of queues, in [1, 32]; in the last one, quanta have no end.
	Levels int
	// Quantum is that of the first queue.
	Quantum sim.Time
	// PrefillRate is the number of prompt tokens computed in a second, as profiled, which tells where a request enters.
	PrefillRate float64
	// Starvation is how long a request stays in its queue before it comes into the first one; 0 means for ever.
	Starvation sim.Time
	// Swap tells that where memory is short, KV caches move to host memory; else they are computed again.
	Swap bool
}

// job is what the queues know of a sequence.
type job struct {
	level   int
	entered sim.Time // its queue
	began   sim.Time // its quantum, while it runs
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
	return &MLFQ{MLFQConfig: c, waiting: make([]sim.Queue, c.Levels)}, nil
}

// quantum returns that of a level.
func (m *MLFQ) quantum(level int) sim.Time {
	if level == m.Levels-1 || m.Quantum > sim.Never>>(level+1) {
		return sim.Never / 2
	}
	return m.Quantum << level
}

func (m *MLFQ) job(s *sim.Sequence) *job { return &m.jobs[s.Tag-1] }

// Enqueue implements sim.Scheduler.
func (m *MLFQ) Enqueue(s *sim.Sequence) {
	if s.Tag == 0 {
		m.register(s)
	}
	m.wait(s)
	m.n++
}

// wait puts s into its queue, which is in order.
func (m *MLFQ) wait(s *sim.Sequence) {
	q := &m.waiting[m.job(s).level]
	if last := q.Back(); last == nil || m.before(last, s) {
		q.Push(s)
		return
	}
	for next := range q.All {
		if m.before(s, next) {
			q.Insert(s, next)
			return
		}
	}
}

// register gives s, which arrived, its place.
func (m *MLFQ) register(s *sim.Sequence) {
	if k := len(m.spare); k > 0 {
		s.Tag = m.spare[k-1]
		m.spare = m.spare[:k-1]
	} else {
		m.jobs = append(m.jobs, job{})
		s.Tag = len(m.jobs)
	}
	prefill := sim.Seconds(float64(s.Prompt) / m.PrefillRate)
	level := 0
	for level < m.Levels-1 && m.quantum(level) < prefill {
		level++
	}
	*m.job(s) = job{level: level, entered: s.Arrival}
}

// before tells whether s comes before other.
func (m *MLFQ) before(s, other *sim.Sequence) bool {
	a, b := m.job(s), m.job(other)
	switch {
	case a.level != b.level:
		return a.level < b.level
	case a.entered != b.entered:
		return a.entered < b.entered
	}
	return s.ID < other.ID
}

// Waiting implements sim.Scheduler.
func (m *MLFQ) Waiting() int { return m.n }

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
	for s := m.first(); s != nil; s = m.first() {
		if b.Running() >= m.MaxSequences {
			worst := m.worst(b)
			if !m.before(s, worst) {
				break
			}
			b.Pause(worst)
		} else if b.Prefill(s, math.MaxInt) > 0 {
			m.start(b, s)
		} else if !m.release(b, s) {
			break
		}
	}
	return sim.Decision{Steps: sim.Forever, Wake: m.wake(m.running[b.Lane()])}
}

// first returns the sequence that starts next, or nil.
func (m *MLFQ) first() *sim.Sequence {
	for level := range m.waiting {
		if s := m.waiting[level].Front(); s != nil {
			return s
		}
	}
	return nil
}

// start takes s, which is in the step now, out of those that wait.
func (m *MLFQ) start(b *sim.Batch, s *sim.Sequence) {
	j := m.job(s)
	m.waiting[j.level].Remove(s)
	m.n--
	j.began = b.Now()
	m.running[b.Lane()][j.level].Push(s)
}

// worst returns the last in order of those that run in b, or nil.
func (m *MLFQ) worst(b *sim.Batch) *sim.Sequence {
	levels := m.running[b.Lane()]
	for level := len(levels) - 1; level >= 0; level-- {
		if s := levels[level].Back(); s != nil {
			return s
		}
	}
	return nil
}

// release frees the memory of the last in order of those that hold some: of those that are paused, else of those that run in b.
// It returns false if there is nobody, or nobody after s.
func (m *MLFQ) release(b *sim.Batch, s *sim.Sequence) bool {
	var worst *sim.Sequence
	for p := range b.Paused {
		if worst == nil || m.before(worst, p) {
			worst = p
		}
	}
	if worst == nil || s != nil && !m.before(s, worst) {
		worst = m.worst(b)
	}
	if worst == nil || s != nil && !m.before(s, worst) {
		return false
	}
	if !m.Swap || !b.SwapOut(worst) {
		b.Preempt(worst)
	}
	return true
}

// promote takes those that have waited in their queue for too long into the first.
func (m *MLFQ) promote(now sim.Time) {
	if m.Starvation == 0 {
		return
	}
	for level := 1; level < m.Levels; level++ {
		for s := m.waiting[level].Front(); s != nil && m.job(s).entered+m.Starvation <= now; s = m.waiting[level].Front() {
			m.waiting[level].Remove(s)
			j := m.job(s)
			j.level, j.entered = 0, j.entered+m.Starvation
			m.wait(s)
		}
	}
}

// demote takes those whose quantum is over into the next queue, as of the moment at which it was.
func (m *MLFQ) demote(levels []sim.Queue, now sim.Time) {
	for level := range m.Levels - 1 {
		for s := levels[level].Front(); s != nil && m.job(s).began+m.quantum(level) <= now; s = levels[level].Front() {
			levels[level].Remove(s)
			j := m.job(s)
			j.level++
			j.began += m.quantum(level)
			j.entered = j.began
			levels[j.level].Push(s)
		}
	}
}

// wake returns when the order of those that wait and run changes by itself, or 0.
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
		if s := m.waiting[level].Front(); s != nil {
			at = min(at, m.job(s).entered+m.Starvation)
		}
	}
	return at
}

// Entered implements sim.Listener.
func (m *MLFQ) Entered(*sim.Batch, *sim.Sequence) {}

// Joined implements sim.Listener.
func (m *MLFQ) Joined(*sim.Batch, *sim.Sequence) {}

// Left implements sim.Listener.
func (m *MLFQ) Left(b *sim.Batch, s *sim.Sequence, gone bool) {
	m.running[b.Lane()][m.job(s).level].Remove(s)
	if gone {
		m.forget(s)
	}
}

// Withdraw implements sim.Withdrawer.
func (m *MLFQ) Withdraw(s *sim.Sequence) {
	m.waiting[m.job(s).level].Remove(s)
	m.n--
	m.forget(s)
}

// forget frees the place of s, which is gone.
func (m *MLFQ) forget(s *sim.Sequence) {
	m.spare = append(m.spare, s.Tag)
	s.Tag = 0
}
