package capacity

import (
	"context"
	"fmt"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// way is how replicas of an option start and stop with the load.
type way struct {
	index  int // of Menu.scalings
	entry  int // of Menu.Scaling
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
func (o *option) each(ways []scaling, list []*option) []*option {
	list = append(list, o)
	for k := 1; k < len(ways) && o.scalable(); k++ {
		other := *o
		other.way = &way{index: k, entry: ways[k].entry, always: ways[k].Min}
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
	way := m.scalings()[o.way.index].Scaling
	way.Min = (o.way.always + o.way.standing) * each
	return way
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

// busyCost is what the replicas of a scaled option cost at least that are busy, in $/h; 0 of
// others.
func (o *option) busyCost() float64 {
	if o.way == nil {
		return 0
	}
	return float64(o.way.mean * o.price)
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

// tryScaled simulates a scaled option, and makes it the best if it is. It has at no time more
// replicas than a fixed fleet of its most, and does not keep an SLO that such a fleet misses. From
// there on, a higher most and a higher least never cost less.
func (s *search) tryScaled(ctx context.Context, i int) error {
	o, fate := s.options[i], &s.fates[i]
	if s.dearer(i) {
		fate.kind, fate.words = outdone, "with a lower least number of replicas it costs too much"
		return nil
	}
	n, err := s.leastFixed(ctx, o)
	if err != nil {
		return err
	}
	if n == 0 {
		fate.kind, fate.words = simulated, "no fixed number of replicas keeps the SLO"
		return nil
	}
	if n = max(n, o.way.always); n > s.most(o) {
		fate.kind, fate.words = simulated, fmt.Sprintf("%s or more are needed, and there are "+
			"accelerators for %d", several(n+s.spare, "replica"), s.most(o)+s.spare)
		return nil
	}
	low, high, found := n-1, s.most(o)+1, 0 // too few, and too many
	for step := 1; high-low > 1; {
		worth, err := s.worthwhile(ctx, i, n)
		if err != nil {
			return err
		}
		ok := false
		if worth {
			if ok, err = s.suffice(ctx, i, n); err != nil {
				return err
			}
		}
		switch {
		case ok:
			found, high = n, n
		case !worth:
			high = n
		case fate.unused:
			return nil
		default:
			low = n
		}
		if n = (low + high) / 2; high > s.most(o) {
			n, step = min(low+step, s.most(o)), 2*step
		}
	}
	if found > 0 {
		fate.replicas = found
		if fate.running, err = s.charge(ctx, o, found); err == nil {
			s.crown(i)
		}
	}
	return err
}

// worthwhile reports whether a scaled option of at most n replicas would be the best if it kept the
// SLO, and notes what runs. The mean of all seeds is at least what one shows and the others must.
func (s *search) worthwhile(ctx context.Context, i, n int) (bool, error) {
	o, fate := s.options[i], &s.fates[i]
	least, all := s.leastCost(i)/o.price, s.trials.file.Plan.seeds(fewSeeds)
	for seeds := 1; seeds <= all; seeds++ {
		sum, err := s.ran(ctx, o, n, seeds)
		if err != nil {
			return false, err
		}
		fate.running = (sum + float64(all-seeds)*least) / float64(all)
		if !s.wins(o, n, s.hourly(i)) {
			fate.kind, fate.words = simulated, fmt.Sprintf(
				"of up to %s, %s or more run on average, for $%s/h",
				several(n+s.spare, "replica"), report.Figure(fate.running),
				report.Figure(s.hourly(i)))
			return false, nil
		}
	}
	return true, nil
}

// firstAsked returns what is simulated first of a scaled option, given what is known of fixed
// numbers: a fixed fleet, or how many replicas run.
func (s *search) firstAsked(o *option, known map[alike]int) (func(context.Context, *option,
	int) (verdict, error), int) {
	n, found := known[o.fixed()]
	if n = max(n, o.way.always); found {
		return func(ctx context.Context, o *option, n int) (verdict, error) {
			_, err := s.ran(ctx, o, n, 1)
			return verdict{}, err
		}, n
	}
	fixed := *o
	fixed.way = nil
	return func(ctx context.Context, o *option, n int) (verdict, error) {
		_, _, err := s.whole(ctx, &fixed, n, o.slow, 0)
		return verdict{}, err
	}, s.fewest(&fixed)
}

// dearer reports whether the same fleet with a lower least number of replicas, which comes before
// an option on the menu, is known to cost too much.
func (s *search) dearer(i int) bool {
	o := s.options[i]
	for j := i - 1; j >= 0 && s.options[j].lower(s.options[j+1]); j-- {
		if fate := &s.fates[j]; fate.running > 0 &&
			!s.wins(o, o.way.always, float64(fate.running*o.price)) {
			return true
		}
	}
	return false
}

// lower reports whether an option is another one but for a lower least number of replicas.
func (o *option) lower(other *option) bool {
	return o.scaled() && other.scaled() && o.parts == other.parts && o.routing == other.routing &&
		o.prefills == other.prefills && o.decodes == other.decodes &&
		o.way.entry == other.way.entry && o.way.always < other.way.always
}

// keepsUp decides whether a scaled fleet of at most n replicas, spares left out, serves the load:
// the whole fleet does, over pooled seeds.
func (s *search) keepsUp(ctx context.Context, o *option, n int) (verdict, error) {
	needed := places(s.trials.file.Plan.seeds(fewSeeds)) // which run at the same time
	if err := each(ctx, needed, func(ctx context.Context, seed int) error {
		_, _, err := s.whole(ctx, o, n, o.slow, uint64(seed))
		return err
	}); err != nil {
		return verdict{}, err
	}
	ok, kept, err := s.keeps(ctx, o, n, o.slow, s.seeds)
	if err != nil {
		return verdict{}, err
	}
	t, _, err := s.whole(ctx, o, n, o.slow, 0)
	t.Kept.Mean = kept
	return verdict{sustained: ok, trial: t}, err
}

// places lists the numbers below n.
func places(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = k
	}
	return list
}

// alike names options that differ in scaling alone.
type alike struct {
	parts                      *parts
	prefills, decodes, routing int32
}

// fixed names an option whatever its scaling is.
func (o *option) fixed() alike { return alike{o.parts, o.prefills, o.decodes, o.routing} }

// leastFixed returns the least fixed number of the replicas of an option, spares left out, that
// does not miss the SLO beyond chance in one run; 0 where all do.
func (s *search) leastFixed(ctx context.Context, o *option) (int, error) {
	key := o.fixed()
	if n, known := s.fixed[key]; known {
		return n, nil
	}
	fixed := *o
	fixed.way = nil
	low, n, found := s.fewest(&fixed)-1, s.fewest(&fixed), 0
	for step := 1; found == 0 && n <= s.most(&fixed) || found-low > 1; {
		t, _, err := s.whole(ctx, &fixed, n, o.slow, 0)
		switch {
		case err != nil:
			return 0, err
		case t.Kept.Mean+t.Kept.Half >= t.Target:
			found = n
		default:
			low = n
		}
		if found > 0 {
			n = (low + found) / 2
		} else {
			n, step = n+step, 2*step
		}
	}
	if s.fixed == nil {
		s.fixed = map[alike]int{}
	}
	s.fixed[key] = found
	return found, nil
}

// fixedInstead returns the least fixed number of the replicas of an option that keeps the SLO,
// spares left out; 0 where none of mostSteps does.
func (s *search) fixedInstead(ctx context.Context, o *option) (int, error) {
	n, err := s.leastFixed(ctx, o)
	if err != nil || n == 0 {
		return 0, err
	}
	fixed := *o
	fixed.way = nil
	for range mostSteps {
		ok, _, err := s.keeps(ctx, &fixed, n, o.slow, s.seeds)
		if err != nil || ok {
			return n, err
		}
		if n++; !o.available(n + s.spare) {
			break
		}
	}
	return 0, nil
}

// openScaled reports whether a scaled option may cost less than the best: it was left out, since
// the best seemed cheaper then, or it is known to cost less.
func (s *search) openScaled(i int) bool {
	fate := &s.fates[i]
	if fate.kind == costsMore || fate.kind == outdone {
		return s.mayWin(i) && !s.dearer(i)
	}
	return fate.running > 0 && fate.missed == nil && i != s.best &&
		s.wins(s.options[i], max(1, fate.replicas), s.hourly(i))
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
	seeds := s.trials.file.Plan.seeds(fewSeeds)
	sum, err := s.ran(ctx, o, n, seeds)
	return sum / float64(seeds), err
}

// ran returns how many replicas or groups of a scaled option run on average, spares included, with
// steps as predicted: the sum of some seeds.
func (s *search) ran(ctx context.Context, o *option, n, seeds int) (float64, error) {
	paid := make([]float64, seeds)
	err := each(ctx, places(seeds), func(ctx context.Context, k int) error {
		t, _, err := s.whole(ctx, o.spared(s.spare), n+s.spare, 1, uint64(k))
		if err == nil {
			paid[k] = o.paid(t.Running)
		}
		return err
	})
	sum := 0.0
	for _, v := range paid {
		sum += v
	}
	return sum, err
}
