package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/llmsim/llmsim/scenarios"
)

// Task is a simulation to be done. It has all that a worker needs but the files that the scenario names, which travel apart, by the
// hash of their contents.
type Task struct {
	// Key names the result by all that it depends on: see Queue.Key.
	Key string `json:"key"`
	// Kind selects the handler.
	Kind string `json:"kind"`
	// Name, Text and Set are the scenario's file name, its text and what is overridden, as in scenarios.Parse.
	Name string   `json:"name"`
	Text string   `json:"text"`
	Set  []string `json:"set,omitempty"`
	// Params is what the handler needs to know besides, in letters, digits, points and minus signs.
	Params string `json:"params,omitempty"`
	// Files are those that the scenario names, by the paths at which it finds them.
	Files map[string]SentFile `json:"files,omitempty"`
}

// SentFile is a file that a worker needs.
type SentFile struct {
	// Path is where the file was when the task was made, Sum the SHA-256 of its contents.
	Path string `json:"path"`
	Sum  string `json:"sum"`
}

// Handler does tasks of a kind: it returns a result that can be written as JSON. An error of the input ends the work of which the
// task is a part; after another error the task is tried again.
type Handler func(ctx context.Context, f *scenarios.File, params string) (any, error)

// Handlers are the kinds of tasks that a worker can do.
type Handlers map[string]Handler

// tries is how often a task is given out before it is parked.
const tries = 3

// outcome is what is stored of a task.
type outcome struct {
	Value json.RawMessage `json:"value,omitempty"`
	// Error says why there is no value. Input tells that what the user gave is wrong.
	Error string `json:"error,omitempty"`
	Input bool   `json:"input,omitempty"`
}

func readOutcome(data []byte) (o outcome, err error) {
	err = json.Unmarshal(data, &o)
	return o, err
}

// Parked is the error of a task that failed each time that it was tried.
type Parked struct{ Why string }

// Error says what went wrong.
func (p *Parked) Error() string { return fmt.Sprintf("failed in %d tries: %s", tries, p.Why) }
