package sim

import "math"

// Scheduler decides what each step of one replica does. It owns the order of the waiting sequences.
type Scheduler interface {
	// Enqueue hands over a sequence that arrived and waits to run. A sequence that the scheduler
	// itself preempts, pauses or swaps out is its own to put back into order: it is not handed over
	// again.
	Enqueue(s *Sequence)
	// Waiting returns the number of sequences that were handed over, have not left, and are not in
	// a batch.
	Waiting() int
	// Schedule forms the next step of b with the methods of Batch. A step left empty lets the batch
	// rest.
	Schedule(b *Batch) Decision
}

// Forever is a number of steps that never runs out.
const Forever int64 = math.MaxInt64

// Listener is a Scheduler that is told what becomes of the sequences that it put into batches.
type Listener interface {
	Scheduler
	// Entered is called when s gets a place in b.
	Entered(b *Batch, s *Sequence)
	// Joined is called when the prompt of s is computed and a token came out: s decodes in b from
	// now on, unless that token was its last.
	Joined(b *Batch, s *Sequence)
	// Left is called when s leaves b, either for good (gone: its last token came out, or the
	// request goes elsewhere) or to wait again. Its progress can still be read.
	Left(b *Batch, s *Sequence, gone bool)
}

// Decision says for how long a schedule stands, which is how far the simulator may leap. It matters
// for steps without prefill only: one with prefill stands for itself.
type Decision struct {
	// Steps is the number of steps for which the decision stands if nothing arrives, finishes or
	// runs out of memory; at least 1.
	Steps int64
	// IgnoreArrivals is true where an arrival would not change the decision: the batch is full,
	// say, or the head of the queue does not fit.
	IgnoreArrivals bool
	// Wake is when to ask again, if nothing arrives or finishes before; 0 means only then. While
	// steps run, the first one that ends at Wake or later is the last for which the decision
	// stands.
	Wake Time
	// Together is true for a static batch: sequences that are complete keep their place and their
	// memory, as padding, until all in the batch are. Then their answers are returned at once.
	Together bool
}

// Withdrawer is a Scheduler that takes part when a sequence that waits times out, is cancelled or
// is lost in a failure. One that does not is expected to keep the waiting sequences in Queues, from
// which the simulator takes them.
type Withdrawer interface {
	// Withdraw forgets s, which was handed over and is in no batch.
	Withdraw(s *Sequence)
}
