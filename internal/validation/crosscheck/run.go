package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	policy "github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// side is a scenario with all that it takes to execute it, as often as wanted.
type side struct {
	file   *scenarios.File // with what was measured of its drafts
	host   *calibration.Machine
	engine *engine.Engine
	drafts *drafts // nil where nothing is drafted
	result *Comparison
}

// open predicts the scenario, and readies an engine for it.
func open(ctx context.Context, name string, f *scenarios.File, hosts *calibration.Machines) (*side,
	error) {
	s, expected, err := predict(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	threads := s.Accelerator.SMs
	if most := runtime.GOMAXPROCS(0); threads < 1 || threads > most {
		return nil, scenarios.BadInput(
			fmt.Errorf("%s: %s was measured with %d threads, and %d can compute here", name,
				s.Accelerator.Name, threads, most))
	}
	side := &side{file: f, result: &Comparison{Name: name, Title: s.Scenario.Name}}
	if side.host, err = hosts.With(threads); err != nil {
		return nil, err
	}
	if err = side.ready(ctx, s, expected); err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, side.close()))
	}
	return side, nil
}

// ready makes the engines for what the scenario serves.
func (d *side) ready(ctx context.Context, s *scenarios.Simulation, expected *Run) (err error) {
	if err := checkDrafts(s.Scenario.Speculation); err != nil {
		return err
	}
	blocks := blocksFor(s, expected)
	if d.engine, err = newEngine(ctx, d.host, s.Model,
		hardware.DType(s.Scenario.Engine.Weights), blocks); err != nil {
		return err
	}
	if s.Scenario.Speculation == nil {
		return nil
	}
	if d.drafts, err = newDrafts(ctx, s, d.host, d.engine, blocks); err != nil {
		return err
	}
	measured, err := d.drafts.measure(ctx)
	if err != nil {
		return err
	}
	d.file, d.result.Acceptance = measured.into(d.file), &measured.AcceptanceTable
	return nil
}

func (d *side) close() error {
	var err error
	if d.drafts != nil {
		err = d.drafts.close()
	}
	if d.engine != nil {
		err = errors.Join(err, d.engine.Close())
	}
	return err
}

// run executes the scenario once more, and predicts it for the machine as it was meanwhile.
func (d *side) run(ctx context.Context) error {
	c := d.result
	run, predicted, err := d.execute(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	c.Executed, c.Predicted = append(c.Executed, run), append(c.Predicted, predicted)
	c.Noise = append(c.Noise, run.Noise)
	return nil
}

// compare sums up the runs.
func (d *side) compare() *Comparison {
	c := d.result
	c.Runs = len(c.Executed)
	c.judge(d.host.Threads())
	c.measure()
	c.compareSteps()
	return c
}

// newEngine returns an engine for a model.
func newEngine(ctx context.Context, host *calibration.Machine, a *models.Architecture,
	weights hardware.DType, blocks int) (*engine.Engine, error) {
	config, err := calibration.GPT2(a)
	if err != nil {
		return nil, scenarios.BadInput(err)
	}
	format, err := calibration.Format(weights)
	if err != nil {
		return nil, scenarios.BadInput(fmt.Errorf("engine.weights: %w", err))
	}
	model, err := host.Model(ctx, config, format)
	if err != nil {
		return nil, err
	}
	return host.Engine(model, blocks)
}

// blocksFor returns the KV memory that the predicted run needed, in blocks of the engine, and some
// to spare: the engine's blocks are larger than most schedulers', and its schedule differs a
// little.
func blocksFor(s *scenarios.Simulation, predicted *Run) int {
	const spare = 64
	peak := predicted.Result.PeakKVUsage * float64(s.Memory.Tokens)
	return int(math.Ceil(1.25*peak/gpt2.BlockTokens)) + 2*predicted.Result.PeakBatch + spare
}

// Run is one run of a scenario.
type Run struct {
	// Result is what the scenario command would print.
	Result *scenarios.Result
	// Requests are in the order in which they finished, Steps in the order in which they ran;
	// predicted runs leap, and have no steps.
	Requests []Request
	Steps    []Step
	// Spans are the steps of executed and predicted runs as they followed each other.
	Spans []Span
	// Noise is what happened to the machine meanwhile.
	Noise calibration.Noise
}

// Request is what a user saw, in seconds.
type Request struct {
	Arrival float64 `json:"arrival"`
	TTFT    float64 `json:"ttft"`
	TPOT    float64 `json:"tpot"`
	E2E     float64 `json:"e2e"`
}

// Span is when a step ran, in seconds.
type Span struct{ Start, End float64 }

// watcher is a sim.Observer that notes requests and steps, and frees what they held in the engine.
type watcher struct {
	sim.NopObserver
	clock    *engine.Clock // nil where nothing is executed
	requests []Request
	spans    []Span
}

// Finished implements sim.Observer.
func (w *watcher) Finished(s *sim.Sequence) {
	w.requests = append(w.requests, Request{
		Arrival: s.Arrival.Seconds(), TTFT: s.TTFT().Seconds(), TPOT: s.TPOT().Seconds(),
		E2E: s.E2E().Seconds(),
	})
	if w.clock != nil {
		w.clock.Release(s.ID)
	}
}

// Steps implements sim.Observer.
func (w *watcher) Steps(l *sim.Leap) {
	start := l.Start
	for i := range l.Steps - 1 {
		end := start + l.Length(i)
		w.spans = append(w.spans, Span{start.Seconds(), end.Seconds()})
		start = end
	}
	w.spans = append(w.spans, Span{start.Seconds(), l.End.Seconds()})
}

// predict runs the scenario with predicted steps.
func predict(ctx context.Context, f *scenarios.File) (*scenarios.Simulation, *Run, error) {
	s, err := f.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	if n := s.Accelerators(); n != 1 {
		return nil, nil, scenarios.BadInput(
			fmt.Errorf("the scenario uses %d accelerators; one host executes one replica", n))
	}
	if c := f.Scenario.Caches; c != nil && c.Start != "cold" {
		return nil, nil, scenarios.BadInput(fmt.Errorf("caches: found %s, and GPT-2 begins with "+
			"empty ones; leave caches out", c.Start))
	}
	w := &watcher{}
	result, err := s.Run(ctx, w)
	return s, &Run{Result: result, Requests: w.requests, Spans: w.spans}, err
}

// paired returns the scenario on a machine with the rates that were measured while it was executed.
// What was calibrated are the efficiencies: the shares of these rates that each part of a step
// reaches.
func paired(f *scenarios.File, now calibration.Rates) *scenarios.File {
	then := *f
	then.Tune = func(a *hardware.Accelerator) {
		faster := now.FLOPRate / a.Peak[hardware.FP32]
		a.Bandwidth, a.Peak = now.Bandwidth, maps.Clone(a.Peak)
		for d := range a.Peak {
			a.Peak[d] *= faster
		}
	}
	return &then
}

// execute runs the scenario with every step executed, and predicts each of these steps for the
// machine as it was meanwhile.
func (d *side) execute(ctx context.Context) (executed, predicted *Run, err error) {
	s, err := d.file.Build(policies.Default())
	if err != nil {
		return nil, nil, err
	}
	clock := d.host.Clock(d.engine)
	defer clock.Reset()
	watch := d.host.Watch()
	log := &stepLog{clock: clock, every: watch.Sample}
	s.ReplaceClocks(func(sim.StepClock) sim.StepClock { return log })
	if d.drafts != nil {
		if err := d.draft(s, clock, log); err != nil {
			return nil, nil, err
		}
	}
	w := &watcher{clock: clock}
	result, err := s.Run(ctx, w)
	if err = errors.Join(err, clock.Err()); err != nil {
		return nil, nil, err
	}
	noise := watch.Stop()
	then, predicted, err := predict(ctx, paired(d.file, noise.Rates))
	if err != nil {
		return nil, nil, err
	}
	log.predict(then)
	return &Run{Result: result, Requests: w.requests, Steps: log.steps, Spans: w.spans,
		Noise: noise}, predicted, nil
}

// draft lets the engine make the drafts of a simulation; what is accepted differs from run to run.
func (d *side) draft(s *scenarios.Simulation, clock *engine.Clock, log *stepLog) error {
	decoder, err := d.drafts.decoder(uint64(len(d.result.Executed)))
	if err != nil {
		return err
	}
	serving := generate.NewServing(decoder)
	clock.Drafting = serving
	s.ReplaceSpeculators(func(predicted *policy.Speculator) sim.Speculator {
		return &executedDrafts{predicted, clock, serving, log}
	})
	return nil
}

// realTime makes simulated time wall time: users are goroutines that send their requests when it is
// time, and a step lasts until it has ended. So it has what the virtual clock leaves out: the work
// of schedulers and memory between steps, threads that wake up late, and what other programs take
// of the processors.
type realTime struct {
	sim.NopObserver
	sim.Source
	clock   *engine.Clock
	begin   time.Time
	arrived chan struct{}
	// next is when the next step begins: when the one before ends, or a request arrives after that.
	// Began is when the latest step did.
	next, began sim.Time
	err         error
}

// now returns the wall time since the beginning.
func (r *realTime) now() sim.Time { return sim.Time(time.Since(r.begin)) * sim.Nanosecond }

// Next implements sim.Source: it waits for the user.
func (r *realTime) Next(request *sim.Request) {
	at := r.NextArrival()
	go func() {
		time.Sleep(time.Duration((at - r.now()) / sim.Nanosecond))
		r.arrived <- struct{}{}
	}()
	<-r.arrived
	r.next = max(r.next, at)
	r.Source.Next(request)
}

// Duration implements sim.StepClock.
func (r *realTime) Duration(s *sim.Step) sim.Time {
	r.clock.Duration(s)
	r.began = r.next
	r.next = max(r.now(), r.began+sim.Tick)
	return r.next - r.began
}

// Steps implements sim.Observer.
func (r *realTime) Steps(l *sim.Leap) {
	if l.Start != r.began && r.err == nil {
		r.err = scenarios.BadInput(
			fmt.Errorf("a step began at %v, when no step ended and no request arrived: a "+
				"scheduler that waits cannot run in real time", l.Start))
	}
}

// runInRealTime executes the scenario once with wall-clock arrivals.
func (d *side) runInRealTime(ctx context.Context) error {
	s, err := d.file.Build(policies.Default())
	if err != nil {
		return err
	}
	if d.drafts != nil {
		return scenarios.BadInput(errors.New("scenarios with drafts do not run in real time"))
	}
	clock := d.host.Clock(d.engine)
	defer clock.Reset()
	live := &realTime{clock: clock, arrived: make(chan struct{}), begin: time.Now()}
	s.ReplaceClocks(func(sim.StepClock) sim.StepClock { return live })
	s.ReplaceSource(func(source sim.Source) sim.Source {
		live.Source = source
		return live
	})
	w := &watcher{clock: clock}
	result, err := s.Run(ctx, live, w)
	if err = errors.Join(err, clock.Err(), live.err); err != nil {
		return fmt.Errorf("%s: %w", d.result.Name, err)
	}
	d.result.RealTime = &Run{Result: result, Requests: w.requests, Spans: w.spans}
	return nil
}
