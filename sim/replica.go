package sim

// replica is one server by itself: a scheduler over a memory, with one batch for each pipeline
// stage. It knows nothing of other replicas, nor of the sender of its requests. Each call leaves
// its effects on others in the field effects.
//
// In a large fleet each step finds its replica out of the processor's caches. So what every step
// touches comes first, here and in Batch, and what only reports need is shared.
type replica struct {
	now Time // of the last call
	// accounted is the time up to which result has the KV memory in use; accounted <= now. Only
	// account changes it. No memory may be taken or freed while it is behind the present.
	accounted Time
	// next is when the replica acts by itself: the earliest of retry and the ends of flights, Never
	// if there is no such time. schedule sets it at the end of each call.
	next      Time
	retry     Time    // when to try to start a batch that rests, or Never
	batches   []Batch // one for each pipeline stage; their addresses do not change
	busyUntil Time    // the time up to which result.Busy counts
	planned   int64   // steps planned so far: the number of the next one, from 0
	free      []Time  // when each pipeline stage is free
	first     int     // index of the batch that is asked first when the first stage is free
	scheduler Scheduler
	memory    Memory
	clock     StepClock
	leaper    LeapClock // clock, if it can leap, or nil
	effects   effects   // of the call under way; the fleet empties the list
	maxLeap   int64     // steps of a leap, at least 1
	err       error     // why the replica cannot go on, or nil

	// Optional abilities of the policies; nil without the ability.
	speculator Speculator
	foreseeing LeapSpeculator // speculator; nil also if clock or memory cannot leap with drafts
	roomy      LeapMemory     // memory
	listener   Listener       // scheduler
	summing    SummingMemory  // memory
	tiered     TieredMemory   // memory
	encodings  EncoderCache
	withdrawer Withdrawer   // scheduler, if it gives back requests itself
	divide     func() Slots // returns how the memory is divided at the time sampled

	lookahead        int64   // see ReplicaConfig; 0 with a pipeline
	handsOver        bool    // requests go to another replica after their prompt
	relaysFirstToken bool    // and users get the first token from there
	firstChunk       float64 // steps, see ReplicaConfig
	observed         bool    // an observer gets each leap
	streamed         bool    // somebody gets each token
	limit            int     // longest context in tokens, prompt and answer; 0 without a limit
	// Requests wait in three places, in order of arrival: in the scheduler, in the backlog behind
	// it, and in incoming until a step is planned that can have them (Sequence.visible).
	incoming   Queue
	backlog    backlog
	admissions int64 // admissions to batches so far
	slots      slots
	result     ReplicaResult
	host       hostLink
	paused     pausedList
	sampled    Time // when the state was last asked for
	// The memory of batches and free if there is one stage, which saves two allocations.
	oneBatch [1]Batch
	oneFree  [1]Time
}

// effect is an effect of a call of a replica on others. The fleet carries effects out, in order.
type effect struct {
	kind effectKind
	s    *Sequence
	leap *Leap // that has ended

	// emitted, announced: when tokens come out; prompted: when the user gets the first token, 0 if
	// that is not known yet; passed: how long the step took
	time Time
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
//
// Each member is in one of three states: its prompt is being computed (it is in prefilling), it
// decodes (it is one of the decoders), or it is complete and held back by a static batch. So
//
//	running = len(prefilling) + decodes + held
//
// except within land. Members change only while no step of the batch runs.
type Batch struct {
	r *replica
	decoders
	forecast *forecast // nil if the replica cannot leap over steps with drafts

	members    list        // oldest first
	running    int         // number of members
	prefilling []*Sequence // in order of admission
	held       int

	// leaving has members that end without an answer when the running step ends.
	leaving []*Sequence

	// The step under construction, from plan on, and then under way, until land.
	step         Step
	decode       bool  // Decode has put the decoders into the step
	together     bool  // Decision.Together of the step
	reserve      int64 // units of memory that Prefill leaves free
	retryPrefill bool  // a refused Prefill may succeed in the next step, so that the leap has one
	transfers    transfers
	flight       flight
	// report is the leap that ended last. The batches of all replicas with the same lane share it,
	// since the effects of a leap are carried out before the next leap ends.
	report *Leap
}
