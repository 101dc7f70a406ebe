package judge

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Trials runs simulations and remembers their results. Its methods may be called by several
// goroutines.
type Trials struct {
	File *asked.File
	// Clocks serve the scenarios that are built here, one after another. Running simulations have
	// others.
	Clocks  *scenarios.Clocks
	Queue   *queue.Queue
	Journal *planner.Journal
	Ran     func()
	// Shard is the part of the work to do. recorded takes results from the journal only.
	Shard    planner.Shard
	Recorded bool
	// UntilHopeless ends the load of a run where it can no longer keep the SLO.
	UntilHopeless bool
	// Rough limits simulations to four times the length of the first, for parts of the page other
	// than the answer.
	Rough bool
	// Seed is added to the plan's in simulations of one replica.
	Seed uint64
	// Workers is the number of simulations that this process runs at the same time, if it was
	// chosen.
	Workers int
	// Ahead marks trials that may not be needed.
	Ahead bool
	*Ledger
	// Own holds the simulations that one search of several on a ledger needed; nil where there is
	// one search.
	Own *Needed
}

// Needed is a set of simulations. Its methods may be called by several goroutines.
type Needed struct {
	mu   sync.Mutex
	seen map[*Entry]bool
}

// Apart returns trials of another search on the same ledger, which counts only what it needs
// itself: its answer does not depend on what other searches need at the same time.
func (t *Trials) Apart() *Trials {
	other := *t
	other.Clocks, other.Own = scenarios.NewClocks(), &Needed{seen: map[*Entry]bool{}}
	return &other
}

// Count is the number of simulations that the search needed, each counted once.
func (t *Trials) Count() int {
	if t.Own == nil {
		return t.Ledger.Count()
	}
	t.Own.mu.Lock()
	defer t.Own.mu.Unlock()
	return len(t.Own.seen)
}

// Requests is the number of requests of the simulations that the search needed.
func (t *Trials) Requests() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.Known {
		if e.needed {
			n += e.requests
		}
	}
	return n
}

// need notes that the search needs a simulation.
func (t *Trials) need(e *Entry) {
	if t.Own != nil && !t.Ahead {
		t.Own.mu.Lock()
		defer t.Own.mu.Unlock()
		t.Own.seen[e] = true
	}
}

// Ledger holds the simulations that were asked for, by key.
type Ledger struct {
	mu    sync.Mutex
	Known map[string]*Entry
	// asked holds them by what was asked, which is known sooner than the key.
	asked map[string]*Entry
}

// Entry is a simulation that was asked for.
type Entry struct {
	key      string
	requests int64
	// needed reports whether the answer rests on the simulation. Other simulations were begun
	// because they might be needed, and leave no trace in the answer.
	needed bool
	// kept reports whether the journal has it.
	kept  bool
	ready chan struct{} // closed when there is a trial or an error
	trial Trial
	err   error
}

// Count is the number of simulations that were needed, each counted once.
func (l *Ledger) Count() int { return l.count(func(*Entry) bool { return true }) }

// Failed counts the simulations that were needed and failed.
func (l *Ledger) Failed() int { return l.count(func(e *Entry) bool { return e.err != nil }) }

func (l *Ledger) count(these func(*Entry) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.Known {
		if e.needed && these(e) {
			n++
		}
	}
	return n
}

// askedBefore returns the entry of what was asked before; nil where it was not. Needed is whether
// the answer rests on it.
func (l *Ledger) askedBefore(asked string, needed bool) *Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.asked[asked]
	if e != nil {
		e.needed = e.needed || needed
	}
	return e
}

// entry returns the entry of a key, and whether it is new.
func (l *Ledger) entry(key, asked string, requests int64, needed bool) (*Entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.Known[key]
	if !known {
		e = &Entry{key: key, requests: requests, ready: make(chan struct{})}
		l.Known[key] = e
	}
	if l.asked == nil {
		l.asked = map[string]*Entry{}
	}
	l.asked[asked] = e
	e.needed = e.needed || needed
	return e, !known
}

// Trial simulates a scenario at a rate, unless that is known.
func (t *Trials) Trial(ctx context.Context, s scenarios.Scenario, rate float64,
	requests int64) (Trial, error) {
	params := t.File.Plan.Params()
	if t.UntilHopeless && len(s.Workload.Classes) == 0 {
		params += asked.UntilHopeless
	}
	if err := ctx.Err(); err != nil {
		return Trial{}, err
	}
	s = relevantToTrial(s)
	s.Workload = t.File.Plan.Put(s.Workload, rate, requests)
	text, err := asked.Encoded(s)
	if err != nil {
		return Trial{}, err
	}
	asked := params + "\n" + string(text)
	if e := t.askedBefore(asked, !t.Ahead); e != nil {
		return t.wait(ctx, e)
	}
	task, err := t.task(text, params)
	if err != nil {
		return Trial{}, err
	}
	e, first := t.entry(task.Key, asked, requests, !t.Ahead)
	if first {
		if e.kept = t.Journal != nil && t.Journal.Get(task.Key, &e.trial); !e.kept {
			e.trial, e.err = t.run(ctx, task)
		}
		close(e.ready)
	}
	return t.wait(ctx, e)
}

// wait returns a simulation when it is done.
func (t *Trials) wait(ctx context.Context, e *Entry) (Trial, error) {
	t.need(e)
	select {
	case <-e.ready:
		return e.trial, errors.Join(e.err, t.record(e))
	case <-ctx.Done():
		return Trial{}, ctx.Err()
	}
}

// record writes a result that is needed to the journal, once.
func (t *Trials) record(e *Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Journal == nil || t.Ahead || e.err != nil || e.kept {
		return nil
	}
	e.kept = true
	return t.Journal.Put(e.key, e.trial)
}

// task describes the simulation of a scenario.
func (t *Trials) task(text []byte, params string) (*queue.Task, error) {
	f, err := scenarios.Parse(t.File.Name, text)
	if err != nil {
		return nil, err
	}
	task := &queue.Task{Kind: Kind, Name: t.File.Name, Text: string(text), Params: params}
	task.Key, err = t.Queue.Key(f, task.Kind, task.Params)
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
func (t *Trials) run(ctx context.Context, task *queue.Task) (result Trial, err error) {
	if t.Ran != nil {
		defer t.Ran()
	}
	if t.Recorded {
		return Trial{}, planner.MissingShards{}
	}
	err = t.Queue.Do(ctx, task, &result)
	return result, err
}

// Failure returns the words for an error that is the failure of a simulation, and whether it is
// one.
func Failure(err error) (string, bool) {
	var parked *queue.Parked
	if errors.As(err, &parked) {
		return parked.Error(), true
	}
	return "", false
}

// Steps returns the steps of a server that fits, made anew.
func (t *Trials) Steps(s *candidate.Server) (*scenarios.Steps, error) {
	file, err := t.File.File(s.Asked(), t.File.Plan.Peak(), 1)
	if err != nil {
		return nil, err
	}
	file.Clocks = t.Clocks
	return file.Steps(policies.Default())
}

// mostDoubled bounds how often the simulation of a whole fleet is doubled in length. Where answers
// take minutes, as in the plan decode-heavy, half of the runs seem to grow after two.
const mostDoubled = 4

// Fleet simulates a fleet, or the part that is simulated in its place, for as long as one of that
// many replicas is, and for least requests at least, where latencies are late by some factors.
// While the SLO is kept and yet
// latencies seem to grow, which a short run may show by chance, the simulation is doubled in
// length. Of a run that misses the SLO, the share of requests that keep it tells enough, so that
// one in which queues are long by chance counts like others.
func (t *Trials) Fleet(ctx context.Context, scenario scenarios.Scenario, replicas int,
	rate float64, late asked.Late, least int64) (run Trial, requests int64, err error) {
	scenario, rate = t.Part(scenario, rate)
	p := &t.File.Plan
	requests = max(p.Together(rate, replicas), least)
	for doubled := 0; ; doubled++ {
		run, err = t.Trial(ctx, scenario, rate, requests)
		run = run.Under(late)
		enough := run.fills(rate)
		filled := requests >= enough-enough/filling // else a little more is asked for each time
		if err != nil || !run.Growing && filled || run.Kept.Mean < run.Target ||
			doubled == mostDoubled {
			run.Growing = run.Growing && run.Kept.Mean >= run.Target
			return run, p.Put(scenario.Workload, rate, requests).Requests, err
		}
		if requests = max(requests, enough); run.Growing {
			requests *= 2
		}
	}
}

// A fleet of more than MostWhole alike replicas is judged by Standing of them, each at the same
// requests a second. If Poisson arrivals are dealt out at random, the requests of each replica are
// the same in both fleets (Kingman, "Poisson Processes", 1993, colouring theorem). In turn, or by
// the load of replicas, arrivals at each are no less even in the larger fleet. TestPartsOfFleets
// compares both. Numbers of replicas of such fleets are found to one in Finest, since a part cannot
// tell closer ones apart. Whole simulations gave up to PartError fewer of them.
const (
	MostWhole = 64
	Standing  = 48
	Finest    = 100
	PartError = 0.04
)

// RoutingsOfParts lists the routing policies for which parts were compared with whole fleets.
func RoutingsOfParts() []string {
	return []string{"", "round-robin", "random", "least-requests", "least-tokens", "choices"}
}

// Divides reports whether a part of a fleet may be simulated for all of it, under a routing policy.
func (t *Trials) Divides(routing string) bool {
	process := t.File.Plan.Workload.Arrivals.Process
	return t.File.Plan.Divisible() && slices.Contains(RoutingsOfParts(), routing) &&
		(process == "" || process == "poisson")
}

// Part returns the part of a fleet that is simulated for all of it, and its rate: the fleet itself
// unless it is large.
func (t *Trials) Part(s scenarios.Scenario, rate float64) (scenarios.Scenario, float64) {
	if s.Replicas <= MostWhole || len(s.Fleet.Pools) > 0 || !t.Divides(s.Routing.Policy) {
		return s, rate
	}
	rate *= Standing / float64(s.Replicas)
	s.Replicas = Standing
	return s, rate
}
