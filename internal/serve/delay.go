package serve

import (
	"time"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/text"
)

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
