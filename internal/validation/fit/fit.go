// Package fit refits the constants of hardware/fitted and of the engine presets to measurements.
//
// Each constant has a range that physics and data sheets allow (constants.go). The fit finds the
// most probable constants given that range and the measured rows, under a robust loss: Gauss–Newton
// steps on the whole simulator, whose linear problem gonum/optimize solves (problem.go). For the
// slopes, a sample of 24 steps of a server's run is timed again; each round ends with a simulation.
// Tables of kernels are thinned to about 40 rows a GPU, and benchmarks to every third or fourth
// row; errors in the fit are over all rows. A constant of which the rows say less than its prior
// does is its prior (known, in problem.go).
//
// The fit then leaves out each model, and each GPU, to see how wrong predictions are of what was
// not measured (leaveout.go): one step from the solution for all rows, with its slopes.
package fit

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/validation"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// Result is what a fit found.
type Result struct {
	// Constants are all that predictions of the rows rest on, Errors the errors of the predictions.
	Constants []Constant `json:"constants"`
	Errors    []Error    `json:"errors"`
	// Goals are what the fitted constants reach on all rows, with the errors of rows left out of
	// the fit with their group.
	Goals []accuracy.GoalResult `json:"goals"`
	// Rows is the number of measured figures that were fitted to.
	Rows int `json:"rows"`
	// Effective is how many constants the rows determine, at most the number of Constants that are
	// not their prior: each counts by the share of its variance that the rows take away.
	Effective float64 `json:"effective_constants"`

	fitted *values
	// hosts is the deviation of machines' hosts from the typical ones.
	hosts  float64
	owners map[owner]basis
	// leftOut are the rows of goals, predicted without their group.
	leftOut *leftOut
	draws   []validation.Draw
	laws    powerLaws
}

// Constant is a constant before and after the fit.
type Constant struct {
	// Scope is "accelerator", "link" or "engine", Of the name of one.
	Scope string `json:"scope"`
	Of    string `json:"of"`
	Name  string `json:"name"`
	// Time reports whether the values are in seconds; others are fractions, counts or bytes.
	Time bool `json:"time"`
	// Shipped is the value that comes with the program, Fitted the new one.
	Shipped float64 `json:"shipped"`
	Fitted  float64 `json:"fitted"`
	// Deviation is the relative standard deviation of Fitted, given the rows and what is believed
	// without them.
	Deviation float64 `json:"deviation"`
	// Prior reports that the rows do not determine the constant, so that Fitted is its prior.
	Prior bool `json:"prior"`
}

// owner is what constants belong to.
type owner struct {
	scope scope
	name  string
}

// basis is the rows on which the constants of an owner rest.
type basis struct {
	rows   int
	error  float64 // median absolute relative error
	tables []string
	// only names the owners that alone were fitted, for study; nil for a fit of all.
	only []string
}

// Run fits the constants of the given engines, accelerators and links to the data, or of all where
// they are not given, and leaves out each model and each accelerator in turn. Other constants stay
// as they ship. It reports to progress what it does. A name without constants is an error.
func Run(ctx context.Context, data *validation.Data, owners []string, progress func(string)) (
	*Result, error) {
	p, shipped, err := newProblem(ctx, data, owners, progress)
	if err != nil {
		return nil, err
	}
	if len(p.rows) == 0 {
		return nil, errors.New("nothing to fit to: no known table with measured times")
	}
	start := p.pointOf(p.shipped)
	all, err := p.solve(ctx, start, nil)
	if err != nil {
		return nil, err
	}
	known, deviations, err := p.known(all)
	if err != nil {
		return nil, err
	}
	for j := range known {
		switch k := &p.parameters[j]; {
		case known[j]:
			start[j] = all.at[j]
		case !strings.Contains(p.shipped.engines[k.owner].Source, "; "+k.name+":"):
			start[j] = p.within(j, k.centre)
		} // what an engine's source says was measured apart stays as it is
	}
	final, err := p.solve(ctx, start, known)
	if err != nil {
		return nil, err
	}
	result := &Result{Rows: len(p.rows), fitted: p.valuesAt(final.at), hosts: p.hosts,
		owners: p.bases(final.errors)}
	result.Constants = p.constants(final.at, known, deviations)
	result.Effective = p.effective(deviations)
	physics := result.fitted.physics()
	result.draws = data.Draws(physics)
	if result.laws, err = fitPower(result.draws); err != nil {
		return nil, err
	}
	physics.Power = result.laws.of
	fitted, err := data.Compare(ctx, physics)
	if err != nil {
		return nil, err
	}
	models, accelerators, err := p.leaveOut(ctx, p.data, final)
	if err != nil {
		return nil, err
	}
	result.Errors = errorsOf(shipped, fitted, models, accelerators)
	groups, err := p.leaveOutGroups(ctx, data, fitted, final, result.draws)
	if err != nil {
		return nil, err
	}
	result.Goals, result.leftOut = fitted.GoalsBeside(&groups.groups), groups
	return result, nil
}

func (p *problem) constants(x point, known []bool, deviations []float64) []Constant {
	list := make([]Constant, len(x))
	for j := range x {
		k := &p.parameters[j]
		list[j] = Constant{string(k.scope), k.owner, k.name, k.counts == "time", k.get(p.shipped),
			math.Exp(x[j]), deviations[j], !known[j]}
	}
	return list
}

// bases sums up the rows by what they depend on. Single kernels count where nothing larger was
// measured, and for no engine.
func (p *problem) bases(errors []float64) map[owner]basis {
	served, kernels := map[owner][]int{}, map[owner][]int{}
	for i := range p.rows {
		r := &p.rows[i]
		for _, o := range p.ownersOf(r) {
			if r.kernel {
				kernels[o] = append(kernels[o], i)
			} else {
				served[o] = append(served[o], i)
			}
		}
	}
	list := map[owner]basis{}
	for o := range p.owners() {
		rows := served[o]
		if len(rows) == 0 {
			rows = kernels[o]
		}
		if len(rows) == 0 {
			continue
		}
		var of []float64
		e := basis{rows: len(rows)}
		for _, i := range rows {
			of = append(of, errors[i])
			if table := p.rows[i].table; !slices.Contains(e.tables, table) {
				e.tables = append(e.tables, table)
			}
		}
		e.error = medianError(of)
		e.only = p.only
		list[o] = e
	}
	return list
}

// owners are all accelerators, links and engines that have parameters.
func (p *problem) owners() map[owner]bool {
	all := map[owner]bool{}
	for j := range p.parameters {
		all[owner{p.parameters[j].scope, p.parameters[j].owner}] = true
	}
	return all
}

// ownersOf lists what the prediction of a row rests on.
func (p *problem) ownersOf(r *row) []owner {
	var list []owner
	for _, j := range r.parameters {
		if j < 0 {
			continue
		}
		o := owner{p.parameters[j].scope, p.parameters[j].owner}
		idle := o.scope == link && r.TP == 1 || o.scope == engine && r.Engine == ""
		if !idle && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}
