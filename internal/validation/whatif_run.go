package validation

import (
	"context"
	"math"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/scenarios"
)

// whatifRun is what was predicted of a variant: the figures of each stage, nil for saturated ones,
// and the rate at saturation.
type whatifRun struct {
	stages   []map[string]float64
	capacity float64
	// rehearsals are of the stages, and last of the run at saturation.
	rehearsals []*rehearsal
}

func (v *variant) run(ctx context.Context, p *accuracy.Physics) (*whatifRun, error) {
	r := &whatifRun{}
	for i := range v.stages {
		s := &v.stages[i]
		if s.reached < kept*s.rate {
			r.stages, r.rehearsals = append(r.stages, nil), append(r.rehearsals, nil)
			continue
		}
		all, err := v.under(ctx, p, arriving(int(math.Round(s.rate*whatifStage)), s.rate, "poisson",
			fixed(s.prompt), fixed(s.output)))
		if err != nil {
			return nil, err
		}
		figures := all.figures()
		figures["TTFT p50"] += whatifClient
		figures["E2E p50"] += whatifClient
		r.stages, r.rehearsals = append(r.stages, figures), append(r.rehearsals, all.rehearsal)
	}
	last := v.stages[len(v.stages)-1]
	all, err := v.under(ctx, p, clients(whatifInFlight, 12*whatifInFlight, last.prompt, last.output,
		equalLength))
	if err != nil {
		return nil, err
	}
	r.capacity = float64(len(all.requests)) / all.last.Seconds() // the first ones arrive at once
	r.rehearsals = append(r.rehearsals, all.rehearsal)
	return r, nil
}

// under serves the demo's prompts: some groups of them begin alike.
func (v *variant) under(ctx context.Context, p *accuracy.Physics,
	load scenarios.Workload) (*outcome, error) {
	shared := min(whatifShared, v.stages[0].prompt-1)
	for _, length := range []*int{&load.Prompt.Value, &load.Prompt.Min, &load.Prompt.Max} {
		*length = max(0, *length-shared)
	}
	load.Prefix = &scenarios.Prefix{Groups: promptGroups, Tokens: fixed(shared)}
	load.Distinct = distinctPrompts
	d := v.deployment
	d.Workload = load
	return d.serve(ctx, p, nil)
}
