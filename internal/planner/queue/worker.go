//go:build !js

package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/scenarios"
)

// Work does tasks of a server until ctx is done, which is no error; then those in hand are given
// back.
func Work(ctx context.Context, c Config, handlers Handlers) (err error) {
	defer func() {
		if errors.Is(err, context.Canceled) {
			err = nil
		}
	}()
	c = c.complete()
	k, err := c.key()
	if err != nil {
		return scenarios.BadInput(err)
	}
	conn, err := c.connect(nil, k)
	if err != nil {
		return err
	}
	defer conn.Close()
	s, err := newStore(conn, &c, k)
	if err != nil {
		return err
	}
	defer s.close()
	c.Log(fmt.Sprintf("llmsim %s takes tasks of %s", s.version, c.where()))
	var workers sync.WaitGroup
	defer workers.Wait()
	workers.Go(func() { s.warnOfVersions(ctx) })
	consumer, err := s.join(ctx)
	if err != nil {
		return err
	}
	for range c.Workers {
		w := newWorker(s, handlers, consumer.CachedInfo().Config.AckWait)
		workers.Go(func() { w.serve(ctx, consumer) })
	}
	workers.Wait()
	if conn.IsConnected() { // else what was not heard of is given out again, and found to be done
		return conn.FlushTimeout(grace)
	}
	return nil
}

// worker does one task of a server at a time.
type worker struct {
	slot
	store *store
	// beat is the time between two signs of life.
	beat time.Duration
}

func newWorker(s *store, handlers Handlers, redeliver time.Duration) *worker {
	return &worker{
		slot:  slot{handlers: handlers, clocks: scenarios.NewClocks(), log: s.log, fetch: s.fetch},
		store: s, beat: redeliver / 3,
	}
}

// serve takes tasks until ctx is done.
func (w *worker) serve(ctx context.Context, consumer jetstream.Consumer) {
	for ctx.Err() == nil {
		// A restarted server does not know that this worker waits. The worker notices this after
		// two missing heartbeats.
		messages, err := consumer.Messages(jetstream.PullMaxMessages(1),
			jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2*time.Second))
		for err == nil {
			var m jetstream.Msg
			if m, err = messages.Next(jetstream.NextContext(ctx)); err == nil {
				w.handle(ctx, m)
			}
		}
		if messages != nil {
			messages.Stop()
		}
		if ctx.Err() == nil {
			w.log(fmt.Sprintf("asking for tasks: %v; trying again", err))
			pause(ctx, time.Second)
		}
	}
}

// handle does the task of a message, and stores the outcome before it acknowledges the message. If
// the worker dies in between, another worker gets the task again, and finds the outcome.
func (w *worker) handle(ctx context.Context, m jetstream.Msg) {
	err := w.finish(ctx, m)
	if err == nil {
		err = m.Ack()
	}
	if err != nil && ctx.Err() == nil {
		w.log(fmt.Sprintf("a task is not done: %v", err))
	}
}

// finish does the task of a message and stores its outcome, unless one is stored; an error leaves
// it to the next try.
func (w *worker) finish(ctx context.Context, m jetstream.Msg) error {
	about, err := m.Metadata()
	if err != nil {
		return errors.Join(err, m.Term())
	}
	t, err := w.store.readTask(m.Subject(), m.Data())
	if err != nil {
		return errors.Join(fmt.Errorf("%.200q is refused: %w", m.Subject(), err), m.Term())
	}
	if about.NumDelivered > mostDeliveries {
		return errors.Join(fmt.Errorf("%.200q: no outcome could be stored in %d tries", m.Subject(),
			mostDeliveries), m.Term())
	}
	if _, found, err := w.store.result(ctx, t.Key); found || err != nil {
		return err
	}
	if about.NumDelivered > tries {
		return w.storeResult(ctx, t, outcome{
			Error: "each worker that took it went silent; the task may need more memory than the " +
				"workers have"})
	}
	value, err := w.alive(ctx, m, t)
	switch {
	case err != nil && ctx.Err() != nil:
		return w.giveBack(m, t)
	case again(err) && about.NumDelivered < tries:
		return errors.Join(err, m.Nak())
	}
	return w.storeResult(ctx, t, outcomeOf(value, err))
}

// mostDeliveries bounds how often a task is given out if not even its failure can be stored. A
// planner that still waits for it queues it again after a while.
const mostDeliveries = 4 * tries

// grace is how long a stopped worker tries to store its finished outcomes, or to give unfinished
// tasks back.
const grace = 500 * time.Millisecond

// storeResult stores an outcome, even if ctx is done meanwhile.
func (w *worker) storeResult(ctx context.Context, t *Task, o outcome) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	return w.store.storeResult(lasting, t.Key, o)
}

// alive does a task, and reports progress meanwhile so that the task is not given to another.
func (w *worker) alive(ctx context.Context, m jetstream.Msg, t *Task) (json.RawMessage, error) {
	working, done := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	defer beats.Wait()
	defer done()
	beats.Go(func() {
		for pause(working, w.beat); working.Err() == nil; pause(working, w.beat) {
			if err := m.InProgress(); err != nil {
				w.log(fmt.Sprintf("reporting that a task is in progress: %v", err))
			}
		}
	})
	return w.do(ctx, t)
}

// giveBack queues the task of a worker that is stopped anew, so that this is not counted as a try.
func (w *worker) giveBack(m jetstream.Msg, t *Task) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := m.DoubleAck(ctx); err != nil {
		return err
	}
	return w.store.publish(ctx, t)
}

// identity names the version of the program, in letters that a NATS subject can have. What was
// built from changed or unknown sources is distinguished by a hash of the program.
func (c *Config) identity() (string, error) {
	if c.version != "" {
		return c.version, nil
	}
	version := scenarios.Version()
	if strings.HasPrefix(version, "devel") || strings.Contains(version, "dirty") ||
		version == "unknown" {
		path, err := os.Executable()
		if err != nil {
			return "", err
		}
		sum, err := scenarios.HashFile(path)
		if err != nil {
			return "", err
		}
		version += "-" + sum[:12]
	}
	return strings.NewReplacer(".", "_", "+", "-", " ", "-", "*", "-", ">", "-", "/", "-", "\\",
		"-").Replace(version), nil
}

// warnOfVersions logs, until ctx is done, once for each other version whose tasks wait for workers:
// results of another version may differ, so this one leaves them alone.
func (s *store) warnOfVersions(ctx context.Context) {
	named := map[string]bool{}
	for ; ctx.Err() == nil; pause(ctx, 5*time.Second) {
		if stream, err := s.js.Stream(ctx, streamName); err == nil {
			for info := range stream.ListConsumers(ctx).Info() {
				other := strings.TrimPrefix(info.Name, consumerName)
				if other == s.version || named[other] || info.NumPending == 0 ||
					info.NumWaiting > 0 {
					continue
				}
				named[other] = true
				s.log(fmt.Sprintf(
					"refusing %d tasks of llmsim %.100s: this is llmsim %s, and results may "+
						"differ; start workers of that version, or plan with this one",
					info.NumPending, other, s.version))
			}
		}
	}
}
