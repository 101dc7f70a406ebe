// Package tuning finds the settings of an engine that serve a scenario's traffic best on the
// scenario's hardware, and says what each of them brings. Combinations that do badly in short
// simulations are left out, and the others go on to longer ones. This is successive halving
// (Jamieson and Talwalkar, AISTATS 2016, arXiv:1502.07943), with the same random numbers for all.
package tuning

import (
	"context"
	"errors"
	"slices"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Options say what to improve, and how carefully.
type Options struct {
	// Goal is the name of one of Goals; empty means the default for the scenario.
	Goal string
	// Axes are the keys to tune and their values; empty for parallelism and the numbers that the
	// engine has flags for.
	Axes []planner.Axis
	// Replications is the number of seeds of the last rung, and of the runs that say what each
	// setting brought; at least 2.
	Replications int
	// Requests is the number of requests of the longest simulation, at least 1; a scenario may have
	// fewer.
	Requests int64
	// Confidence is the confidence of all intervals of an answer together, in (0, 1).
	Confidence float64
	// Most is the largest number of options of the first round, at least 1. If there are more
	// combinations, the options are drawn from them, and the neighbours of the best are tried at
	// the end.
	Most int
	// Workers is the number of simulations at the same time, at least 1. The answer does not
	// depend on it.
	Workers int
	// Ran, if not nil, is called after each simulation, by several goroutines.
	Ran func()
}

// Load reads the scenario anew, with further overrides: a scenarios.File is built once only.
type Load func(overrides ...string) (*scenarios.File, error)

// tuner is the search while it goes on.
type tuner struct {
	Options
	load Load
	goal Goal
	menu []Dimension
	seed uint64 // of the scenario
	runs int    // simulations so far
}

// Tune finds the best settings. An error in the scenario or the options is an input error.
func Tune(ctx context.Context, load Load, o Options) (*Answer, error) {
	if o.Replications < 2 || o.Requests < 1 || o.Most < 1 ||
		!(o.Confidence > 0 && o.Confidence < 1) {
		return nil, scenarios.BadInput(errors.New("tuning needs at least 2 replications, 1 " +
			"request and 1 option, and a confidence above 0 and below 1, such as 0.95"))
	}
	file, err := load()
	if err != nil {
		return nil, err
	}
	base, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	base.Source.Close()
	t := &tuner{Options: o, load: load, seed: base.Scenario.Seed}
	if t.goal, err = goal(o.Goal, &base.Scenario); err != nil {
		return nil, err
	}
	if t.menu, err = menu(base, o.Axes); err != nil {
		return nil, err
	}
	if err := t.checkNames(); err != nil {
		return nil, err
	}
	r, err := t.halve(ctx, base.Scenario.Unsteady() == "")
	if err != nil {
		return nil, err
	}
	tuned, err := t.simplify(ctx, r)
	if err != nil {
		return nil, err
	}
	return t.answer(ctx, r, tuned)
}

// checkNames refuses a value that was asked for and cannot be in any combination, such as a
// misspelt name, before the first run.
func (t *tuner) checkNames() error {
	if len(t.Axes) == 0 {
		return nil
	}
	all := options(t.menu)
	for d := range t.menu {
		for choice := range t.menu[d].Choices {
			var first error
			for _, o := range all {
				if o[d] != choice {
					continue
				}
				f, err := t.load(o.settings(t.menu)...)
				if err == nil {
					err = f.CheckNames(policies.Default())
				}
				if first == nil {
					first = err
				}
				if err == nil {
					first = nil
					break
				}
			}
			if first != nil {
				return first
			}
		}
	}
	return nil
}

// simplify takes back what the best of the last rung does not need: in turn, each setting without
// which it is not worse beyond noise than any option of that rung. What is left is no worse than
// the default.
func (t *tuner) simplify(ctx context.Context, r *halving) (option, error) {
	best := r.last[0]
	current := best
	for d := range t.menu {
		if current.option[d] == 0 {
			continue
		}
		trials, err := t.measure(ctx, []option{current.option.without(d)}, r.requests, r.seeds)
		if err != nil {
			return nil, err
		}
		simpler := trials[0]
		worse := func(than trial) bool { return t.worse(simpler, than) }
		if simpler.reason == "" && !worse(current) && !slices.ContainsFunc(r.last, worse) {
			current = simpler
		}
	}
	standard := r.last[slices.IndexFunc(r.last, func(t trial) bool { return t.changes() == 0 })]
	if current.loss() > standard.loss() {
		current = best
	}
	return current.option, nil
}

// worse reports whether a is worse than b beyond noise, or where there is no noise, at all.
func (t *tuner) worse(a, b trial) bool {
	d := difference(a, b, t.Confidence)
	if len(a.runs) == 1 {
		return d.Mean > 0
	}
	return d.Mean > 0 && d.Excludes(0)
}
