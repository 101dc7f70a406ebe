package sim

// Observer is told what happens, in the order in which it happens. The arguments of its methods are
// valid during the call only.
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

// EndObserver is an Observer that is told more of requests that end without their last token.
type EndObserver interface {
	Observer
	// Ended reports such a request in place of Rejected, and when it ended. If Answered is above 0,
	// the user had the first token at FirstToken+Latency, and the last one of them came out at
	// LastToken.
	Ended(s *Sequence, why Rejection, at Time)
}

// ReportEnd reports a request that ended without its last token: by Ended to an EndObserver, and by
// Rejected to others. Observers each get their own report. (A method of Observers would take the
// place of Rejected in structs that embed them.)
func ReportEnd(o Observer, s *Sequence, why Rejection, at Time) {
	switch o := o.(type) {
	case EndObserver:
		o.Ended(s, why, at)
	case Observers:
		for _, each := range o {
			ReportEnd(each, s, why, at)
		}
	default:
		o.Rejected(&s.Request, why)
	}
}

// NopObserver ignores every event. An observer of some events embeds it, and implements their
// methods.
type NopObserver struct{}

// Steps implements Observer.
func (NopObserver) Steps(*Leap) {}

// Finished implements Observer.
func (NopObserver) Finished(*Sequence) {}

// Rejected implements Observer.
func (NopObserver) Rejected(*Request, Rejection) {}

// Sampled implements Observer.
func (NopObserver) Sampled(Time, int, State) {}

// Observers reports every event to several observers, in their order.
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
	// Replica and Lane are the indices of the replica and of its batch.
	Replica, Lane int
	// Start is when the first step began, End when the last ended.
	Start, End Time
	// Steps is their number, 1 where Prefill is not empty.
	Steps int64
	// Decodes is the number of sequences that decode; each gets one token a step. DecodeTokens is
	// the number of tokens that they put into each step: Decodes, or more if drafts are verified. A
	// step that verifies drafts may give a sequence several tokens.
	Decodes, DecodeTokens int
	// Padding is the number of complete sequences that keep their place in a static batch.
	Padding int
	// Context is the number of tokens to which the decoding sequences attend in the first step. It
	// grows by Decodes a step.
	Context int64
	// Form gives the length of a step from its context. It is set if Steps is more than 1 and Ends
	// is nil.
	Form Affine
	// Ends and Contexts are set if Steps is more than 1 and the steps verify drafts, which give
	// some sequences more tokens than others: the time from Start to the end of each step, and its
	// Context.
	Ends     []Time
	Contexts []int64
	// Prefill lists the prompt chunks computed.
	Prefill []Chunk
	// Gaps are the times between tokens that ended with the first step. In each later step, the gap
	// of all Decodes sequences is the length of the step. A gap is a time between two arrivals at a
	// user: tokens that arrive together have no gap between them. So the gaps of an answer are
	// together the time from its first token to its last.
	Gaps []Gap
	// Together reports whether answers arrive as a whole, when all of a static batch are complete.
	// Then there are no gaps.
	Together bool
	// Running is the number of sequences in the batch, Used the units of KV memory in use at the
	// end.
	Running int
	Used    int64
}

// Length returns the length of step i, counted from 0, of a leap of several steps.
func (l *Leap) Length(i int64) Time {
	switch {
	case l.Ends == nil:
		return l.Form.At(l.Context + i*int64(l.Decodes))
	case i == 0:
		return l.Ends[0]
	}
	return l.Ends[i] - l.Ends[i-1]
}

// ContextSum returns the sum of Context over the steps.
func (l *Leap) ContextSum() int64 {
	sum := l.Steps*l.Context + int64(l.Decodes)*(l.Steps*(l.Steps-1)/2)
	if l.Contexts != nil {
		sum = 0
		for _, context := range l.Contexts {
			sum += context
		}
	}
	return sum
}

// Gap is a time between two tokens of a sequence, which occurred Count times.
type Gap struct {
	Span  Time
	Count int64
}

// State is the state of a replica at one moment.
type State struct {
	// Up reports whether the replica serves, starts, or finishes its last requests. It is false if
	// the replica is off or has failed.
	Up bool
	// Waiting, Running and Decoding are numbers of sequences. A decoding sequence counts as running
	// too.
	Waiting, Running, Decoding int
	// Used and Capacity are in the memory's units.
	Used, Capacity int64
	// Slots returns how the memory is divided. It is nil if the memory is no SlotMemory. It visits
	// all running sequences, and may be called during the call of Sampled only. In fleets of more
	// than 8 replicas, it is nil for all but two in turns, except in the first sample.
	Slots func() Slots
}
