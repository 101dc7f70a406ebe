// Package queue gives simulations to workers, in this process and on other machines, over NATS
// JetStream. Tasks are in a work queue until a worker has done them. Their results are in a
// key-value bucket under a hash of all that they depend on, so that nothing is computed twice.
//
// A worker reports progress while it simulates. The task of a worker that falls silent is given to
// another worker. A task that fails, or that makes its worker fail, is given out three times. Then
// it is parked: it is reported with its error, and the other tasks go on.
package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/llmsim/llmsim/scenarios"
)

// Queue gives tasks to workers and collects their results. Its methods may be called by several
// goroutines.
type Queue struct {
	config  Config
	begin   func(*Task) // does a task where no other process takes part; else what follows
	served              // empty where no other process takes part
	stop    context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*pending
}

// pending is a result to come.
type pending struct {
	ready   chan struct{} // closed when there is one
	outcome outcome
}

// Open connects to the server of the configuration, or starts one in this process, and starts the
// workers of this process.
func Open(ctx context.Context, c Config, handlers Handlers) (*Queue, error) {
	if err := c.Check(); err != nil {
		return nil, scenarios.BadInput(err)
	}
	q := &Queue{config: c.complete(), served: newServed(), waiting: map[string]*pending{}}
	if err := q.open(ctx, handlers); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

func (q *Queue) open(ctx context.Context, handlers Handlers) (err error) {
	if !q.config.shared() {
		ctx, q.stop = context.WithCancel(ctx)
		slots := make(chan *slot, q.config.Workers)
		for range q.config.Workers {
			slots <- &slot{handlers: handlers, clocks: scenarios.NewClocks(), log: q.config.Log}
		}
		q.begin = func(t *Task) {
			select {
			case <-ctx.Done():
			case h := <-slots:
				o := h.tried(ctx, t)
				if slots <- h; ctx.Err() == nil {
					q.fulfil(t.Key, o)
				}
			}
		}
		return nil
	}
	return q.join(ctx, handlers)
}

// Close ends the workers of this process and the connection. Results that are stored stay stored.
func (q *Queue) Close() {
	if q.stop != nil {
		q.stop()
	}
	q.workers.Wait()
	q.leave()
}

// Do lets a worker do a task, unless its result is known, and decodes the result. The error is a
// Parked if the task failed. A result that cannot be decoded, or that its Check refuses, is
// computed again, and leaves nothing in the result. What is not signed is no result.
func (q *Queue) Do(ctx context.Context, t *Task, result any) error {
	if err := checkKey(t.Key); err != nil {
		return err
	}
	for try := 1; ; try++ {
		o, err := q.outcome(ctx, t)
		switch {
		case err != nil:
			return err
		case o.Input:
			return scenarios.BadInput(errors.New(o.Error))
		case o.Error != "":
			return &Parked{o.Error}
		}
		refused := o.into(result)
		if refused == nil {
			return nil
		}
		q.config.Log(refusal(t.Key, refused))
		if try == tries {
			return &Parked{refused.Error()}
		}
		if q.begin != nil {
			continue
		}
		if err := q.forget(ctx, t.Key); err != nil {
			return err
		}
	}
}

// refusal says that a result is not believed.
func refusal(key string, why error) string {
	return fmt.Sprintf("the result of %s is refused: %v", key, why)
}

// outcome waits for the outcome of a task. Where it is late, it asks for the result, whose message
// may be lost, and queues the task again, which may be removed; a task that is still in the queue
// does not change.
func (q *Queue) outcome(ctx context.Context, t *Task) (*outcome, error) {
	p, first := q.expect(t.Key)
	switch {
	case first && q.begin != nil:
		q.workers.Go(func() { q.begin(t) })
	case first:
		if err := q.submit(ctx, t, false); err != nil {
			return nil, err
		}
	}
	for {
		var late <-chan time.Time
		if q.begin == nil {
			late = time.After(3 * q.config.Redeliver)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.ready:
			return &p.outcome, nil
		case <-late:
			if err := q.submit(ctx, t, true); err != nil && ctx.Err() == nil {
				q.config.Log(fmt.Sprintf("asking for the result of %s: %v", t.Key, err))
			}
		}
	}
}

// expect returns the pending result of a key, and whether it is new.
func (q *Queue) expect(key string) (*pending, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, known := q.waiting[key]
	if !known {
		p = &pending{ready: make(chan struct{})}
		q.waiting[key] = p
	}
	return p, !known
}

// fulfil hands a result to the callers that wait for it.
func (q *Queue) fulfil(key string, o outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.waiting[key]; p != nil {
		p.outcome = o
		close(p.ready)
		delete(q.waiting, key)
	}
}
