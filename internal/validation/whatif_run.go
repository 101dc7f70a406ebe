package validation

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
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
		all, err := v.serve(ctx, p, s.load(whatifStage))
		if err != nil {
			return nil, err
		}
		figures := all.figures()
		figures["TTFT p50"] += whatifClient
		figures["E2E p50"] += whatifClient
		r.stages, r.rehearsals = append(r.stages, figures), append(r.rehearsals, all.rehearsal)
	}
	last := v.stages[len(v.stages)-1]
	load, err := closedLoop(whatifInFlight, 12*whatifInFlight, last.prompt, last.output,
		equalLength)
	if err != nil {
		return nil, err
	}
	if v.prefixCaching {
		load = &tagged{Source: load, load: &last}
	}
	all, err := v.serve(ctx, p, load)
	if err != nil {
		return nil, err
	}
	r.capacity = all.outputRate() / meanOutput(all)
	r.rehearsals = append(r.rehearsals, all.rehearsal)
	return r, nil
}

// meanOutput returns the mean number of tokens of an answer.
func meanOutput(o *outcome) float64 {
	sum := 0.0
	for _, r := range o.requests {
		sum += float64(r.output)
	}
	return sum / float64(len(o.requests))
}

// tagged gives the requests of a closed loop the contents of the demo's prompts.
type tagged struct {
	sim.Source
	load *whatifLoad
	sent int
}

// Next implements sim.Source.
func (t *tagged) Next(r *sim.Request) {
	t.Source.Next(r)
	r.Content = append(r.Content[:0], t.load.content(t.sent, r.Prompt)...)
	t.sent++
}

func (s *whatifLoad) content(n, prompt int) []sim.Segment {
	question := n % distinctPrompts
	shared := min(whatifShared, prompt)
	list := []sim.Segment{{ID: uint64(1 + question%promptGroups), Tokens: shared}}
	if rest := prompt - shared; rest > 0 {
		list = append(list, sim.Segment{ID: uint64(1 + promptGroups + question), Tokens: rest})
	}
	return list
}

// load returns the requests of the stage, of the given length in seconds.
func (s *whatifLoad) load(seconds float64) sim.Source {
	rng := rand.New(rand.NewPCG(0, 0))
	var requests []sim.Request
	for i, at := range spread(max(1, int(math.Round(s.rate*seconds))), seconds, rng) {
		requests = append(requests, sim.Request{Arrival: sim.Seconds(at), Prompt: s.prompt,
			Output: s.output, Content: s.content(i, s.prompt)})
	}
	return listed(requests)
}
