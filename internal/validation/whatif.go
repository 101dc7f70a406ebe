package validation

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/scenarios"
)

// predictStages compares stages below saturation by their medians, and the highest rate. Of a
// change, the effect is compared too: as the ratio to what the base has at the same rate.
func (v *variant) predictStages(ctx context.Context, p *accuracy.Physics) ([]accuracy.Comparison,
	error) {
	own, err := v.run(ctx, p)
	if err != nil || v.base == nil {
		return slices.Concat(own...), err
	}
	base, err := v.base.run(ctx, p)
	if err != nil {
		return nil, err
	}
	return append(slices.Concat(own...), v.effects(own, base)...), nil
}

// run predicts each stage, of which saturated ones have no figures, and last the rate at
// saturation.
func (v *variant) run(ctx context.Context, p *accuracy.Physics) ([][]accuracy.Comparison, error) {
	stages := make([][]accuracy.Comparison, len(v.parts))
	for i, x := range v.parts {
		if v.saturated(i) {
			continue
		}
		all, err := v.serve(ctx, p, x.load)
		if err != nil {
			return nil, err
		}
		figures := all.figures()
		figures["TTFT p50"] += whatifClient
		figures["E2E p50"] += whatifClient
		stages[i] = rehearsable(x.place.Compare(x.measured, figures), all.rehearsal)
	}
	all, err := v.serve(ctx, p, v.full())
	if err != nil {
		return nil, err
	}
	best := slices.MaxFunc(v.loads,
		func(a, b whatifLoad) int { return cmp.Compare(a.reached, b.reached) })
	capacity := v.parts[slices.Index(v.loads, best)].place.One("capacity", "requests/s",
		best.reached, float64(len(all.requests))/all.last.Seconds()) // the first arrive at once
	return append(stages, rehearsable(capacity, all.rehearsal)), nil
}

func (v *variant) serve(ctx context.Context, p *accuracy.Physics, load *scenarios.Workload) (
	*outcome, error) {
	d := v.deployment
	d.Workload = *load
	made, err := d.made()
	if err != nil {
		return nil, err
	}
	return made.serve(ctx, p, nil)
}

// effects compares ratios to the base: of capacities, and of medians below saturation.
func (v *variant) effects(own, base [][]accuracy.Comparison) []accuracy.Comparison {
	end := len(own) - 1
	list := []accuracy.Comparison{effect(own[end][0], &base[len(base)-1][0])}
	for i, stage := range own[:end] {
		for _, c := range stage {
			if before := v.base.interpolate(base, v.loads[i].rate, c.Quantity); before != nil {
				list = append(list, effect(c, before))
			}
		}
	}
	return list
}

// effect is a figure in units of what it was before a change.
func effect(c accuracy.Comparison, before *accuracy.Comparison) accuracy.Comparison {
	c.Quantity, c.Unit, c.Rehearsal = "effect on "+c.Quantity, "×", nil
	c.Measured, c.Predicted = c.Measured/before.Measured, c.Predicted/before.Predicted
	return c
}

// interpolate returns a figure at a rate, straight between stages that were not saturated; nil
// outside of them.
func (v *variant) interpolate(stages [][]accuracy.Comparison, rate float64,
	quantity string) (at *accuracy.Comparison) {
	for i, load := range v.loads {
		before := at
		k := slices.IndexFunc(stages[i], func(c accuracy.Comparison) bool {
			return c.Quantity == quantity
		})
		if k < 0 {
			return nil
		}
		switch at = &stages[i][k]; {
		case load.rate < rate:
		case load.rate == rate:
			return at
		case before == nil:
			return nil
		default:
			x := (rate - v.loads[i-1].rate) / (load.rate - v.loads[i-1].rate)
			return &accuracy.Comparison{
				Measured:  before.Measured + x*(at.Measured-before.Measured),
				Predicted: before.Predicted + x*(at.Predicted-before.Predicted)}
		}
	}
	return nil
}

// saturated reports whether a stage reached less than its rate.
func (v *variant) saturated(i int) bool { return v.loads[i].reached < kept*v.loads[i].rate }

// stage returns the load of a stage.
func (v *variant) stage(i int) *scenarios.Workload {
	if v.saturated(i) {
		return v.full()
	}
	l := v.loads[i]
	return v.sharing(arriving(int(math.Round(l.rate*whatifStage)), l.rate, "poisson",
		fixed(l.prompt), fixed(l.output)))
}

// full returns the load of as many requests in flight as the client may have.
func (v *variant) full() *scenarios.Workload {
	last := v.loads[len(v.loads)-1]
	return v.sharing(clients(whatifInFlight, 12*whatifInFlight, last.prompt, last.output,
		equalLength))
}

// sharing returns a load with the demo's prompts: some groups of them begin alike.
func (v *variant) sharing(load scenarios.Workload) *scenarios.Workload {
	shared := min(whatifShared, v.loads[0].prompt-1)
	for _, length := range []*int{&load.Prompt.Value, &load.Prompt.Min, &load.Prompt.Max} {
		*length = max(0, *length-shared)
	}
	load.Prefix = &scenarios.Prefix{Groups: promptGroups, Tokens: fixed(shared)}
	load.Distinct = distinctPrompts
	return &load
}
