package sweep

import (
	"context"
	"errors"
	"math"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

// Kind is the kind of tasks that are points of a sweep.
const Kind = "sweep"

// Simulate runs the scenario of a point; it is a queue.Handler. A scenario that cannot run is an
// outcome, and not an error.
func Simulate(ctx context.Context, f *scenarios.File, _ string) (any, error) {
	simulation, err := f.Build(policies.Default())
	if scenarios.IsInputError(err) {
		return outcome{Reason: reason(err)}, nil
	}
	if err != nil {
		return nil, err
	}
	if c := simulation.Scenario.Currency(); c != "" {
		return outcome{Reason: "prices are in " + c.Code() + ", and sweeps have US dollars: " +
			"convert them"}, simulation.Source.Close()
	}
	result, err := simulation.Run(ctx)
	if err != nil {
		return nil, err
	}
	o := outcome{Values: map[string]float64{}, Evidence: result.Evidence.Grade,
		SLOMet: result.SLOMet, Binds: result.Binds}
	for _, m := range planner.Metrics() {
		if v := m.Of(result); !math.IsNaN(v) {
			o.Values[m.Name] = v
		}
	}
	return o, nil
}

// reason says without file and line why a scenario cannot run: in a sweep the settings tell where.
func reason(err error) string {
	var list strict.Problems
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Message
	}
	return err.Error()
}
