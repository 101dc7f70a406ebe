package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/validation/calibration"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/scenarios"
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
