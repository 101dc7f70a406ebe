package queue

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime/debug"

	"github.com/llmsim/llmsim/scenarios"
)

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
