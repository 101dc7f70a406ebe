package serve

import (
	"sync"
	"time"

	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// Job is one answer under way: what a backend is to compute, and how far it is.
type Job struct {
	// Request says what is asked; the backend sets ID and Arrival.
	Request sim.Request
	// Replica is the only one that may serve the job; −1 means any.
	Replica int
	// Prompt is the text for backends that compute it.
	Prompt []text.Token
	// Asked is what the client wants beside, for metrics.
	Asked telemetry.Parameters

	// Came is when the server began to read what the client sent.
	Came time.Time
	// IgnoreEnd goes on after a token that ends a text.
	IgnoreEnd bool

	listener *Listener
	// generated are the tokens that the backend has computed; they belong to its goroutine.
	generated []text.Token
	// reading is how long reading the request took; it belongs to the backend's goroutine.
	reading time.Duration
	// What follows is written by the backend under the listener's lock.
	state JobState
}

// JobState is how far a job is.
type JobState struct {
	// Tokens is the number that have come out, Cached that of prompt tokens found in the cache.
	Tokens, Cached int
	// Text holds the tokens where the backend computes them; else they are made up.
	Text []text.Token
	// Stopped says that the model ended its text.
	Stopped bool
	// Ended says that nothing more will come, Failed that the answer is not complete, for the
	// reason Why.
	Ended, Failed bool
	Why           sim.Rejection
}

// Listener wakes the goroutine that waits for the jobs of one client.
type Listener struct {
	mu   sync.Mutex
	wake chan struct{}
}

func newListener() *Listener { return &Listener{wake: make(chan struct{}, 1)} }

// tell changes the state of a job and wakes who waits for it.
func (j *Job) tell(change func(*JobState)) {
	j.listener.mu.Lock()
	change(&j.state)
	j.listener.mu.Unlock()
	j.listener.ring()
}

func (l *Listener) ring() {
	select {
	case l.wake <- struct{}{}:
	default: // it is awake, and will look again
	}
}

// look returns the state of a job.
func (j *Job) look() JobState {
	j.listener.mu.Lock()
	defer j.listener.mu.Unlock()
	return j.state
}

// Backend computes jobs.
type Backend interface {
	// Start begins a job. It returns at once.
	Start(j *Job)
	// Cancel ends a job whose client has gone. It is harmless after the end.
	Cancel(j *Job)
	// Models lists what is served.
	Models() []Model
}

// Model is one that is served.
type Model struct {
	Name string
	// Context is the longest prompt and answer together, in tokens.
	Context int
}

// fail ends a job without a complete answer.
func (j *Job) fail(why sim.Rejection) {
	j.tell(func(s *JobState) {
		if !s.Ended {
			s.Ended, s.Failed, s.Why = true, true, why
		}
	})
}
