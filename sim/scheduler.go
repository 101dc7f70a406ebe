package sim

// Scheduler decides what each step of one replica computes. It owns the order of the waiting
// sequences.
type Scheduler interface {
	// Enqueue gives the scheduler a sequence that arrived and waits to run. Enqueue is not called
	// for a sequence that the scheduler itself preempts, pauses or swaps out; the scheduler must
	// put it back among its waiting sequences.
	Enqueue(s *Sequence)
	// Waiting returns the number of the scheduler's sequences that are not in a batch.
	Waiting() int
	// Schedule forms the next step of b with the methods of Batch. If it leaves the step empty, the
	// batch rests.
	Schedule(b *Batch) Decision
}

// Listener is a Scheduler that is told what happens to the sequences that it put into batches.
type Listener interface {
	Scheduler
	// Entered is called when s gets a place in b.
	Entered(b *Batch, s *Sequence)
	// Joined is called when the prompt of s is computed and its first token came out. From then on
	// s decodes in b, unless that token was its last.
	Joined(b *Batch, s *Sequence)
	// Left is called when s leaves b. If gone is true, s does not come back: its last token came
	// out, or the request goes elsewhere. Otherwise s waits again. The progress of s can still be
	// read.
	Left(b *Batch, s *Sequence, gone bool)
}

// Decision says for how many steps a schedule holds. The simulator may leap that far. A Decision
// matters for steps without prefill only, since a step with prefill is always taken alone.
type Decision struct {
	// Steps is the number of steps for which the decision holds if nothing arrives, finishes or
	// runs out of memory; at least 1.
	Steps int64
	// IgnoreArrivals is true if an arrival would not change the decision, for example because the
	// batch is full or the head of the queue does not fit.
	IgnoreArrivals bool
	// Wake is the time at which the scheduler wants to be asked again, if nothing arrives or
	// finishes before; 0 means no such time. While steps run, the decision holds up to the first
	// step that ends at Wake or later.
	Wake Time
	// Together is true for a static batch. Complete sequences then keep their place and their
	// memory, as padding, until all sequences of the batch are complete. Then all answers are
	// returned at once.
	Together bool
}

// Withdrawer is a Scheduler that is asked to give up a waiting sequence that times out, is
// cancelled or is lost in a failure. Any other Scheduler must keep its waiting sequences in Queues,
// from which the simulator takes them.
type Withdrawer interface {
	// Withdraw removes s, which waits and is in no batch, from the scheduler.
	Withdraw(s *Sequence)
}

// InOrder is a Scheduler that may start sequences in the order in which they are enqueued.
type InOrder interface {
	Scheduler
	// InOrder reports whether the scheduler does so. It then reads nothing of the sequences that
	// wait but the first of them, and whether there are any.
	InOrder() bool
}
