package queue

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
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

// Task is a simulation to be done. It has all that a worker needs, except the files that the
// scenario names. These are sent separately, by the hash of their contents.
type Task struct {
	// Key names the result by all that it depends on, in letters, digits, minus signs, underscores
	// and points: see Queue.Key.
	Key string `json:"key"`
	// Kind selects the handler.
	Kind string `json:"kind"`
	// Name, Text and Set are the scenario's file name, its text and its overrides, as in
	// scenarios.Parse.
	Name string   `json:"name"`
	Text string   `json:"text"`
	Set  []string `json:"set,omitempty"`
	// Params holds further parameters for the handler, in letters, digits, points and minus signs.
	Params string `json:"params,omitempty"`
	// Files are the files that the scenario names, by the paths at which it finds them. A worker
	// opens no others.
	Files map[string]SentFile `json:"files,omitempty"`
}

// SentFile is a file that a worker needs.
type SentFile struct {
	// Sum is the SHA-256 of its contents, in 64 hexadecimal digits.
	Sum string `json:"sha256"`
	// Size is its length in bytes.
	Size int64 `json:"size"`
}

// Bounds on a task. Planners stay far below.
const (
	// mostMessage bounds a message, in bytes: the default limit of a NATS server.
	mostMessage = 1 << 20
	// mostFiles bounds the files of a task: a scenario names some, and a folder of operator tables
	// has dozens.
	mostFiles = 1000
	// mostFileSize bounds a file, in bytes: the longest published traces have a tenth of that.
	mostFileSize = 16 << 30
)

// readTask decodes a task and refuses what no planner sends.
func readTask(data []byte) (*Task, error) {
	if len(data) > mostMessage {
		return nil, fmt.Errorf("found %d bytes; a task has at most %d", len(data), mostMessage)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var t *Task
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("not a task: %w", err)
	}
	if t == nil || t.Key == "" || t.Kind == "" {
		return nil, errors.New("not a task: key and kind must be given")
	}
	if err := checkKey(t.Key); err != nil {
		return nil, err
	}
	if len(t.Files) > mostFiles {
		return nil, fmt.Errorf("found %d files; a task has at most %d", len(t.Files), mostFiles)
	}
	for path, file := range t.Files {
		if err := file.check(); err != nil {
			return nil, fmt.Errorf("file %.100q: %w", path, err)
		}
	}
	return t, nil
}

// keys is how a key is written by which the server can store a result.
var keys = regexp.MustCompile(`^[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*$`)

// checkKey refuses other keys.
func checkKey(key string) error {
	if !keys.MatchString(key) {
		return fmt.Errorf("found the key %.100q; want letters, digits, minus signs, underscores "+
			"and single points between them", key)
	}
	return nil
}

// check refuses what names no file.
func (f SentFile) check() error {
	if sum, err := hex.DecodeString(f.Sum); err != nil || hex.EncodeToString(sum) != f.Sum ||
		len(f.Sum) != 64 {
		return fmt.Errorf("found the hash %.100q; want 64 hexadecimal digits", f.Sum)
	}
	if f.Size < 0 || f.Size > mostFileSize {
		return fmt.Errorf("found a size of %d bytes; files that travel have at most %d", f.Size,
			int64(mostFileSize))
	}
	return nil
}

// Handler does tasks of a kind: it returns a result that can be written as JSON. An error of the
// input ends the work that the task belongs to; after another error the task is tried again.
type Handler func(ctx context.Context, f *scenarios.File, params string) (any, error)

// Handlers are the kinds of tasks that a worker can do.
type Handlers map[string]Handler

// tries is how often a task is given out before it is parked.
const tries = 3

// Checked is a result that can check itself. A worker's result that fails the check is computed
// again.
type Checked interface {
	// Check returns an error if the result is impossible, such as a share above 1, or counts that
	// do not add up.
	Check() error
}

// outcome is the stored outcome of a task.
type outcome struct {
	Value json.RawMessage `json:"value,omitempty"`
	// Error says why there is no value. Input reports whether what the user gave is wrong.
	Error string `json:"error,omitempty"`
	Input bool   `json:"input,omitempty"`
}

// outcomeOf is the outcome of a task that is not tried again.
func outcomeOf(value json.RawMessage, err error) outcome {
	if err != nil {
		return outcome{Error: err.Error(), Input: scenarios.IsInputError(err)}
	}
	return outcome{Value: value}
}

// again reports whether a task that ended with an error may end otherwise.
func again(err error) bool { return err != nil && !scenarios.IsInputError(err) }

// into decodes the value of an outcome, checks it, and only then sets what result points to.
func (o *outcome) into(result any) error {
	to := reflect.ValueOf(result).Elem()
	fresh := reflect.New(to.Type())
	if err := json.Unmarshal(o.Value, fresh.Interface()); err != nil {
		return err
	}
	if c, ok := fresh.Interface().(Checked); ok {
		if err := c.Check(); err != nil {
			return err
		}
	}
	to.Set(fresh.Elem())
	return nil
}

// Parked is the error of a task that failed each time that it was tried.
type Parked struct{ Why string }

// Error says what went wrong.
func (p *Parked) Error() string { return fmt.Sprintf("failed in %d tries: %s", tries, p.Why) }

// slot does one task at a time.
type slot struct {
	handlers Handlers
	clocks   *scenarios.Clocks
	log      func(string)
	// fetch returns the files of a task; nil where they belong to this process.
	fetch func(ctx context.Context, t *Task) (*taskFiles, error)
}

// do runs the handler of a task. A panic is an error of the task.
func (h *slot) do(ctx context.Context, t *Task) (value json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.log(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	handler := h.handlers[t.Kind]
	if handler == nil {
		return nil, fmt.Errorf("no worker knows tasks of the kind %q", t.Kind)
	}
	f, err := scenarios.Parse(t.Name, []byte(t.Text), t.Set...)
	if err != nil {
		return nil, err
	}
	f.Clocks = h.clocks
	if h.fetch != nil {
		if f.FS, err = h.fetch(ctx, t); err != nil {
			return nil, err
		}
	}
	result, err := handler(ctx, f, t.Params)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// tried does a task, again where it fails, and returns what came of it.
func (h *slot) tried(ctx context.Context, t *Task) outcome {
	for try := 1; ; try++ {
		value, err := h.do(ctx, t)
		if !again(err) || try == tries || ctx.Err() != nil {
			return outcomeOf(value, err)
		}
		h.log(fmt.Sprintf("a task is not done: %v", err))
	}
}
