package capacity

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/llmsim/llmsim/internal/planner/journal"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/shard"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// trials has simulations run, and remembers them. Its methods may be called by several goroutines.
type trials struct {
	file *File
	// clocks serve scenarios that are built here, one after another; those that run have others.
	clocks  *scenarios.Clocks
	queue   *queue.Queue
	journal *journal.Journal
	ran     func()
	// shard is the part of the work that is done, recorded takes simulations from the journal only.
	shard    shard.Shard
	recorded bool
	// rough decides after four times the first simulation at most, for what is told beside the answer.
	rough bool
	*ledger
}

// ledger is what is known of simulations, by key.
type ledger struct {
	mu    sync.Mutex
	known map[string]*entry
}

// entry is a simulation that was asked for.
type entry struct {
	ready chan struct{} // closed when there is a trial or an error
	trial trial
	err   error
}

// count is the number of simulations that were needed, each counted once.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known)
}

// failed counts those that failed.
func (l *ledger) failed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, e := range l.known {
		if e.err != nil {
			n++
		}
	}
	return n
}

// entry returns the entry of a key, and whether it is new.
func (l *ledger) entry(key string) (*entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.known[key]
	if !known {
		e = &entry{ready: make(chan struct{})}
		l.known[key] = e
	}
	return e, !known
}

// trial simulates a scenario at a rate, unless that is known.
func (t *trials) trial(ctx context.Context, s scenarios.Scenario, rate float64, requests int64) (trial, error) {
	if err := ctx.Err(); err != nil {
		return trial{}, err
	}
	task, err := t.task(s, rate, requests)
	if err != nil {
		return trial{}, err
	}
	e, first := t.entry(task.Key)
	if first {
		e.trial, e.err = t.run(ctx, task)
		close(e.ready)
	}
	select {
	case <-e.ready:
		return e.trial, e.err
	case <-ctx.Done():
		return trial{}, ctx.Err()
	}
}

// task describes the simulation of a scenario at a rate.
func (t *trials) task(s scenarios.Scenario, rate float64, requests int64) (*queue.Task, error) {
	text, err := t.file.text(s, rate, requests)
	if err != nil {
		return nil, err
	}
	f, err := scenarios.Parse(t.file.name, text)
	if err != nil {
		return nil, err
	}
	task := &queue.Task{Kind: Kind, Name: t.file.name, Text: string(text), Params: strconv.FormatFloat(t.file.Plan.Effort.Confidence, 'f', -1, 64)}
	task.Key, err = t.queue.Key(f, task.Kind, task.Params)
	return task, err
}

// run has a simulation run, unless the journal has it, and keeps it there.
func (t *trials) run(ctx context.Context, task *queue.Task) (result trial, err error) {
	if t.ran != nil {
		defer t.ran()
	}
	if t.journal != nil && t.journal.Get(task.Key, &result) {
		return result, nil
	}
	if t.recorded {
		return trial{}, shard.Missing{}
	}
	if err := t.queue.Do(ctx, task, &result); err != nil {
		return trial{}, err
	}
	if t.journal != nil {
		err = t.journal.Put(task.Key, result)
	}
	return result, err
}

// text returns the scenario file of one replica at a rate, for so many requests.
func (f *File) text(s scenarios.Scenario, rate float64, requests int64) ([]byte, error) {
	s.Workload.Rate = scenarios.Rate{Value: scenarios.PerSecond(rate)}
	s.Workload.Requests = requests
	if t := s.Workload.Trace; t != nil { // a trace may be shorter than a simulation
		again := *t
		again.Repeat = true
		s.Workload.Trace = &again
	}
	return strict.Encode(s, func(string) bool { return true })
}

// failure returns the words for an error that is the failure of a simulation, and whether it is
// one.
func failure(err error) (string, bool) {
	var parked *queue.Parked
	if errors.As(err, &parked) {
		return parked.Error(), true
	}
	return "", false
}
