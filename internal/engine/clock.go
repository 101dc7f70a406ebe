package engine

import (
	"time"

	"github.com/llmsim/llmsim/sim"
)

// Clock is a sim.StepClock that executes every step on an engine and returns how long it took.
//
// Texts are made up: each token follows from its request and place alone, so that prompts which
// share segments share tokens. What a step finds in the KV cache is what the simulator says is
// stored. Where the engine has more, it forgets; where it has less (after its own memory ran short,
// say), it computes the rest before the stopwatch starts.
type Clock struct {
	// Now reads the stopwatch; nil means wall time. With one thread, that thread's processor time
	// (see package cputime) leaves out what other programs take.
	Now func() time.Duration
	// Drafting, if set, makes and verifies the drafts of sequences that decode, and chooses all
	// tokens. Texts then go on with these.
	Drafting Drafting

	engine    *Engine
	sequences map[int64]*served // by request
	steps     int64
	chunks    []Chunk
	decodes   int // of the chunks, which come first
	drafted   time.Duration
	padding   []*Sequence
	sampled   []int32 // the most likely token of each row of logits of the last step
	err       error
}

// Drafting is speculative decoding with models that run.
type Drafting interface {
	// Draft is called before a step. It adds drafted tokens, New−1 at most, to the sequences of
	// decodes, which hold only the token before them, and sets New and Logits to what it made; and
	// has the drafter compute what prompts are about to.
	Draft(decodes, prompts []Chunk) error
	// Verify is called after the step. It takes rejected tokens away and adds one to each sequence
	// of decodes, and to each sequence whose prompt is complete.
	Verify(decodes, prompts []Chunk) error
	// Forget is told that a sequence ends.
	Forget(s *Sequence)
}

// served is a request's sequence in the engine.
type served struct {
	*Sequence
	id   int64
	used int64 // the last step that it was in
}

// NewClock returns a clock that runs on e, which is not used for anything else meanwhile. Prefix
// caching should be on.
func NewClock(e *Engine) *Clock {
	return &Clock{engine: e, sequences: map[int64]*served{}}
}

// Err returns the first error, after which the clock executes nothing: a context longer than the
// model's, or a step that does not fit into the KV cache.
func (c *Clock) Err() error { return c.err }

// Duration implements sim.StepClock: the time of a forward pass and of choosing the next tokens,
// greedily where nothing is drafted. Drafts are made before, see DraftTime. After an error it
// returns sim.Tick.
func (c *Clock) Duration(s *sim.Step) sim.Time {
	c.drafted = 0
	if c.err == nil {
		c.err = c.prepare(s)
	}
	if c.Drafting != nil && c.err == nil {
		c.drafted = c.timed(c.draft)
	}
	if c.err != nil {
		return sim.Tick
	}
	elapsed := c.timed(c.execute)
	c.freePadding()
	return max(sim.Time(elapsed)*sim.Nanosecond, sim.Tick)
}

// DraftTime returns what drafting took before the last step. It is not part of Duration.
func (c *Clock) DraftTime() sim.Time { return sim.Time(c.drafted) * sim.Nanosecond }

func (c *Clock) draft() error {
	return c.Drafting.Draft(c.chunks[:c.decodes], c.chunks[c.decodes:])
}

// timed runs do and returns how long it took by the stopwatch.
func (c *Clock) timed(do func() error) time.Duration {
	if c.Now == nil {
		begin := time.Now()
		c.err = do()
		return time.Since(begin)
	}
	begin := c.Now()
	c.err = do()
	return c.Now() - begin
}

// Sequence returns the sequence of a request; nil where the engine does not hold the sequence.
func (c *Clock) Sequence(id int64) *Sequence {
	if s := c.sequences[id]; s != nil {
		return s.Sequence
	}
	return nil
}

// Release frees what a request holds, when it has finished. Requests that are not released lose
// their memory to others, the longest unused first.
func (c *Clock) Release(id int64) {
	if s := c.sequences[id]; s != nil {
		if c.Drafting != nil {
			c.Drafting.Forget(s.Sequence)
		}
		s.Free()
		delete(c.sequences, id)
	}
}

// Reset frees what all requests hold, as before another simulation, whose requests have the same
// numbers.
func (c *Clock) Reset() {
	for id := range c.sequences {
		c.Release(id)
	}
}

// execute runs the prepared chunks.
func (c *Clock) execute() error {
	if err := c.engine.Step(c.chunks); err != nil {
		return err
	}
	if c.Drafting != nil {
		return c.Drafting.Verify(c.chunks[:c.decodes], c.chunks[c.decodes:])
	}
	rows := 0
	for _, chunk := range c.chunks {
		rows += chunk.Logits
	}
	c.sampled = append(c.sampled[:0], make([]int32, rows)...)
	c.engine.pool.Run(rows, (*greedy)(c))
	return nil
}

// greedy chooses tokens, one a row of logits.
type greedy Clock

// Do implements parallel.Task.
func (c *greedy) Do(_, row int) { c.sampled[row] = largest(c.engine.Logits(row)) }

// largest returns the token with the largest logit.
func largest(logits []float32) int32 {
	best, value := 0, logits[0]
	for i, v := range logits {
		if v > value {
			best, value = i, v
		}
	}
	return int32(best)
}
