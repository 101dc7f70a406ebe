package capacity

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// way is how replicas of an option start and stop with the load.
type way struct {
	index  int // of Menu.scalings
	always int // the least number of replicas, or of groups, that run
	// standing is how many spares run beside these.
	standing int
	// mean bounds the replicas or groups that run on average from below.
	mean float64
}

// copied returns a way of its own; nil for nil.
func (w *way) copied() *way {
	if w == nil {
		return nil
	}
	other := *w
	return &other
}

// scaled reports whether replicas of the option start and stop with the load.
func (o *option) scaled() bool { return o.way != nil }

// always is the least number of replicas, or of groups, that run of an option that is scaled; 0 of
// others.
func (o *option) always() int {
	if o.way == nil {
		return 0
	}
	return o.way.always
}

// each adds an option to a list with a fixed number of replicas, and in each way of scaling if all
// its accelerators can be given back.
func (o *option) each(ways []scenarios.Scaling, list []*option) []*option {
	list = append(list, o)
	for k := 1; k < len(ways) && o.scalable(); k++ {
		other := *o
		other.way = &way{index: k, always: ways[k].Min}
		list = append(list, &other)
	}
	return list
}

// scalable reports whether all accelerators of an option can be given back.
func (o *option) scalable() bool {
	for _, s := range o.servers() {
		if !s.offer.scalable() {
			return false
		}
	}
	return true
}

// scalingOf returns how a pool is scaled that has some replicas in each group.
func (o *option) scalingOf(m *Menu, each int) scenarios.Scaling {
	scaling := m.scalings()[o.way.index]
	scaling.Min = (o.way.always + o.way.standing) * each
	return scaling
}

// spared returns the option with spares that run beside the least number of replicas.
func (o *option) spared(n int) *option {
	if o.way == nil {
		return o
	}
	other := *o
	other.way = o.way.copied()
	other.way.standing = n
	return &other
}

// checkWays builds a fleet in each way of scaling, so that a policy or parameter that is not known
// is refused before anything is simulated.
func (s *search) checkWays() error {
	f := s.trials.file
	done := map[int]bool{}
	for _, o := range s.options {
		if !o.scaled() || done[o.way.index] || o.unfit() != "" {
			continue
		}
		done[o.way.index] = true
		file, err := f.file(o.scenario(&f.Plan.Menu, s.fewest(o), 1), 0, probes)
		if err != nil {
			return err
		}
		file.Clocks = s.trials.clocks
		simulation, err := file.Build(policies.Default())
		if err == nil {
			err = simulation.Source.Close()
		}
		if scenarios.IsInputError(err) {
			return scenarios.BadInput(fmt.Errorf("%s: menu.scaling: %s: %s", f.name,
				f.Plan.Menu.scalingWords(o.way.index), reason(err)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// boundMean bounds how many replicas or groups run on average, however they are scaled: each serves
// at most as much as the predicted pace allows, and requests must be served by some. In a group,
// parts are weighted by their price.
func (o *option) boundMean(l *load) {
	if !o.scaled() {
		return
	}
	paid := o.prefill.pace.both(&l.work) * o.prefill.price
	if d := o.decode; d != nil {
		paid = o.prefill.pace.prefill(&l.work)*o.prefill.price +
			d.pace.decode(&l.work)*d.price
	}
	o.way.mean = paid / (slack * l.lasts * o.sum((*server).hourly))
}

// paid returns how many replicas or groups the accelerators come to that run on average, given how
// many replicas of each pool do.
func (o *option) paid(running []float64) float64 {
	sum := 0.0
	for k, s := range o.servers() {
		sum += float64(running[k] * s.price)
	}
	return sum / o.sum((*server).hourly)
}

// keepsUp decides whether a scaled fleet of at most n replicas, spares left out, serves the load:
// the whole fleet does, over pooled seeds.
func (s *search) keepsUp(ctx context.Context, o *option, n int) (verdict, error) {
	ok, kept, err := s.keeps(ctx, o, n, o.slow, s.seeds)
	if err != nil {
		return verdict{}, err
	}
	t, _, err := s.whole(ctx, o, n, o.slow, 0) // which is known by now
	t.Kept.Mean = kept
	return verdict{sustained: ok, trial: t}, err
}

// openScaled reports whether a scaled option may cost less than the best: it was left out, since the
// best seemed cheaper then, or it is known to cost less.
func (s *search) openScaled(i int) bool {
	fate := &s.fates[i]
	if fate.kind == costsMore {
		return s.mayWin(i)
	}
	return fate.replicas > 0 && i != s.best && s.wins(s.options[i], fate.replicas, s.hourly(i))
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
	f := &ScaledFleet{Policy: s.trials.file.Plan.Menu.scalingWords(o.way.index),
		Fewest: o.way.always + s.spare, Mean: s.fates[s.best].running}
	for k, server := range o.servers() {
		f.Accelerators += float64(full.Running[k] * float64(server.gpus))
	}
	f.Accelerators *= f.Mean / o.paid(full.Running) // of all seeds
	return f
}

// fixed returns the least fixed number of the replicas of a scaled option that keeps the SLO,
// spares left out, from as many as it runs at most; 0 where none of mostSteps more or fewer does.
func (s *search) fixed(ctx context.Context) (int, error) {
	o, n := *s.chosen(), s.fates[s.best].replicas
	o.way = nil
	least := 0
	for range mostSteps {
		ok, _, err := s.keeps(ctx, &o, n, o.slow, s.seeds)
		if err != nil {
			return 0, err
		}
		if ok {
			least = n
			n--
		} else {
			n++
		}
		if n == 0 || n == least || !o.available(n+s.spare) {
			break
		}
	}
	return least, nil
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
	n += s.spare
	if !o.scaled() {
		return float64(n), nil
	}
	seeds := s.trials.file.Plan.seeds(fewSeeds)
	sum := 0.0
	for seed := range seeds {
		t, _, err := s.whole(ctx, o.spared(s.spare), n, 1, uint64(seed))
		if err != nil {
			return 0, err
		}
		sum += o.paid(t.Running)
	}
	return sum / float64(seeds), nil
}
