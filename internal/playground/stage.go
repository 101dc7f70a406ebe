package playground

import (
	"maps"
	"slices"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Stage runs a scenario one step at a time. Its replica's clock reports what each step carries,
// its source who arrived, and the simulation when the step ended.
type Stage struct {
	simulation *sim.Simulation
	source     *arrivals
	clock      *steptime.Clock // splits the time of a step
	predicted  sim.StepClock   // says how long it is
	memory     sim.Memory
	slots      int64 // the memory's capacity in tokens

	flops, bandwidth float64 // the peaks of one accelerator, per second

	running  map[*sim.Sequence]bool // in a batch, or on the way back to one
	carrying []*step                // steps that have begun, first begun first
	frames   []Frame                // steps that have ended and were not handed out
	fresh    ending                 // what ended since the last frame
	steps    int64                  // steps that have ended
	answered int64                  // requests that were answered
	silent   bool                   // no frames are made
}

// step describes a step to the clock when it begins.
type step struct {
	work     map[int64]work
	sum      steptime.Operator // all operators of the step, as one
	flop     FLOP
	decoding int
	// retries counts the restarts of its sequences when it began. A failure adds one to sequences
	// that begin anew, or ends them as lost: then the step has failed, and does not end.
	retries map[*sim.Sequence]int
	failed  bool
}

// work is what a step does for a request: prompt tokens, or a token of its answer.
type work struct{ prompt, cached int }

// ending lists the requests that ended since the last frame.
type ending struct {
	finished []Running // as the step that gave their last token left them
	rejected []int64
}

// NewStage readies the scenario with settings of the form key.path=value. Its requests come by the
// settings of the phases first.
func NewStage(settings []string, past []Phase) (*Stage, error) {
	s, source, err := build(settings, past)
	if err != nil {
		return nil, err
	}
	stage := &Stage{clock: s.Steps().Clock, source: source, running: map[*sim.Sequence]bool{}}
	flops, bandwidth := stage.clock.Peaks()
	n := float64(s.Steps().Scenario.Parallelism.Accelerators())
	stage.flops, stage.bandwidth = flops/n, bandwidth/n
	s.ReplaceClocks(func(predicted sim.StepClock) sim.StepClock {
		stage.predicted = predicted
		return stage
	})
	config := s.Config()
	stage.memory = config.Replicas[0].Memory
	stage.slots = stage.memory.Capacity()
	if m, ok := stage.memory.(sim.SlotMemory); ok {
		stage.slots, _ = m.Slots()
	}
	config.Observer, config.MaxLeap, config.SampleEvery = (*stageObserver)(stage), 1, 0
	stage.simulation, err = sim.New(config)
	return stage, err
}

// build readies the scenario, whose requests come from the source that it returns.
func build(settings []string, past []Phase) (*scenarios.Simulation, *arrivals, error) {
	file, err := Load(settings)
	if err != nil {
		return nil, nil, err
	}
	s, err := file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	var source *arrivals
	s.ReplaceSource(func(workload sim.Source) sim.Source {
		source, err = newArrivals(workload, file, past)
		if err != nil {
			return workload
		}
		return source
	})
	return s, source, err
}

// Skip advances to the given time, in milliseconds. Steps that end before it have no frames.
func (s *Stage) Skip(until float64) error {
	s.silent = true
	for {
		t := s.simulation.Next()
		if t == sim.Never || milliseconds(t) >= until {
			s.silent = false
			return s.simulation.Err()
		}
		if err := s.simulation.Advance(t); err != nil {
			return err
		}
	}
}

// Next returns the next steps, n at most; empty where the run is over.
func (s *Stage) Next(n int) ([]Frame, error) {
	for len(s.frames) < n {
		t := s.simulation.Next()
		if t == sim.Never {
			break
		}
		if err := s.simulation.Advance(t); err != nil {
			return nil, err
		}
	}
	n = min(n, len(s.frames))
	frames := s.frames[:n:n]
	s.frames = s.frames[n:]
	return frames, s.simulation.Err()
}

// Duration implements sim.StepClock: it notes what the step carries. A chunk without a sequence is
// of a step that is asked for and does not run, such as one by which a router predicts.
func (s *Stage) Duration(next *sim.Step) sim.Time {
	length := s.predicted.Duration(next)
	if len(next.Prefill) > 0 && next.Prefill[0].Sequence == nil {
		return length
	}
	ledger := s.clock.Whole(next)
	carried := &step{work: map[int64]work{}, sum: ledger.Sum(), flop: flopOf(ledger),
		decoding: next.Decodes, retries: map[*sim.Sequence]int{}}
	for q := range next.Sequences {
		carried.work[q.ID], carried.retries[q] = work{}, q.Retries
		s.running[q] = true
	}
	for i := range next.Prefill {
		c := &next.Prefill[i]
		carried.work[c.Sequence.ID] = work{c.New, c.Cached}
		carried.retries[c.Sequence] = c.Sequence.Retries
		s.running[c.Sequence] = true
	}
	s.carrying = slices.DeleteFunc(s.carrying, (*step).hasFailed)
	if len(s.carrying) == s.clock.Stages() { // all of the first had left when the replica failed
		s.carrying = s.carrying[1:]
	}
	s.carrying = append(s.carrying, carried)
	return length
}

// hasFailed reports whether the replica failed in the step.
func (c *step) hasFailed() bool {
	for q, retries := range c.retries {
		if _, same := c.work[q.ID]; same && q.Retries != retries {
			return true
		}
	}
	return c.failed
}

// stageObserver is the sim.Observer of a stage.
type stageObserver Stage

// Steps implements sim.Observer: the step that began first has ended.
func (s *stageObserver) Steps(l *sim.Leap) {
	carried := s.carrying[0]
	s.carrying = s.carrying[1:]
	s.steps++
	for id := range carried.work {
		s.source.forget(id)
	}
	if !s.silent {
		s.frames = append(s.frames, (*Stage)(s).frame(l, carried))
	}
	s.fresh = ending{}
}

// Finished implements sim.Observer.
func (s *stageObserver) Finished(q *sim.Sequence) {
	// A request finishes just before its last step is reported, which began first of the steps that
	// run.
	s.fresh.finished = append(s.fresh.finished, (*Stage)(s).show(q, s.carrying[0]))
	delete(s.running, q)
	s.answered++
}

// Rejected implements sim.Observer.
func (s *stageObserver) Rejected(r *sim.Request, why sim.Rejection) {
	for _, c := range s.carrying {
		if _, carried := c.work[r.ID]; carried && why == sim.Lost {
			c.failed = true
		}
	}
	s.fresh.rejected = append(s.fresh.rejected, r.ID)
	s.source.forget(r.ID)
	maps.DeleteFunc(s.running, func(q *sim.Sequence, _ bool) bool { return q.ID == r.ID })
}

// Sampled implements sim.Observer.
func (s *stageObserver) Sampled(sim.Time, int, sim.State) {}
