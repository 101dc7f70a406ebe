package serve

import (
	"sync"
	"time"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// Job is one answer in progress: the work of a backend, and its state.
type Job struct {
	// Request is the request; the backend sets ID and Arrival.
	Request sim.Request
	// Replica is the index of the only replica that may serve the job; −1 means any.
	Replica int
	// Tenant is who asks, for policies that tell tenants apart; empty if that is unsaid.
	Tenant string
	// Prompt is the text for backends that compute it.
	Prompt []text.Token
	// Asked holds further parameters of the client's request, for metrics.
	Asked telemetry.Parameters

	// Came is when the server began to read the client's request.
	Came time.Time
	// Logprobs is the number of alternatives whose probabilities a backend that computes gives with
	// each token; −1 without one.
	Logprobs int
	// IgnoreEnd goes on after a token that ends a text.
	IgnoreEnd bool

	listener *Listener
	// generated are the tokens that the backend has computed; they belong to its goroutine.
	generated []text.Token
	logprobs  []openai.TokenLogprobs
	// seen is the sequence at its last token, where a backend computes.
	seen sim.Sequence
	// complete says that the answer ended by a stop, and was noted as such.
	complete bool
	// reading is the time that reading the request took. Only the backend's goroutine uses it.
	reading time.Duration
	// What follows is written by the backend under the listener's lock.
	state JobState
}

// JobState is the state of a job.
type JobState struct {
	// Tokens is the number of tokens that have come out, and Cached the number of prompt tokens
	// found in the cache.
	Tokens, Cached int
	// Text holds the tokens if the backend computes them; else they are made up.
	Text []text.Token
	// logprobs belong to the tokens of Text, where they are wanted.
	logprobs []openai.TokenLogprobs
	// Due is when the oldest change was due that nobody has looked at yet; zero without one.
	Due time.Time
	// Stopped says that the model ended its text.
	Stopped bool
	// Ended is true if nothing more will come. Failed is true if the answer is not complete, for
	// the reason Why.
	Ended, Failed bool
	Why           sim.Rejection
}

// Listener wakes the goroutine that waits for the jobs of one client.
type Listener struct {
	mu   sync.Mutex
	wake chan struct{}
}

func newListener() *Listener { return &Listener{wake: make(chan struct{}, 1)} }

func (l *Listener) ring() {
	select {
	case l.wake <- struct{}{}:
	default: // it is awake, and will look again
	}
}

// snapshot returns the state of a job. Its changes are then looked at.
func (j *Job) snapshot() JobState {
	j.listener.mu.Lock()
	defer j.listener.mu.Unlock()
	state := j.state
	j.state.Due = time.Time{}
	return state
}

// Backend computes jobs.
type Backend interface {
	// Start begins a job. It returns at once.
	Start(j *Job)
	// Cancel ends a job whose client has gone. It is harmless after the end.
	Cancel(j *Job)
	// Stop ends a job whose answer is complete, since it has a text at which to stop.
	Stop(j *Job)
	// Models lists what is served.
	Models() []Model
	// Ready reports whether anybody is there to serve.
	Ready() bool
}

// Model is a served model.
type Model struct {
	Name string
	// Context is the largest number of tokens of a prompt and its answer together.
	Context int
}

// fail ends a job without a complete answer.
func (j *Job) fail(why sim.Rejection) {
	j.listener.mu.Lock()
	if s := &j.state; !s.Ended {
		s.Ended, s.Failed, s.Why = true, true, why
	}
	j.listener.mu.Unlock()
	j.listener.ring()
}

// update is a change of a job's state that is reported when the user learns of it.
type update struct {
	tokens, cached int
	text           []text.Token           // where it is computed
	logprobs       []openai.TokenLogprobs // of the text, where they are wanted
	ended, stopped bool                   // stopped by a token that ends a text
	first          bool                   // it is the first that the job hears
	at             time.Time              // when the user learns of it
}

// delay keeps news until the front end of the replica has passed it on. Front ends differ little if
// at all, so that news is nearly in order already.
type delay struct {
	queue []delayed
	head  int
}

type delayed struct {
	at   time.Time
	job  *Job
	news update
}

// add keeps news for a job until the given moment.
func (d *delay) add(at time.Time, j *Job, n update) {
	n.at = at
	d.queue = append(d.queue, delayed{at, j, n})
	for i := len(d.queue) - 1; i > d.head && d.queue[i].at.Before(d.queue[i-1].at); i-- {
		d.queue[i], d.queue[i-1] = d.queue[i-1], d.queue[i]
	}
}

// next returns when there is something to tell.
func (d *delay) next() (at time.Time, ok bool) {
	if d.head == len(d.queue) {
		return time.Time{}, false
	}
	return d.queue[d.head].at, true
}

// deliver sends all news that is due. A step of a large batch has news for hundreds, which takes
// milliseconds; requests that wait for their first token come first.
func (d *delay) deliver(now time.Time) {
	end := d.head
	for end < len(d.queue) && !d.queue[end].at.After(now) {
		end++
	}
	for _, first := range []bool{true, false} {
		for i := range d.queue[d.head:end] {
			if e := &d.queue[d.head+i]; e.news.first == first {
				e.job.advance(e.news)
			}
		}
	}
	clear(d.queue[d.head:end])
	d.head = end
	switch {
	case d.head == len(d.queue):
		d.queue, d.head = d.queue[:0], 0
	case d.head > len(d.queue)/2:
		n := copy(d.queue, d.queue[d.head:])
		clear(d.queue[n:])
		d.queue, d.head = d.queue[:n], 0
	}
}

// advance reports to a job how far it is. What a job that began anew after a failure repeats is no
// news.
func (j *Job) advance(n update) {
	j.listener.mu.Lock()
	s := &j.state
	changed := !s.Ended && (n.ended || n.tokens > s.Tokens)
	if changed {
		s.Tokens, s.Cached, s.Ended, s.Stopped = max(s.Tokens, n.tokens), n.cached, n.ended,
			n.stopped
		s.Text, s.logprobs = n.text, n.logprobs
		if s.Due.IsZero() {
			s.Due = n.at
		}
	}
	j.listener.mu.Unlock()
	if changed {
		j.listener.ring()
	}
}
