package sweep

import (
	"context"
	"errors"
	"maps"
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
	o := outcome{Values: values(result), Evidence: result.Evidence.Grade,
		SLOMet: result.SLOMet, Binds: result.Binds, Priced: result.PricedOver}
	result.PriceWholeRun()
	o.Whole = values(result)
	maps.DeleteFunc(o.Whole, func(name string, v float64) bool { return v == o.Values[name] })
	return o, nil
}

// values returns the figures that a result has, by the names of their metrics.
func values(r *scenarios.Result) map[string]float64 {
	list := map[string]float64{}
	for _, m := range planner.Metrics() {
		if v := m.Of(r); !math.IsNaN(v) {
			list[m.Name] = v
		}
	}
	return list
}

// reason says without file and line why a scenario cannot run: in a sweep the settings tell where.
func reason(err error) string {
	var list strict.Problems
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Message
	}
	return err.Error()
}
