package sim

// journey is the state that the fleet keeps of a request. Replicas do not use it.
type journey struct {
	place          place
	stage          stage  // what it counts as
	at             *load  // of the set of replicas where it counts, nil where it does in no set
	assigned       bool   // it counts as a request of Sequence.Replica
	ending         bool   // it ends with the step that it runs in, for the reason verdict
	life           uint32 // number of the events on the agenda that concern it; others are stale
	verdict        Rejection
	gone           Time  // when it was to end; its step may end later
	reportedTokens int   // tokens reported by Config.Tokens
	move           *move // while memory of another replica holds its KV cache
}

// reportTokens reports the tokens of s that came out since the last report.
func (s *Sequence) reportTokens(to func(s *Sequence, n int, at Time), at Time) {
	if n := s.Progress() - s.reportedTokens; n > 0 {
		s.reportedTokens += n
		to(s, n, at)
	}
}

// place is where a request is.
type place uint8

const (
	unplaced      place = iota // about to be placed
	atGate                     // it waits until a replica of its pool takes requests
	atReplica                  // it waits or runs there
	underWay                   // its KV cache is being moved, or its images are being encoded
	awaitingRetry              // it will be tried again after a failure
)

// move is a request on its way from a prefill replica to a decode replica. The KV cache keeps its
// place in the memory of the source until the target has taken the request into a batch. So a full
// decode pool holds up the prefill pool.
type move struct {
	source    int  // the replica that computed the prompt
	slot, row int  // Sequence.Slot there, and its row
	computed  Time // when the prompt was complete, or when a transfer had to begin again
	step      Time // the length of the step that completed it
	// A replica that failed meanwhile has a later generation.
	sourceGeneration, targetGeneration uint32
}
