package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/scenarios"
)

// Rung is a round of successive halving (Jamieson and Talwalkar, arXiv:1502.07943).
type Rung struct {
	// Options is the number of options that ran, Requests the number of requests of each of their
	// simulations, and Seeds the number of simulations.
	Options  int   `json:"options"`
	Requests int64 `json:"requests"`
	Seeds    int   `json:"seeds"`
}

// Unfit is options that cannot run for the same reason.
type Unfit struct {
	Reason  string `json:"reason"`
	Options int    `json:"options"`
	// Example is what the first of them sets.
	Example []string `json:"example"`
}

// halving holds the results of successive halving over all options.
type halving struct {
	// options is the number of combinations, tried of the ones that were run or refused.
	options, tried int
	rungs          []Rung
	unfit          []Unfit
	// refused are the options in unfit.
	refused map[string]bool
	// seen are the options of the first rung.
	seen map[string]bool
	// last are the trials of the last rung and of the neighbours of the best, the best first; the
	// default is among them.
	last []trial
	// requests and seeds belong to the last rung.
	requests int64
	seeds    []uint64
}

const (
	// shortest is the least number of requests of a simulation.
	shortest = 200
	// fills is how many times the first rung's requests fill the default's largest batch, where
	// that leaves room for a longer rung.
	fills = 4
	// rungRatio is how many times more requests, and fewer options, each rung has.
	rungRatio = 4
	// finalists is the number of options of the last rung, beside the default.
	finalists = 5
)

// halve runs all options, and keeps the better ones for longer runs. Where a scenario has a steady
// state, its first rungs are shorter; every rung of others has the whole run, with more seeds.
func (t *tuner) halve(ctx context.Context, steady bool) (*halving, error) {
	standard := make(option, len(t.menu))
	first, err := t.measure(ctx, []option{standard}, t.Requests, []uint64{0, 1})
	if err != nil {
		return nil, err
	}
	if first[0].reason != "" {
		return nil, scenarios.BadInput(errors.New(first[0].reason))
	}
	a, b := first[0].runs[0], first[0].runs[1]
	r := &halving{requests: a.sent, seeds: seeds(0, t.Replications),
		refused: map[string]bool{}, seen: map[string]bool{}}
	if a.loss == b.loss && a.figures == b.figures {
		r.seeds = seeds(0, 1) // nothing is drawn
	}
	all := options(t.menu)
	alive, requests := sample(all, t.Most), r.requests
	r.options, r.tried = len(all), len(alive)
	for _, o := range alive {
		r.seen[fmt.Sprint(o)] = true
	}
	if steady {
		requests = max(shortest, min(fills*int64(a.peak), r.requests/rungRatio))
	}
	for len(alive) > finalists+1 {
		rung := Rung{Options: len(alive), Requests: min(requests, r.requests),
			Seeds: int(min(max(1, requests/max(1, r.requests)), int64(len(r.seeds))))}
		trials, err := t.rung(ctx, r, alive, rung)
		if err != nil {
			return nil, err
		}
		keep := max(finalists, (len(alive)+rungRatio-1)/rungRatio)
		if rung.Seeds == len(r.seeds) && rung.Requests == r.requests {
			keep = finalists
		}
		alive = survivors(trials, keep)
		requests *= rungRatio
	}
	if err := t.climb(ctx, r, alive); err != nil {
		return nil, err
	}
	if len(r.refused) > 0 && len(r.refused) == r.tried-1 {
		u := &r.unfit[0]
		return nil, scenarios.BadInput(fmt.Errorf("nothing to choose from: none of the %d "+
			"combinations other than the scenario's own can run, such as %s: %s", len(r.refused),
			strings.Join(u.Example, " "), u.Reason))
	}
	return r, nil
}

// climb runs the options of the last round, then the neighbours of the best option, and of each new
// best option in turn, since short runs may have left out an option that is slightly better.
func (t *tuner) climb(ctx context.Context, r *halving, fresh []option) error {
	const rounds = 8
	done := map[string]bool{}
	for range rounds {
		trials, err := t.rung(ctx, r, fresh, Rung{len(fresh), r.requests, len(r.seeds)})
		if err != nil {
			return err
		}
		for _, o := range fresh {
			done[fmt.Sprint(o)] = true
		}
		r.last = append(r.last, trials...)
		order(r.last)
		fresh = slices.DeleteFunc(r.last[0].neighbours(t.menu), func(o option) bool {
			return done[fmt.Sprint(o)]
		})
		if len(fresh) == 0 {
			return nil
		}
		for _, o := range fresh {
			if !r.seen[fmt.Sprint(o)] {
				r.tried++
			}
		}
	}
	return nil
}

// seeds returns n numbers from first on, to be added to the scenario's seed.
func seeds(first, n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(first + i)
	}
	return list
}

// rung runs options, and returns the ones that can run, the best first.
func (t *tuner) rung(ctx context.Context, r *halving, options []option,
	rung Rung) ([]trial, error) {
	trials, err := t.measure(ctx, options, rung.Requests, r.seeds[:rung.Seeds])
	if err != nil {
		return nil, err
	}
	trials = slices.DeleteFunc(trials, func(one trial) bool {
		if one.reason != "" {
			r.refuse(one, t.menu)
		}
		return one.reason != ""
	})
	rung.Options = len(trials)
	r.rungs = append(r.rungs, rung)
	order(trials)
	return trials, nil
}

// order sorts trials, the best first, and of equals the one that changes less.
func order(trials []trial) {
	slices.SortStableFunc(trials, func(a, b trial) int {
		return cmp.Or(cmp.Compare(a.loss(), b.loss()), cmp.Compare(a.changes(), b.changes()))
	})
}

// refuse counts an option that cannot run, once.
func (r *halving) refuse(one trial, menu []Dimension) {
	key := fmt.Sprint(one.option)
	if r.refused[key] {
		return
	}
	r.refused[key] = true
	i := slices.IndexFunc(r.unfit, func(u Unfit) bool { return u.Reason == one.reason })
	if i < 0 {
		i = len(r.unfit)
		r.unfit = append(r.unfit, Unfit{Reason: one.reason, Example: one.settings(menu)})
	}
	r.unfit[i].Options++
}

// survivors returns the best of sorted trials, and the default. Of options that came to the same to
// the last bit, the one that changes least goes first, and the others only where there is room.
func survivors(sorted []trial, most int) []option {
	var list, alike []option
	standard := option(nil)
	for i := range sorted {
		one := &sorted[i]
		if one.changes() == 0 {
			standard = one.option
		}
		twin := false
		for j := i - 1; j >= 0 && !twin && sorted[j].loss() == one.loss(); j-- {
			twin = same(&sorted[j], one)
		}
		if twin {
			alike = append(alike, one.option)
		} else {
			list = append(list, one.option)
		}
	}
	list = append(list, alike...)
	kept := slices.Clone(list[:min(most, len(list))])
	if !slices.ContainsFunc(kept, func(o option) bool { return o.changes() == 0 }) {
		kept = append(kept, standard)
	}
	return kept
}

// Dimension is one setting to tune. The first of its choices is the scenario's.
type Dimension struct {
	// Name is the engine's flag, or the key of the scenario where no flag sets it.
	Name    string
	Choices []Choice
	// Role is the role of the parameter that it sets, as in package policies.
	Role string
}

// Choice is a value of a dimension, and what it sets in the scenario.
type Choice struct {
	Label string
	Set   []string
}

// mostOptions bounds a menu.
const mostOptions = 1_000_000

// menu returns the dimensions of a scenario, whose defaults are filled in. They are the given axes
// or, without them, parallelism and the numbers that its engine has a flag for.
func menu(s *scenarios.Simulation, axes []planner.Axis) ([]Dimension, error) {
	list, err := namedDimensions(&s.Scenario, axes), error(nil)
	if len(axes) == 0 {
		list, err = engineDimensions(s)
	}
	if err != nil {
		return nil, err
	}
	options := 1
	for _, d := range list {
		if options *= len(d.Choices); options > mostOptions {
			return nil, scenarios.BadInput(fmt.Errorf("there are more than %d combinations to "+
				"try; give fewer values with --vary", mostOptions))
		}
	}
	if options == 1 {
		return nil, scenarios.BadInput(fmt.Errorf("there is nothing to choose: the batching "+
			"policy %s and the memory policy %s have no number to tune; name keys and values "+
			"with --vary", s.Scenario.Batching.Policy, s.Scenario.Memory.Policy))
	}
	return list, nil
}

// namedDimensions returns the dimensions that the user asked for.
func namedDimensions(s *scenarios.Scenario, axes []planner.Axis) []Dimension {
	list := make([]Dimension, len(axes))
	for i, a := range axes {
		own := "as it is"
		for _, n := range numbers(s) {
			if n.key == a.Key {
				own = n.present
			}
		}
		list[i] = Dimension{Name: a.Key, Choices: []Choice{{Label: own}}}
		for _, v := range a.Values {
			set := planner.Setting{Key: a.Key, Value: v}
			list[i].Choices = append(list[i].Choices, Choice{v, []string{set.String()}})
		}
	}
	return list
}

// engineDimensions returns the dimensions of an engine: what one of its flags sets, or all for an
// engine that no command line is known of.
func engineDimensions(simulation *scenarios.Simulation) ([]Dimension, error) {
	s := &simulation.Scenario
	if len(s.Fleet.Pools) > 0 {
		return nil, scenarios.BadInput(fmt.Errorf("fleet.pools: without --vary, only one kind of " +
			"replica is tuned; name keys and values with --vary, such as --vary " +
			"routing=round-robin,least-requests"))
	}
	list := append([]Dimension{layouts(simulation)}, Numbers(s)...)
	return slices.DeleteFunc(list, func(d Dimension) bool { return len(d.Choices) == 1 }), nil
}

// Numbers returns the numbers of a scenario, whose defaults are filled in, that its engine has
// flags for, or all where no command line of the engine is known.
func Numbers(s *scenarios.Scenario) []Dimension {
	engine := engines.Of(s.Engine.Preset)
	var list []Dimension
	for _, n := range numbers(s) {
		name := n.key
		if engine != nil {
			switch flag, known := engine.Table.Flag(n.key); {
			case known:
				name = flag
			case n.key != "memory.utilization": // which other engines count otherwise
				continue
			}
		}
		if d := n.dimension(name); len(d.Choices) > 1 {
			list = append(list, d)
		}
	}
	return list
}

// number is a number that engines are tuned by.
type number struct {
	key, present string
	// tried are the values beside the present one, as the tag tune of a parameter has them: a list,
	// or "16.." for an eighth, a quarter, half, twice and four times of the present one that are 16
	// at least.
	tried string
	role  string
}

// numbers lists the numbers of a scenario that are tuned. No share of memory above 0.95 is tried:
// what other programs, fragments and graphs take is not simulated.
func numbers(s *scenarios.Scenario) []number {
	var list []number
	add := func(section string, settings []strict.Setting) {
		for _, p := range settings {
			if tried := p.Tag.Get("tune"); tried != "" {
				list = append(list, number{section + p.Name, p.Default, tried, p.Tag.Get("role")})
			}
		}
	}
	add("batching.", s.Batching.Settings())
	add("memory.", s.Memory.Settings())
	if s.Memory.Tokens == 0 { // else the size of the cache is given
		share := strconv.FormatFloat(s.Memory.Utilization, 'g', 4, 64)
		list = append(list, number{"memory.utilization", share, "0.85,0.9,0.95", ""})
	}
	return list
}

// dimension returns the choices of a number, beside the present one.
func (n *number) dimension(name string) Dimension {
	d := Dimension{Name: name, Choices: []Choice{{Label: n.present}}, Role: n.role}
	present, err := strconv.ParseFloat(n.present, 64)
	if err != nil {
		return d
	}
	tried := strings.Split(n.tried, ",")
	if least, multiples := strings.CutSuffix(n.tried, ".."); multiples {
		tried = nil
		for _, factor := range []float64{1. / 8, 1. / 4, 1. / 2, 2, 4} {
			x := int(present * factor)
			if n, err := strconv.Atoi(least); err == nil && x >= n {
				tried = append(tried, strconv.Itoa(x))
			}
		}
	}
	for _, label := range tried {
		if x, err := strconv.ParseFloat(label, 64); err == nil && x != present {
			d.Choices = append(d.Choices, Choice{label, []string{n.key + "=" + label}})
		}
	}
	return d
}

// layout is a way to divide accelerators into replicas and each replica's among its ranks.
type layout struct{ replicas, tensor, data, expert int }

// layouts returns the layouts that use the scenario's number of accelerators, and its number of
// stages of a pipeline.
func layouts(simulation *scenarios.Simulation) Dimension {
	p := simulation.Scenario.Parallelism
	own := layout{max(1, simulation.Scenario.Replicas), max(1, p.Tensor), max(1, p.Data),
		max(1, p.Expert)}
	d := Dimension{Name: "parallelism", Choices: []Choice{{Label: own.String()}}}
	total := own.replicas * own.tensor * own.data
	mixture := simulation.Model.Experts() != nil
	for _, tensor := range divisors(total) {
		for _, data := range divisors(total / tensor) {
			if data > 1 && !mixture {
				continue
			}
			l := layout{total / tensor / data, tensor, data, 1}
			for _, l.expert = range slices.Compact([]int{1, tensor * data}) {
				spread := l.expert > 1 || data == 1
				if l != own && spread && (mixture || l.expert == 1) {
					d.Choices = append(d.Choices, Choice{l.String(), l.set(mixture)})
				}
			}
		}
	}
	return d
}

// set returns the settings of a layout.
func (l layout) set(mixture bool) []string {
	list := []string{fmt.Sprintf("replicas=%d", l.replicas),
		fmt.Sprintf("parallelism.tensor=%d", l.tensor)}
	if mixture {
		list = append(list, fmt.Sprintf("parallelism.data=%d", l.data),
			fmt.Sprintf("parallelism.expert=%d", l.expert))
	}
	return list
}

// String returns a layout in the short terms of the field, such as "2 × TP 4".
func (l layout) String() string {
	var parts []string
	for _, one := range []struct {
		name   string
		degree int
	}{{"TP", l.tensor}, {"DP", l.data}, {"EP", l.expert}} {
		if one.degree > 1 || one.name == "TP" {
			parts = append(parts, fmt.Sprintf("%s %d", one.name, one.degree))
		}
	}
	words := strings.Join(parts, " ")
	if l.replicas > 1 {
		words = fmt.Sprintf("%d × %s", l.replicas, words)
	}
	return words
}

// divisors returns the divisors of n in rising order.
func divisors(n int) (list []int) {
	for i := 1; i <= n; i++ {
		if n%i == 0 {
			list = append(list, i)
		}
	}
	return list
}
