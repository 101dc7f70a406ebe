package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/llmsim/llmsim/scenarios"
)

// slot does one task at a time.
type slot struct {
	handlers Handlers
	clocks   *scenarios.Clocks
	log      func(string)
	// fetch returns the files of a task; nil where they are those of this process.
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
		switch {
		case err == nil:
			return outcome{Value: value}
		case scenarios.IsInputError(err):
			return outcome{Error: err.Error(), Input: true}
		case try == tries || ctx.Err() != nil:
			return outcome{Error: err.Error()}
		}
		h.log(fmt.Sprintf("a task is not done: %v", err))
	}
}
