package capacity

import (
	"context"
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/report"
)

// mostSteps bounds how many numbers of replicas are tried beyond the least that may do.
const mostSteps = 8

// fixedInstead returns the least fixed number of the replicas of an option that keeps the SLO,
// spares left out; 0 where none of mostSteps does.
func (s *search) fixedInstead(ctx context.Context, o *option) (int, error) {
	n, err := s.leastFixed(ctx, o)
	if err != nil || n == 0 {
		return 0, err
	}
	fixed := o.unscaled()
	for range mostSteps {
		ok, _, err := s.keeps(ctx, fixed, n, o.worst(), s.seeds)
		if err != nil || ok {
			return n, err
		}
		if n++; !o.available(n + s.spare) {
			break
		}
	}
	return 0, nil
}

// ScaledFleet says how many replicas of a fleet run that start and stop with the load, spares
// included.
type ScaledFleet struct {
	// Policy is the way of scaling in words.
	Policy string `json:"policy"`
	// Fewest run always; Mean is how many replicas, or groups, run on average, parts of a group
	// weighted by their price, and Accelerators how many accelerators do.
	Fewest       int     `json:"fewest_replicas"`
	Mean         float64 `json:"mean_replicas"`
	Accelerators float64 `json:"mean_accelerators"`
	// Fixed is the least fixed number of the same replicas or groups that keeps the SLO, spares
	// included, and FixedHourly what they cost; 0 where none was found.
	Fixed       int     `json:"fixed_replicas"`
	FixedHourly float64 `json:"fixed_dollars_per_hour"`
}

// scaledFleet describes the chosen fleet, given what its simulation shows; nil where all replicas
// run always.
func (s *search) scaledFleet(full *trial) *ScaledFleet {
	o := s.chosen()
	if !o.scaled() {
		return nil
	}
	f := &ScaledFleet{Policy: s.trials.file.Plan.Menu.ScalingWords(o.way.index),
		Fewest: o.way.always + s.spare, Mean: s.fates[s.best].running}
	for k, server := range o.servers() {
		f.Accelerators += float64(full.Running[k] * float64(server.gpus))
	}
	f.Accelerators *= f.Mean / o.paid(full.Running) // of all seeds
	return f
}

// running says how many accelerators run.
func (d *Deployment) running() string {
	words := several(d.Accelerators, "accelerator")
	if f := d.Scaled; f != nil {
		return fmt.Sprintf("On average %s replicas run, on %s of at most %s",
			report.Figure(f.Mean), report.Figure(f.Accelerators), words)
	}
	return words
}

// printFixed says what a fixed number of the replicas of a scaled fleet would cost.
func (d *Deployment) printFixed(p *report.Printer) {
	if f := d.Scaled; f != nil && f.Fixed > 0 {
		p.Text(fmt.Sprintf("A fixed number of them that keeps the SLO is %d, for $%.2f an hour.",
			f.Fixed, f.FixedHourly))
	}
}

// accelerators is how many accelerators of a fleet run on average.
func (d *Deployment) accelerators() float64 {
	if d.Scaled != nil {
		return d.Scaled.Accelerators
	}
	return float64(d.Accelerators)
}

// charge returns how many replicas or groups of an option run on average, spares included, with
// steps as predicted: the mean of as many seeds as a figure that is shown. Of a fixed number it is
// that number.
func (s *search) charge(ctx context.Context, o *option, n int) (float64, error) {
	if !o.scaled() {
		return float64(n + s.spare), nil
	}
	seeds := s.trials.file.Plan.Seeds(fewSeeds)
	sum, _, err := s.ran(ctx, o, n, seeds)
	return sum / float64(seeds), err
}

// ran returns how many replicas or groups of a scaled option run on average, spares included, with
// steps as predicted: the sum of some seeds; and whether some of them never run.
func (s *search) ran(ctx context.Context, o *option, n, seeds int) (sum float64, unused bool,
	err error) {
	paid, idle := make([]float64, seeds), make([]bool, seeds)
	err = each(ctx, places(seeds), func(ctx context.Context, k int) error {
		t, _, err := s.whole(ctx, o.spared(s.spare), n+s.spare, asPredicted(), uint64(k))
		if err == nil {
			paid[k], idle[k] = o.paid(t.Running), o.spared(s.spare).neverRan(&t, n+s.spare)
		}
		return err
	})
	for _, v := range paid {
		sum += v
	}
	return sum, !slices.Contains(idle, false), err
}

// neverRan reports whether some replicas of each pool never ran in a simulation of a scaled fleet
// of up to n. Then fleets of up to more replicas show the same. A policy learns how many replicas
// run, not how many there are, and the first that is off is started: as long as the last one is
// off, no decision depends on how many come after it (TestReplicasThatNeverRun).
func (o *option) neverRan(t *trial, n int) bool {
	if o.decode == nil {
		return t.Unused > 0
	}
	// Of either pool all but the least number may be unused.
	rest := n - o.way.always - o.way.standing
	return t.Unused > rest*int(max(o.prefills, o.decodes))
}
