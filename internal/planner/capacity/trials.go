package capacity

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/journal"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/shard"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// trials runs simulations and remembers their results. Its methods may be called by several
// goroutines.
type trials struct {
	file *asked.File
	// clocks serve the scenarios that are built here, one after another. Running simulations have
	// others.
	clocks  *scenarios.Clocks
	queue   *queue.Queue
	journal *journal.Journal
	ran     func()
	// shard is the part of the work to do. recorded takes results from the journal only.
	shard    shard.Shard
	recorded bool
	// rough limits simulations to four times the length of the first, for parts of the page other
	// than the answer.
	rough bool
	// seed is added to the plan's in simulations of one replica.
	seed uint64
	// workers is the number of simulations that this process runs at the same time, if it was
	// chosen.
	workers int
	// ahead marks trials that may not be needed.
	ahead bool
	*ledger
}

// ledger holds the simulations that were asked for, by key.
type ledger struct {
	mu    sync.Mutex
	known map[string]*entry
	// asked holds them by what was asked, which is known sooner than the key.
	asked map[[sha256.Size]byte]*entry
}

// entry is a simulation that was asked for.
type entry struct {
	key string
	// needed reports whether the answer rests on the simulation. Other simulations were begun
	// because they might be needed, and leave no trace in the answer.
	needed bool
	// kept reports whether the journal has it.
	kept  bool
	ready chan struct{} // closed when there is a trial or an error
	trial trial
	err   error
}

// count is the number of simulations that were needed, each counted once.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, e := range l.known {
		if e.needed {
			n++
		}
	}
	return n
}

// failed counts the simulations that failed.
func (l *ledger) failed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, e := range l.known {
		if e.needed && e.err != nil {
			n++
		}
	}
	return n
}

// askedBefore returns the entry of what was asked before; nil where it was not. Needed is whether
// the answer rests on it.
func (l *ledger) askedBefore(asked [sha256.Size]byte, needed bool) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.asked[asked]
	if e != nil {
		e.needed = e.needed || needed
	}
	return e
}

// entry returns the entry of a key, and whether it is new.
func (l *ledger) entry(key string, asked [sha256.Size]byte, needed bool) (*entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.known[key]
	if !known {
		e = &entry{key: key, ready: make(chan struct{})}
		l.known[key] = e
	}
	if l.asked == nil {
		l.asked = map[[sha256.Size]byte]*entry{}
	}
	l.asked[asked] = e
	e.needed = e.needed || needed
	return e, !known
}

// trial simulates a scenario at a rate, unless that is known.
func (t *trials) trial(ctx context.Context, s scenarios.Scenario, rate float64,
	requests int64) (trial, error) {
	if err := ctx.Err(); err != nil {
		return trial{}, err
	}
	s = relevantToTrial(s)
	s.Workload = t.file.Plan.Put(s.Workload, rate, requests)
	text, err := asked.Encoded(s)
	if err != nil {
		return trial{}, err
	}
	asked := sha256.Sum256([]byte(t.file.Plan.Params() + "\n" + string(text)))
	if e := t.askedBefore(asked, !t.ahead); e != nil {
		return t.wait(ctx, e)
	}
	task, err := t.task(text)
	if err != nil {
		return trial{}, err
	}
	e, first := t.entry(task.Key, asked, !t.ahead)
	if first {
		if e.kept = t.journal != nil && t.journal.Get(task.Key, &e.trial); !e.kept {
			e.trial, e.err = t.run(ctx, task)
		}
		close(e.ready)
	}
	return t.wait(ctx, e)
}

// wait returns a simulation when it is done.
func (t *trials) wait(ctx context.Context, e *entry) (trial, error) {
	select {
	case <-e.ready:
		return e.trial, errors.Join(e.err, t.keep(e))
	case <-ctx.Done():
		return trial{}, ctx.Err()
	}
}

// keep writes a result that is needed to the journal, once.
func (t *trials) keep(e *entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal == nil || t.ahead || e.err != nil || e.kept {
		return nil
	}
	e.kept = true
	return t.journal.Put(e.key, e.trial)
}

// task describes the simulation of a scenario.
func (t *trials) task(text []byte) (*queue.Task, error) {
	f, err := scenarios.Parse(t.file.Name, text)
	if err != nil {
		return nil, err
	}
	task := &queue.Task{Kind: Kind, Name: t.file.Name, Text: string(text),
		Params: t.file.Plan.Params()}
	task.Key, err = t.queue.Key(f, task.Kind, task.Params)
	return task, err
}

// relevantToTrial leaves out the parts of a scenario on which the trial does not depend, so that
// equal replicas are simulated once. These are all prices, and the routing if there is one replica.
func relevantToTrial(s scenarios.Scenario) scenarios.Scenario {
	s.Hardware.Price, s.Tokens = scenarios.Price{}, nil
	s.Memory = candidate.Unpriced(s.Memory)
	if s.Replicas <= 1 && len(s.Fleet.Pools) == 0 {
		s.Routing = scenarios.Policy{}
	}
	s.Fleet.Pools = slices.Clone(s.Fleet.Pools)
	for i := range s.Fleet.Pools {
		p := &s.Fleet.Pools[i]
		p.Hardware.Price, p.Memory = scenarios.Price{}, candidate.Unpriced(p.Memory)
	}
	return s
}

// run has a simulation run.
func (t *trials) run(ctx context.Context, task *queue.Task) (result trial, err error) {
	if t.ran != nil {
		defer t.ran()
	}
	if t.recorded {
		return trial{}, shard.Missing{}
	}
	err = t.queue.Do(ctx, task, &result)
	return result, err
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

// steps returns the steps of a server that fits, made anew.
func (t *trials) steps(s *candidate.Server) (*scenarios.Steps, error) {
	file, err := t.file.File(s.Asked(), t.file.Plan.Peak(), 1)
	if err != nil {
		return nil, err
	}
	file.Clocks = t.clocks
	return file.Steps(policies.Default())
}
