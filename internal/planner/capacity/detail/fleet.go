// Package detail says what an answer shows of the best fleet: what it does with and without its
// spares, how sure that is, what interruptions cost, and the files that start it.
package detail

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
)

// Fleet is the best fleet.
type Fleet struct {
	judge.Judge
	Option   *candidate.Option
	Replicas int // without the spares
	// Running is how many run on average, spares included, of a fleet that is scaled.
	Running float64
	Hourly  float64 // in units of the currency
	// Millions is how many million output tokens the load asks for in an hour; 0 if that depends on
	// the fleet.
	Millions float64
	// LeastFixed returns the least fixed number of replicas of a scaled option that may do.
	LeastFixed func(context.Context, *candidate.Option) (int, error)
}

// Size returns the number of replicas, spares included.
func (f *Fleet) Size() int { return f.Replicas + f.Spare }

// Accelerators returns the number of accelerators, those of the spares included.
func (f *Fleet) Accelerators() int { return f.Size() * f.Option.GPUs }

// Label names the option.
func (f *Fleet) Label() string { return f.Option.Label(&f.Trials.File.Plan.Menu) }

// law returns how large fleets were judged: nil if the chosen one was simulated whole.
func (f *Fleet) law() *answer.Law {
	if !f.ByPart(f.Option, f.Size()) {
		return nil
	}
	return &answer.Law{Replicas: f.Size(), Simulated: oracle.Standing, Whole: oracle.MostWhole}
}
