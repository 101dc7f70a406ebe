package sim

// Observer is told what happens, in the order in which it happens. What it is handed is valid
// during the call only.
type Observer interface {
	// Steps reports a leap (or a single step) that has ended.
	Steps(l *Leap)
	// Finished reports a request whose last token came out.
	Finished(s *Sequence)
	// Rejected reports a request that ends without an answer.
	Rejected(r *Request, why Rejection)
	// Sampled reports the state of a replica at each multiple of Config.SampleEvery.
	Sampled(at Time, replica int, state State)
}

// Observers reports the same to several observers, in their order.
type Observers []Observer

// Steps implements Observer.
func (all Observers) Steps(l *Leap) {
	for _, o := range all {
		o.Steps(l)
	}
}

// Finished implements Observer.
func (all Observers) Finished(s *Sequence) {
	for _, o := range all {
		o.Finished(s)
	}
}

// Rejected implements Observer.
func (all Observers) Rejected(r *Request, why Rejection) {
	for _, o := range all {
		o.Rejected(r, why)
	}
}

// Sampled implements Observer.
func (all Observers) Sampled(at Time, replica int, state State) {
	for _, o := range all {
		o.Sampled(at, replica, state)
	}
}

// Leap is a run of steps of one batch in which neither the batch nor the decision changed.
type Leap struct {
	// Replica and Lane tell which batch.
	Replica, Lane int
	// Start is when the first step began, End when the last ended.
	Start, End Time
	// Steps is their number, 1 where Prefill is not empty.
	Steps int64
	// Decodes is the number of sequences that decode; each gets a token a step. DecodeTokens is the
	// number of tokens that they put into each step: Decodes, or more where drafts are verified,
	// which then give any number of them.
	Decodes, DecodeTokens int
	// Padding is the number of sequences that are complete and keep their place in a static batch.
	Padding int
	// Context is the number of tokens attended to by the decoding sequences in the first step; it
	// grows by Decodes a step.
	Context int64
	// Form gives the length of a step from its context; set where Steps is more than 1.
	Form Affine
	// Prefill lists the prompt chunks computed.
	Prefill []Chunk
	// Gaps are the times between tokens that ended with the first step (with all steps, where Steps
	// is 1). In each later step the gap of all Decodes sequences is the length of the step.
	Gaps []Gap
	// Running is the number of sequences in the batch, Used the units of KV memory in use at the
	// end.
	Running int
	Used    int64
}

// Gap is a time between two tokens of a sequence, seen Count times.
type Gap struct {
	Span  Time
	Count int64
}

// State is what a replica looks like at one moment.
type State struct {
	// Up reports whether the replica serves, starts or finishes what it has: neither off nor
	// failed.
	Up bool
	// Waiting, Running and Decoding are numbers of sequences. A decoding sequence counts as running
	// too.
	Waiting, Running, Decoding int
	// Used and Capacity are in the memory's units.
	Used, Capacity int64
	// Slots says how the memory is divided; nil where it is no SlotMemory. It walks all sequences
	// that run, and is valid during the call of Sampled.
	Slots func() Slots
}
