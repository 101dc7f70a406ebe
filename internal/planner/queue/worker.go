package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/llmsim/llmsim/scenarios"
)

// Work does tasks of a server until ctx is done, which is no error; then those in hand are done still.
func Work(ctx context.Context, c Config, handlers Handlers) error {
	if err := work(ctx, c.complete(), handlers); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func work(ctx context.Context, c Config, handlers Handlers) error {
	conn, err := c.connect(nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	s, err := joinStore(ctx, conn)
	if err != nil {
		return err
	}
	defer s.close()
	c.Log(fmt.Sprintf("llmsim %s takes tasks of %s", s.version, c.where()))
	var workers sync.WaitGroup
	defer workers.Wait()
	workers.Go(func() { s.strangers(ctx, c.Log) })
	consumer, err := eventually(ctx, func() (jetstream.Consumer, error) { return s.js.Consumer(ctx, streamName, consumerName+s.version) })
	if err != nil {
		return err
	}
	for range c.Workers {
		w := newWorker(s, handlers, c.Log, consumer.CachedInfo().Config.AckWait)
		workers.Go(func() { w.serve(ctx, context.WithoutCancel(ctx), consumer) })
	}
	workers.Wait()
	if conn.IsConnected() { // else what was not heard of is given out again, and found to be done
		return conn.FlushTimeout(grace)
	}
	return nil
}

// worker does one task at a time.
type worker struct {
	store    *store
	handlers Handlers
	clocks   *scenarios.Clocks
	log      func(string)
	// beat is the time between two signs of life.
	beat time.Duration
}

func newWorker(s *store, handlers Handlers, log func(string), redeliver time.Duration) *worker {
	return &worker{store: s, handlers: handlers, clocks: scenarios.NewClocks(), log: log, beat: redeliver / 3}
}

// serve takes tasks until stop is done. Tasks run under ctx.
func (w *worker) serve(stop, ctx context.Context, consumer jetstream.Consumer) {
	for stop.Err() == nil {
		// A server that was started anew does not know that somebody waits: it is missed after two heartbeats.
		messages, err := consumer.Messages(jetstream.PullMaxMessages(1), jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2*time.Second))
		for err == nil {
			var m jetstream.Msg
			if m, err = messages.Next(jetstream.NextContext(stop)); err == nil {
				w.handle(ctx, m)
			}
		}
		if messages != nil {
			messages.Stop()
		}
		if stop.Err() == nil {
			w.log(fmt.Sprintf("taking tasks: %v; trying again", err))
			select {
			case <-stop.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// handle does the task of a message and stores the outcome before the message goes: who dies in between has it done again, by
// somebody who finds the outcome.
func (w *worker) handle(ctx context.Context, m jetstream.Msg) {
	err := w.settle(ctx, m)
	if err == nil {
		err = m.Ack()
	}
	if err != nil && ctx.Err() == nil {
		w.log(fmt.Sprintf("a task is given back: %v", err))
	}
}

// settle stores the outcome of a task, unless one is stored; an error leaves it to the next try.
func (w *worker) settle(ctx context.Context, m jetstream.Msg) error {
	var t Task
	if err := json.Unmarshal(m.Data(), &t); err != nil {
		return errors.Join(fmt.Errorf("not a task: %w", err), m.Term())
	}
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	if _, known, err := w.store.result(ctx, t.Key); known || err != nil {
		return err
	}
	if about.NumDelivered > tries {
		return w.keep(ctx, &t, outcome{Error: "each worker that took it went silent; it may need more memory than they have"})
	}
	value, err := w.alive(ctx, m, &t)
	switch {
	case err == nil:
		return w.keep(ctx, &t, outcome{Value: value})
	case ctx.Err() != nil:
		return w.giveBack(m, &t)
	case scenarios.IsInputError(err):
		return w.keep(ctx, &t, outcome{Error: err.Error(), Input: true})
	case about.NumDelivered == tries:
		return w.keep(ctx, &t, outcome{Error: err.Error()})
	}
	return errors.Join(err, m.Nak())
}

// grace is how long a worker that is stopped tries to store what it has done, or to give back what it has not.
const grace = 5 * time.Second

// keep stores an outcome, even if ctx is done meanwhile. Paths in it are those of the user's machine.
func (w *worker) keep(ctx context.Context, t *Task, o outcome) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	o.Error = w.store.unmoved(o.Error, t.Files)
	return w.store.keep(lasting, t.Key, o)
}

// alive does a task, and tells meanwhile that it is being done.
func (w *worker) alive(ctx context.Context, m jetstream.Msg, t *Task) (json.RawMessage, error) {
	done := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() {
		ticker := time.NewTicker(w.beat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if err := m.InProgress(); err != nil {
					w.log(fmt.Sprintf("telling that a task is in progress: %v", err))
				}
			}
		}
	})
	defer beats.Wait()
	defer close(done)
	return w.do(ctx, t)
}

// do runs the handler. A panic is an error of the task.
func (w *worker) do(ctx context.Context, t *Task) (value json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	handler := w.handlers[t.Kind]
	if handler == nil {
		return nil, fmt.Errorf("no worker knows tasks of the kind %q", t.Kind)
	}
	moved, err := w.store.fetch(ctx, t.Files)
	if err != nil {
		return nil, err
	}
	f, err := scenarios.Parse(t.Name, []byte(t.Text), t.Set...)
	if err != nil {
		return nil, err
	}
	f.Clocks, f.Moved = w.clocks, moved
	result, err := handler(ctx, f, t.Params)
	if err != nil {
		return nil, err
	}
	value, err = json.Marshal(result)
	return json.RawMessage(w.store.unmoved(string(value), t.Files)), err
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
