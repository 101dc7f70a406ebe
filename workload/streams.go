package workload

import (
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// stream names a purpose that draws random numbers of its own.
type stream uint64

const (
	gapStream stream = iota
	burstStream
	classStream
	promptStream
	outputStream
	groupStream
	turnStream
	turnThinkStream
	userThinkStream
	textStream
	partStream
	choiceStream
	resultStream
	agentStream
	toolStream
	adapterStream
	escalationStream
	startStream
	placeStream
	patienceStream
)

// source returns the random numbers of a purpose.
func (s stream) source(seed uint64) *rand.PCG { return s.nth(seed, 0) }

// nth returns the random numbers of a purpose in the n-th of several places.
func (s stream) nth(seed uint64, n int) *rand.PCG {
	state := content.Hash(s.key(seed) + uint64(n))
	return rand.NewPCG(state, content.Hash(state))
}

// key returns a number that depends on seed and purpose only.
func (s stream) key(seed uint64) uint64 { return content.Hash(content.Hash(seed) + uint64(s)) }

// limit ends a stream.
type limit struct {
	// left is the number of requests that may still be sent, and until the time from which no
	// request is.
	left  int64
	until sim.Time
	timed bool // the time ended the stream
}

// apply returns at, or sim.Never where no request may be sent then.
func (l *limit) apply(at sim.Time) sim.Time {
	l.timed = l.left > 0 && at >= l.until && at != sim.Never
	if l.left <= 0 || at >= l.until {
		return sim.Never
	}
	return at
}

// Until implements sim.Timed.
func (l *limit) Until() sim.Time {
	if l.timed {
		return l.until
	}
	return 0
}
