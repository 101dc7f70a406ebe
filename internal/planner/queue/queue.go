// Package queue hands simulations to workers, in this process and on other machines, over NATS JetStream. Tasks lie in a work
// queue until a worker has done them; their results lie in a key-value bucket under a hash of all that they depend on, so that
// nothing is computed twice.
//
// A worker tells that it is alive while it simulates; the task of one that falls silent is given to another. A task that fails, or
// takes its worker down, is given out three times; then it is parked: reported, with its error, while the rest goes on.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/scenarios"
)

// Queue gives tasks to workers and collects their results. Its methods may be called by several goroutines.
type Queue struct {
	config  Config
	server  *localServer // nil where the server is elsewhere
	conn    *nats.Conn
	store   *store
	sums    *sums
	stop    context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*promise
}

// promise is a result to come.
type promise struct {
	ready   chan struct{} // closed when there is one
	outcome outcome
}

// Open connects to the server of the configuration, or starts one in this process, and starts the workers of this process.
func Open(ctx context.Context, c Config, handlers Handlers) (*Queue, error) {
	if err := c.Check(); err != nil {
		return nil, scenarios.BadInput(err)
	}
	q := &Queue{config: c.complete(), waiting: map[string]*promise{}, sums: newSums()}
	if err := q.open(ctx, handlers); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

func (q *Queue) open(ctx context.Context, handlers Handlers) (err error) {
	if q.config.URL == "" {
		if q.server, err = startServer(&q.config); err != nil {
			return err
		}
	}
	if q.conn, err = q.config.connect(q.server); err != nil {
		return err
	}
	if q.store, err = openStore(ctx, q.conn, &q.config); err != nil {
		return fmt.Errorf("JetStream of %s: %w", q.config.where(), err)
	}
	ctx, q.stop = context.WithCancel(ctx)
	if err := q.watch(ctx); err != nil {
		return err
	}
	consumer, err := q.store.consume(ctx, q.config.Redeliver)
	if err != nil {
		return err
	}
	for range q.config.Workers {
		w := newWorker(q.store, handlers, q.config.Log, q.config.Redeliver)
		q.workers.Go(func() { w.serve(ctx, ctx, consumer) })
	}
	if q.config.Workers == 0 {
		q.workers.Go(func() { q.missWorkers(ctx, consumer) })
	}
	return nil
}

// Close ends the workers of this process and the connection. Results that are stored stay stored.
func (q *Queue) Close() {
	if q.stop != nil {
		q.stop()
	}
	q.workers.Wait()
	if q.store != nil {
		q.store.close()
	}
	if q.conn != nil {
		q.conn.Close()
	}
	if q.server != nil {
		q.server.close()
	}
}

// Do has a task done, unless its result is known, and decodes the result. The error is Parked where the task failed.
func (q *Queue) Do(ctx context.Context, t *Task, result any) error {
	p, first := q.expect(t.Key)
	if first {
		if err := q.submit(ctx, t); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ready:
	}
	o := &p.outcome
	switch {
	case o.Input:
		return scenarios.BadInput(errors.New(o.Error))
	case o.Error != "":
		return &Parked{o.Error}
	}
	return json.Unmarshal(o.Value, result)
}

// Key returns what names the result of a task: the fingerprint of its scenario, kind and params. Files are read once.
func (q *Queue) Key(f *scenarios.File, kind, params string) (string, error) {
	fingerprint, err := f.Fingerprint(q.sums.of)
	return strings.TrimSuffix(fingerprint+"-"+kind+"-"+params, "-"), err
}

// expect returns the promise for a key, and whether it is new.
func (q *Queue) expect(key string) (*promise, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, known := q.waiting[key]
	if !known {
		p = &promise{ready: make(chan struct{})}
		q.waiting[key] = p
	}
	return p, !known
}

// fulfil hands a result to those who wait for it.
func (q *Queue) fulfil(key string, o outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.waiting[key]; p != nil {
		p.outcome = o
		close(p.ready)
		delete(q.waiting, key)
	}
}

// submit queues a task, unless its result is stored. One that failed earlier is tried again.
func (q *Queue) submit(ctx context.Context, t *Task) error {
	known, ok, err := q.store.result(ctx, t.Key)
	if err != nil {
		return err
	}
	if ok && known.Error == "" {
		q.fulfil(t.Key, known)
		return nil
	}
	if ok {
		if err := q.store.forget(ctx, t.Key); err != nil {
			return err
		}
	}
	if q.config.shared() {
		if err := q.send(ctx, t); err != nil {
			return err
		}
	}
	return q.store.publish(ctx, t)
}

// watch fulfils promises as results are stored.
func (q *Queue) watch(ctx context.Context) error {
	watcher, err := q.store.watch(ctx)
	if err != nil {
		return err
	}
	q.workers.Go(func() {
		defer watcher.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case entry := <-watcher.Updates():
				if entry == nil || entry.Operation() != jetstream.KeyValuePut {
					continue
				}
				if o, err := readOutcome(entry.Value()); err == nil {
					q.fulfil(entry.Key(), o)
				}
			}
		}
	})
	return nil
}

// missWorkers tells, as long as tasks lie in the queue and nobody takes them.
func (q *Queue) missWorkers(ctx context.Context, c jetstream.Consumer) {
	for idle := 0; ; idle++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
		info, err := c.Info(ctx)
		if err != nil || info.NumPending == 0 || info.NumWaiting+info.NumAckPending > 0 {
			idle = -1
			continue
		}
		if idle%12 == 1 { // after 10 s, and each minute
			q.config.Log(fmt.Sprintf("%d tasks wait for a worker of llmsim %s: start llmsim worker --nats with the address of %s", info.NumPending, q.store.version, q.config.where()))
		}
	}
}
