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
		if v.saturated(i) {
			r.stages, r.rehearsals = append(r.stages, nil), append(r.rehearsals, nil)
			continue
		}
		all, err := v.paced(i).serve(ctx, p, nil)
		if err != nil {
			return nil, err
		}
		figures := all.figures()
		figures["TTFT p50"] += whatifClient
		figures["E2E p50"] += whatifClient
		r.stages, r.rehearsals = append(r.stages, figures), append(r.rehearsals, all.rehearsal)
	}
	all, err := v.full().serve(ctx, p, nil)
	if err != nil {
		return nil, err
	}
	r.capacity = float64(len(all.requests)) / all.last.Seconds() // the first ones arrive at once
	r.rehearsals = append(r.rehearsals, all.rehearsal)
	return r, nil
}

// saturated reports whether a stage reached less than its rate.
func (v *variant) saturated(i int) bool { return v.stages[i].reached < kept*v.stages[i].rate }

// paced returns the server under the rate of a stage.
func (v *variant) paced(i int) *deployment {
	s := &v.stages[i]
	return v.under(arriving(int(math.Round(s.rate*whatifStage)), s.rate, "poisson",
		fixed(s.prompt), fixed(s.output)))
}

// full returns the server with as many requests in flight as the client may have.
func (v *variant) full() *deployment {
	last := v.stages[len(v.stages)-1]
	return v.under(clients(whatifInFlight, 12*whatifInFlight, last.prompt, last.output,
		equalLength))
}

// under returns the server under a load of the demo's prompts: some groups of them begin alike.
func (v *variant) under(load scenarios.Workload) *deployment {
	shared := min(whatifShared, v.stages[0].prompt-1)
	for _, length := range []*int{&load.Prompt.Value, &load.Prompt.Min, &load.Prompt.Max} {
		*length = max(0, *length-shared)
	}
	load.Prefix = &scenarios.Prefix{Groups: promptGroups, Tokens: fixed(shared)}
	load.Distinct = distinctPrompts
	d := v.deployment
	d.Workload = load
	return &d
}
