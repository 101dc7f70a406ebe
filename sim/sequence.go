package sim

// Sequence is the life of one request inside a replica. Schedulers and memories read it; the
// simulator writes it. At any time,
//
//	0 <= Progress() <= Output, 0 <= Context() < Prompt+Output, 0 <= Accepted <= Drafted
type Sequence struct {
	Request

	// Generated is the number of output tokens so far, and Stored the number of tokens whose KV is
	// kept. Both are not updated while the sequence decodes; Progress and Context return the
	// numbers then.
	Generated, Stored int
	// Cached is the number of prompt tokens, in [0, Prompt), that the prefix cache supplied when a
	// scheduler first put the sequence into a step. Later admissions, after a preemption or a
	// failure, may find KV blocks that the sequence wrote itself, and do not change Cached. vLLM
	// counts in the same way (Request.num_cached_tokens, set once by its scheduler).
	Cached int
	// Scheduled is when the first step of the sequence began. FirstToken and LastToken are when
	// these tokens came out. Each is 0 before that time.
	Scheduled, FirstToken, LastToken Time
	// Delivered is when the KV cache arrived from the replica that computed the prompt; 0 if one
	// replica does both.
	Delivered Time
	// Preemptions counts how often the sequence lost its place in a batch.
	Preemptions int
	// Retries counts how often the sequence began anew because its replica failed.
	Retries int
	// Swapped is the number of tokens whose KV waits in host memory, or has come from a prefill
	// replica.
	Swapped int
	// Replica is the index of the replica that serves the sequence. Latency is the time that the
	// replica's front end and the network add between a token and the user.
	Replica int
	Latency Time

	// Drafted and Accepted count the tokens drafted for the sequence and those accepted.
	Drafted, Accepted int
	// Slot is a small number, from 0, that distinguishes the sequences of a replica. Another
	// sequence gets the number when this one has left and holds no memory. See PerSequence.
	Slot int
	rows *numbers // of its replica; nil outside of one, where Slot is its row
	row  int      // from 1; 0 before it has one, see slots

	links [listKinds]links
	// batch is the progress of the batch that it runs in, nil while it waits. While it decodes, it
	// has advanced by batch.steps − joined steps since Generated and Stored were written, and
	// joined <= batch.steps.
	batch     *progress
	joined    int64
	admitted  int64  // number of its admission to the replica: members of a batch are in this order
	epoch     uint32 // entries of a finishHeap with another epoch are stale; grows only
	finishing bool   // it has an entry there that is not stale
	decoding  bool   // its prompt is computed, and it is not complete; only while it has a batch
	foreseen  bool   // it decodes, and a forecast tells its progress
	held      bool   // complete, and waits for the rest of a static batch
	matched   bool   // Cached is set
	relayed   bool   // its first token came out, and its user has not got it
	imported  bool   // Swapped counts tokens that came from another replica
	preempted int32  // Preemptions at the replica that computed its prompt
	queue     *Queue // where it waits; nil where it runs or a Scheduler holds it in another way
	visible   int64  // number of the first step that may be planned with it, see replica.incoming
	drafted   int    // tokens drafted in the step that runs
	// room is the number of tokens for which it has memory, while it decodes with drafts (then 0 if
	// that is not known yet) or is paused. It means nothing at other times.
	room int

	journey
}

// newer returns the sequence that entered the batch of s after it, or nil.
func (s *Sequence) newer() *Sequence { return s.links[batched].behind }

// Running reports whether s has a place in a batch.
func (s *Sequence) Running() bool { return s.batch != nil }

// Decoding reports whether the prompt of s is computed, so that each step gives it a token.
func (s *Sequence) Decoding() bool { return s.decoding }

// Context returns the number of tokens of s whose KV is stored.
func (s *Sequence) Context() int { return s.Stored + s.advance() }

// Progress returns the number of output tokens of s so far.
func (s *Sequence) Progress() int { return s.Generated + s.advance() }

// Verifying returns the number of drafted tokens of s that are verified in the step under
// construction or under way.
func (s *Sequence) Verifying() int { return s.drafted }

// Remaining returns the number of tokens to compute before the next token of s comes out. These are
// the tokens of the prompt and, after a preemption, the tokens generated before it, less the tokens
// stored in KV or host memory. It is 0 for a sequence that decodes or is complete.
func (s *Sequence) Remaining() int {
	if s.decoding || s.held {
		return 0
	}
	return s.Prompt + s.Generated - s.Stored - s.Swapped
}

func (s *Sequence) advance() int {
	if !s.decoding {
		return 0
	}
	n := s.batch.steps - s.joined
	if s.foreseen {
		n += s.batch.accepted(s, n)
	}
	return int(n)
}

// TTFT returns the time to first token as the user sees it: queueing, prefill, whose last step
// gives the first token, and the front end. Of an answer that comes as a whole it is E2E.
func (s *Sequence) TTFT() Time {
	if s.Whole {
		return s.E2E()
	}
	return s.FirstToken + s.Latency - s.Arrival
}

// E2E returns the latency from sending the request to the last token, as the user sees it.
func (s *Sequence) E2E() Time { return s.LastToken + s.Latency - s.Arrival }

// had returns the number of tokens of the answer that the user of s had when s ended, at the given
// time; 0 if the user left before the first. A token that comes out with the step during which the
// user left is one of them.
func (s *Sequence) had(at Time) int {
	if s.gone > 0 {
		at = s.gone
	}
	if s.Whole || s.FirstToken == 0 || s.relayed || s.FirstToken+s.Latency > at {
		return 0
	}
	return s.Progress()
}

// TPOT returns the mean time per output token after the first. It is 0 for an answer of one token
// and for one that comes as a whole, which have no such time.
func (s *Sequence) TPOT() Time {
	if s.Output < 2 || s.Whole {
		return 0
	}
	return (s.LastToken - s.FirstToken) / Time(s.Output-1)
}

// progress is shared by the sequences of a batch: the number of the batch in its replica, and the
// steps by which all that decode have advanced together.
type progress struct {
	lane  int   // from 0
	steps int64 // decode steps that have ended; grows only
	// accepted returns how many drafted tokens of a foreseen sequence are accepted in the first
	// steps since its last visit.
	accepted func(s *Sequence, steps int64) int64
}
