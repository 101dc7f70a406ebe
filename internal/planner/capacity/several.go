package capacity

import (
	"cmp"
	"context"
	"fmt"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/journal"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"
)

// Solve answers the plan. An SLO that no option meets is an answer too: see Answer.Nearest. Several
// models have the fleets that cost the least together.
func Solve(ctx context.Context, f *asked.File, o Options) (*answer.Answers, error) {
	q, err := queue.Open(ctx, o.Queue, queue.Handlers{oracle.Kind: oracle.Simulate})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	all := &answer.Answers{Name: f.Plan.Name, Currency: f.Plan.Currency}
	if all.Models, err = solveEach(ctx, f, q, o); err != nil {
		return nil, f.Asked(err)
	}
	for _, a := range all.Models {
		if d := a.Chosen; d != nil {
			all.Accelerators += d.Accelerators
			all.Hourly += d.Hourly
		}
	}
	if o.Shard.Whole() {
		return all, nil
	}
	if n := all.Failed(); n > 0 {
		return nil, journal.ShardFailed(n)
	}
	return nil, nil
}

// solveEach answers the plan of each model: with the fleet that it would have alone, where there
// are accelerators for all of these; else with fleets that are chosen jointly, or where none are
// possible, in turn.
func solveEach(ctx context.Context, f *asked.File, q *queue.Queue, o Options) ([]*answer.Answer,
	error) {
	var list []*answer.Answer
	var found []*finding
	var searches []*search
	parts := questions(f)
	for _, part := range parts {
		one, err := find(ctx, part, q, o)
		if err != nil {
			return nil, err
		}
		found, searches = append(found, one), append(searches, one.search)
	}
	j := newJointSearch(searches)
	for _, one := range found {
		one.joint = len(parts) > 1 && len(j.offers) > 0
	}
	if len(parts) > 1 && j.conflict() {
		possible, err := j.choose(ctx)
		if err != nil {
			return nil, err
		}
		if !possible {
			return inTurn(ctx, f, q, o)
		}
		for _, one := range found {
			one.shared = true
		}
	}
	for k, part := range parts {
		a, err := newAnswer(ctx, part, found[k])
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// inTurn answers the plan of each model with what the models before it leave.
func inTurn(ctx context.Context, f *asked.File, q *queue.Queue, o Options) ([]*answer.Answer,
	error) {
	var list []*answer.Answer
	hardware := f.Plan.Menu.Hardware
	for _, part := range questions(f) {
		if part.Plan.Menu.Hardware = hardware; len(hardware) == 0 {
			return nil, scenarios.BadInput(
				fmt.Errorf("%s: no accelerators are left for %s: the models before it take all "+
					"of them",
					f.Name, part.Plan.Name))
		}
		found, err := find(ctx, part, q, o)
		if err != nil {
			return nil, err
		}
		a, err := newAnswer(ctx, part, found)
		if err != nil {
			return nil, err
		}
		if a.Chosen != nil {
			hardware = found.remaining(hardware)
		}
		list = append(list, a)
	}
	return list, nil
}

// parts returns a plan for each model.
func questions(f *asked.File) []*asked.File {
	var list []*asked.File
	for _, m := range f.Plan.Models {
		p := f.Plan
		p.Models, p.Name = nil, cmp.Or(m.Name, m.Model)
		p.Model, p.MaxModelLen, p.Workload, p.SLO = m.Model, m.MaxModelLen, m.Workload,
			m.SLO.Complete()
		p.SentOn = menu.EscalatedWords(m.Escalated)
		list = append(list, &asked.File{Plan: p, Name: f.Name})
	}
	if list == nil {
		return []*asked.File{f}
	}
	return list
}

// remaining returns the offers with the accelerators that are left when the best fleet has taken
// its own.
func (s *search) remaining(offers []menu.Offer) []menu.Offer {
	var left []menu.Offer
	for _, o := range offers {
		took := 0
		for _, offer := range s.chosen().Offers() {
			if *offer == o {
				took = s.chosen().Accelerators(offer, s.size())
			}
		}
		if o.Count > 0 && took > 0 {
			if o.Count -= took; o.Count <= 0 {
				continue
			}
		}
		left = append(left, o)
	}
	return left
}
