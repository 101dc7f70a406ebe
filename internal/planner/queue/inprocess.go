package queue

import (
	"context"
	"slices"
	"sync"
)

// mostKept bounds the results that a process keeps for whoever asks for them again. Planners keep
// what they need.
const mostKept = 4096

// pending is a result to come.
type pending struct {
	task    *Task         // once it is queued
	ready   chan struct{} // closed when there is one
	outcome outcome
}

// inProcess does tasks by the workers of this process alone, without a server.
type inProcess struct {
	mu     sync.Mutex
	more   *sync.Cond          // tasks were added, or it was closed
	asked  map[string]*pending // by key: in the queue, in hand, or done and kept
	queue  []*pending
	kept   []string // keys of what is done, the oldest first
	closed bool
}

func newInProcess() *inProcess {
	l := &inProcess{asked: map[string]*pending{}}
	l.more = sync.NewCond(&l.mu)
	return l
}

// outcome waits for the outcome of a task, which is queued unless it was asked for before.
func (l *inProcess) outcome(ctx context.Context, t *Task) (*outcome, error) {
	l.mu.Lock()
	p, known := l.asked[t.Key]
	if !known {
		p = &pending{task: t, ready: make(chan struct{})}
		l.asked[t.Key] = p
		l.queue = append(l.queue, p)
		l.more.Signal()
	}
	l.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.ready:
		return &p.outcome, nil
	}
}

// forget lets the next who asks for a task have it done anew.
func (l *inProcess) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asked, key)
	if i := slices.Index(l.kept, key); i >= 0 {
		l.kept = slices.Delete(l.kept, i, i+1)
	}
}

// next waits for a task to be done; nil if the queue is closed.
func (l *inProcess) next() *pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.more.Wait()
	}
	if l.closed {
		return nil
	}
	p := l.queue[0]
	l.queue = l.queue[1:]
	return p
}

// done hands out an outcome, and keeps it if it is a result. What failed is tried again by the next
// who asks.
func (l *inProcess) done(p *pending, o outcome) {
	p.outcome = o
	close(p.ready)
	if o.Error != "" {
		l.forget(p.task.Key)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept = append(l.kept, p.task.Key); len(l.kept) > mostKept {
		delete(l.asked, l.kept[0])
		l.kept = l.kept[1:]
	}
}

// serve does tasks until the queue is closed or ctx is done.
func (l *inProcess) serve(ctx context.Context, h *slot) {
	for p := l.next(); p != nil; p = l.next() {
		o := h.tried(ctx, p.task)
		if ctx.Err() != nil {
			return
		}
		l.done(p, o)
	}
}

func (l *inProcess) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.more.Broadcast()
}
