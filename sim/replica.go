package sim

// replica is one server by itself: a scheduler over a memory, with one batch for each pipeline
// stage. It knows nothing of other replicas, nor of the sender of its requests. Each call leaves
// its effects on others in the field effects.
//
// In a large fleet each step finds its replica out of the processor's caches. So what every step
// touches comes first, here and in Batch, and what only reports need is shared.
type replica struct {
	now       Time
	accounted Time    // up to when the KV memory in use is summed up
	next      Time    // when something happens by itself, or Never
	retry     Time    // when to try to start a batch that rests, or Never
	batches   []Batch // one for each pipeline stage
	busyUntil Time
	planned   int64  // steps planned so far: the number of the next one
	free      []Time // when each pipeline stage is free
	first     int    // the batch that is served first when the first stage is free
	scheduler Scheduler
	memory    Memory
	clock     StepClock
	leaper    LeapClock // clock, where it can leap
	effects   effects
	maxLeap   int64
	err       error // the replica cannot go on

	speculator       Speculator
	foreseeing       LeapSpeculator // speculator, where the replica can leap with it
	roomy            LeapMemory     // memory, where it can
	listener         Listener       // scheduler, where it listens
	summing          SummingMemory  // memory, where it can
	tiered           TieredMemory   // memory, where it has tiers
	encodings        EncoderCache   // nil without one
	lookahead        int64
	handsOver        bool    // requests go on elsewhere after their prompt
	relaysFirstToken bool    // and their first token with them
	firstChunk       float64 // see ReplicaConfig
	observed         bool    // leaps are asked for
	streamed         bool    // tokens are asked for
	incoming         Queue   // arrivals after the next step is fixed, see ReplicaConfig.Lookahead
	admissions       int64
	slots            slots
	result           ReplicaResult
	backlog          backlog
	oneBatch         [1]Batch // where there is one
	oneFree          [1]Time

	limit      int        // longest context, 0 without bound
	withdrawer Withdrawer // scheduler, where it gives back requests itself
	host       hostLink
	paused     pausedList
	divide     func() Slots // how the memory is divided; nil where it cannot tell
	sampled    Time         // when the state was last asked for
}

// effect is an effect of a call of a replica on others. The fleet carries effects out, in order.
type effect struct {
	kind effectKind
	s    *Sequence
	time Time  // emitted, announced: when tokens come out; passed: how long the step took
	leap *Leap // that has ended
}

type effectKind uint8

const (
	stepped   effectKind = iota // a leap has ended
	prompted                    // the prompt of s is computed
	emitted                     // tokens of s came out
	announced                   // the user of s gets its first token at a time that is known now
	finished                    // the last token of s came out
	expelled                    // s, which was to leave, has left
	passed                      // s has left with its prompt computed, to go on elsewhere
	entered                     // s, which waited, has a place in a batch
	displaced                   // s has lost its place, and waits
	admitted                    // the KV cache that s brought from elsewhere has its place now
)

// effects are the effects of calls of a replica, in order.
type effects []effect

func (l *effects) add(kind effectKind, s *Sequence) { *l = append(*l, effect{kind: kind, s: s}) }

func (l *effects) addTimed(kind effectKind, s *Sequence, t Time) {
	*l = append(*l, effect{kind: kind, s: s, time: t})
}

// alone reports whether no other batch than b has work or will soon have it.
func (r *replica) alone(b *Batch) bool {
	if len(r.batches) == 1 {
		return true
	}
	for i := range r.batches {
		if other := &r.batches[i]; other != b && other.running > 0 {
			return false
		}
	}
	return r.scheduler.Waiting() == 0
}

// serves reports whether r can serve q, and if not, why.
func (r *replica) serves(q *Request) (why Rejection, ok bool) {
	tokens := q.Prompt + q.Output - 1 // the last token's KV is never stored
	if r.handsOver {
		tokens = q.Prompt
	}
	switch {
	case r.limit > 0 && q.Prompt+q.Output > r.limit:
		return TooLong, false
	case !r.memory.Fits(tokens):
		return TooLarge, false
	}
	return 0, true
}

// Batch is the set of sequences that a replica runs together, with the next step, which a Scheduler
// forms. A replica has one batch, or one for each stage of its pipeline.
type Batch struct {
	r *replica
	decoders
	forecast *forecast // of steps with drafts; nil without one

	// The running sequences, oldest first; the sequences among them whose prompt is not complete;
	// and the number of sequences that a static batch holds back.
	members    list
	running    int
	prefilling []*Sequence
	held       int

	// Sequences that end without an answer when the running step ends.
	leaving []*Sequence

	// The step under construction, then under way.
	step         Step
	decode       bool
	together     bool
	reserve      int64 // units of memory that Prefill leaves free
	retryPrefill bool  // limits the leap to one step: a refused Prefill may succeed in the next
	transfers    transfers
	flight       flight
	// report is the leap that ended last. The batches of all replicas with the same lane share it,
	// since the effects of a leap are carried out before the next leap ends.
	report *Leap
}
