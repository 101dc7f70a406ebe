package capacity

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"
)

// sharing is which classes of requests have servers in common: the parts of a plan, each with the
// fleet of its classes, and what the other way would cost.
type sharing struct {
	parts []*asked.File
	found []*finding
	// together is the price of one fleet for all classes, and apart the least price of several; 0
	// where it is not known, or no fleet keeps the SLO.
	together, apart float64
	// divided is how requests are divided by their prompts; nil where they are not.
	divided *answer.Divided
}

// partition finds which classes share servers so that their fleets cost the least together. Each
// set of classes is a question of its own. Where there are too few accelerators for several fleets,
// one serves all.
func partition(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*sharing, error) {
	whole := 1<<len(f.Plan.Workload.Classes) - 1
	sets := make([]*finding, whole+1)
	files := make([]*asked.File, whole+1)
	prices := make([]float64, whole+1)
	for set := whole; set > 0; set-- {
		var err error
		files[set] = f.OfClasses(set)
		if sets[set], err = find(ctx, files[set], q, o); err != nil {
			return nil, err
		}
		prices[set] = math.Inf(1)
		if s := sets[set].search; s.best >= 0 {
			prices[set] = s.cost()
		}
	}
	chosen, apart := divide(prices)
	s := &sharing{together: known(prices[whole]), apart: known(apart)}
	var searches []*search
	for _, set := range chosen {
		s.parts, s.found = append(s.parts, files[set]), append(s.found, sets[set])
		searches = append(searches, sets[set].search)
	}
	if len(searches) == 0 || newJointSearch(searches).conflict() {
		s.parts, s.found, s.apart = files[whole:], sets[whole:], 0
	}
	return s, nil
}

// divide divides things, which are bits, into sets whose prices are the least together, and returns
// the least price of two sets and more too. Prices are by set; the last is of all things, and the
// first, of no things, is 0. There are no sets if each way has a set without a finite price. Of
// equal prices one set is taken.
//
// The set of the first thing is chosen, then the set of the first that is left, and so on, in 3ⁿ
// steps.
func divide(prices []float64) (sets []int, several float64) {
	whole := len(prices) - 1
	best, first := make([]float64, whole+1), make([]int, whole+1)
	several = math.Inf(1)
	for set := 1; set <= whole; set++ {
		best[set] = math.Inf(1)
		lowest := set & -set
		for part := set; part > 0; part = (part - 1) & set {
			if part&lowest == 0 {
				continue
			}
			price := prices[part] + best[set&^part]
			if price < best[set] {
				best[set], first[set] = price, part
			}
			if set == whole && part != whole {
				several = min(several, price)
			}
		}
	}
	for set := whole; set > 0 && !math.IsInf(best[whole], 1); set &^= first[set] {
		sets = append(sets, first[set])
	}
	return sets, several
}

// known is a price that is known, else 0.
func known(price float64) float64 {
	if math.IsInf(price, 1) {
		return 0
	}
	return price
}

// bands are the requests of a plan by the lengths of their prompts, and what is known of fleets for
// sets of bands, which are bits. Only bands next to each other make a set.
type bands struct {
	file   *asked.File
	edges  []int // band i has the prompts above edges[i] up to edges[i+1]; 0 is no edge
	parts  []*asked.File
	found  []*finding // nil where no fleet was looked for
	prices []float64  // the least by the bounds, until a fleet was looked for
}

// byPrompts finds whether requests have servers by the lengths of their prompts: short and long
// ones apart, each on a fleet of their own, where the fleets cost less than one for all. Bounds say
// which divisions may, fleets at the settings of the menu which of them do, and those get settings
// of their own. All of them together are simulated before they are the answer.
func byPrompts(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*sharing, error) {
	all, err := find(ctx, f, q, o)
	s := &sharing{parts: []*asked.File{f}, found: []*finding{all}}
	at := f.Thresholds()
	if err != nil || len(at) == 0 {
		return s, err
	}
	b := &bands{file: f, edges: append(append([]int{0}, at...), 0)}
	if err := b.bound(ctx, all, q, o); err != nil {
		return nil, err
	}
	sets, err := b.divide(ctx)
	if err != nil || len(sets) < 2 {
		return s, err
	}
	d := &sharing{}
	var searches []*search
	hourly := 0.0
	for _, set := range sets {
		one := b.found[set]
		if err := one.inSteps(ctx, (&shapeRows{one.search}).alone, one.refineRatios); err != nil {
			return nil, err
		}
		hourly += one.cost()
		d.parts, d.found = append(d.parts, b.parts[set]), append(d.found, one)
		searches = append(searches, one.search)
	}
	if all.best >= 0 {
		d.together = all.cost()
	}
	dearer := all.best >= 0 && hourly >= all.cost()*(1-worthTuning)
	if dearer || newJointSearch(searches).conflict() {
		return s, nil
	}
	if d.divided, err = b.together(ctx, all, sets); err != nil || d.divided == nil {
		return s, err
	}
	return d, nil
}

// bound prepares the plan of each set of bands, and bounds what its fleet costs. The price to beat
// is what one fleet for all costs at the settings of the menu.
func (b *bands) bound(ctx context.Context, all *finding, q *queue.Queue, o Options) error {
	whole := 1<<(len(b.edges)-1) - 1
	b.parts, b.found = make([]*asked.File, whole+1), make([]*finding, whole+1)
	b.prices = make([]float64, whole+1)
	o.Leads = nil
	for set := 1; set < whole; set++ {
		b.prices[set] = math.Inf(1)
		first := bits.TrailingZeros(uint(set))
		last := bits.Len(uint(set))
		if bits.OnesCount(uint(set)) != last-first {
			continue
		}
		b.parts[set] = b.file.OfPrompts(b.edges[first], b.edges[last])
		s, err := newSearch(ctx, b.parts[set], q, o)
		if err != nil {
			return err
		}
		for i, option := range s.options {
			if option.Unfit() == "" && !option.Tight && s.Most(option) >= s.Fewest(option) {
				b.prices[set] = min(b.prices[set], s.leastCost(i))
			}
		}
		b.found[set] = &finding{search: s, goal: goalOf(s)}
	}
	switch t := all.tuned; {
	case all.best < 0:
		b.prices[whole] = math.Inf(1)
	case t != nil && t.WithoutHourly > 0:
		b.prices[whole] = t.WithoutHourly * (1 - worthTuning)
	default:
		b.prices[whole] = all.cost() * (1 - worthTuning)
	}
	return nil
}

// divide returns the division whose fleets cost the least at the settings of the menu. It looks for
// the fleets of the division that is the cheapest by the bounds and by what was found, until all
// fleets of such a division are known. It returns no set where one fleet for
// all costs no more.
func (b *bands) divide(ctx context.Context) ([]int, error) {
	known := make([]bool, len(b.prices))
	for {
		sets, _ := divide(b.prices)
		fresh := -1
		for _, set := range sets {
			if !known[set] {
				fresh = set
			}
		}
		if len(sets) < 2 || fresh < 0 {
			return sets, nil
		}
		s := b.found[fresh].search
		if err := s.fromMenu(ctx); err != nil {
			return nil, err
		}
		known[fresh], b.prices[fresh] = true, math.Inf(1)
		if s.best >= 0 {
			b.prices[fresh] = s.cost()
		}
	}
}

// together simulates the fleets of a division as one, whose requests go to their fleets by the
// lengths of their prompts: spares down, and with steps as slow as the plan demands. It returns nil
// where that misses the SLO.
func (b *bands) together(ctx context.Context, all *finding, sets []int) (*answer.Divided, error) {
	fewest, size := b.scenario(sets, func(s *search) (int, float64) {
		return s.outcomes[s.best].replicas, s.chosen().Slow
	})
	kept, requests, err := keepsTogether(ctx, all.Trials, fewest, size, all.Rate, asked.LateBy(1))
	if err != nil || kept < 0 {
		return nil, err
	}
	d := &answer.Divided{Seeds: togetherSeeds, Requests: requests, Kept: kept}
	written, _ := b.scenario(sets, func(s *search) (int, float64) { return s.size(), 1 })
	d.Scenario, err = explained(b.file, written, all.Rate, requests)
	return d, err
}

// scenario returns the scenario of the fleets of a division, and its number of replicas. Each fleet
// has the number of replicas or groups and the slowdown that function of returns.
func (b *bands) scenario(sets []int, of func(*search) (int, float64)) (s scenarios.Scenario,
	size int) {
	p := &b.file.Plan
	for k, set := range sets {
		one := b.found[set].search
		n, slow := of(one)
		part := one.chosen().Scenario(&p.Menu, n, slow)
		most := b.edges[bits.Len(uint(set))]
		if k == 0 {
			s = part
			s.Name, s.Workload, s.Tokens, s.Fleet.Pools, s.Replicas = p.Name, p.Workload, p.Tokens,
				nil, 0
		}
		for _, pool := range part.AsPools() {
			pool.Name, pool.MaxPrompt = "any", most
			if most > 0 {
				pool.Name = fmt.Sprintf("to-%d", most)
			}
			if pool.Role != "" {
				pool.Name += "-" + pool.Role
			}
			s.Fleet.Pools = append(s.Fleet.Pools, pool)
			size += pool.Replicas
		}
	}
	return s, size
}
