package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/build"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/journal"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/scenarios"
)

// Options say how to answer a plan.
type Options struct {
	// Queue says how many simulations run at the same time, and on which machines. The answer does
	// not depend on it.
	Queue queue.Config
	// Shard is the part of the work to do; its results go into the journal, and there is no answer.
	// All parts look for the cheapest fleet, and share the rest.
	Shard journal.Shard
	// Recorded takes all results from the journal. A missing result is a shard.Missing error.
	Recorded bool
	// Journal keeps the results of simulations, so that a stopped plan can go on; nil keeps
	// nothing.
	Journal *journal.Journal
	// Ran is called after each simulation, by several goroutines. It may be nil.
	Ran func()
}

// newSearch prepares the options of the menu.
func newSearch(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*search, error) {
	options, err := candidate.Options(f)
	if err != nil {
		return nil, err
	}
	t := &oracle.Trials{File: f, Clocks: scenarios.NewClocks(), Queue: q, Journal: o.Journal,
		Ran: o.Ran, Shard: o.Shard, Recorded: o.Recorded, Workers: o.Queue.Workers,
		Ledger: &oracle.Ledger{Known: map[string]*oracle.Entry{}}}
	s, err := among(ctx, options, t)
	if err != nil {
		return nil, err
	}
	return s, s.CheckScalings(options)
}

// among returns a search among options of which it finds out first what can be built.
func among(ctx context.Context, options []*candidate.Option, t *oracle.Trials) (*search, error) {
	if err := build.Prepare(ctx, t.File, options); err != nil {
		return nil, err
	}
	p := &t.File.Plan
	return &search{Judge: judge.Judge{Rate: p.Peak(), Spare: p.Fleet.Spare, Seeds: judge.MostSeeds,
		Trials: t}, options: options, best: -1}, nil
}
