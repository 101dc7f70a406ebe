package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// mostSteps bounds a run. A scenario that takes more is passed over.
const mostSteps = 60_000

// errLong is the error of a run that takes too many steps.
var errLong = errors.New("the run takes too many steps")

// run is what came of a scenario in one way of running it.
type run struct {
	simulation *scenarios.Simulation
	watch      *observer // nil for runs on several processors
	result     *scenarios.Result
	json       []byte // what --format json prints
	csv        []byte // requests.csv
}

// execute runs a scenario on a number of processors, step by step if asked, with more observers.
func execute(registry *policies.Registry, s object, processors int, stepwise bool,
	more ...func(*scenarios.Simulation) sim.Observer) (r *run, err error) {
	defer panics(&err)
	simulation, err := build(registry, s, processors)
	if err != nil {
		return nil, err
	}
	r = &run{simulation: simulation}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var table bytes.Buffer
	requests := report.NewRequests(&table)
	observers := []sim.Observer{requests}
	if processors == 1 {
		config := simulation.Config()
		r.watch = newObserver(&config, stop)
		observers = append(observers, r.watch)
	}
	if stepwise {
		r.watch.users = &users{map[try]*answer{}, map[sim.Time]int64{}}
		simulation.StepByStep(r.watch.users.token)
	}
	for _, o := range more {
		observers = append(observers, o(simulation))
	}
	if r.result, err = simulation.Run(ctx, observers...); err != nil {
		if errors.Is(err, context.Canceled) {
			err = errLong
		}
		return r, err
	}
	if err := requests.Close(); err != nil {
		return r, err
	}
	r.csv = table.Bytes()
	r.json, err = document(r.result)
	return r, err
}

// document returns what --format json prints.
func document(r *scenarios.Result) ([]byte, error) {
	var out bytes.Buffer
	err := report.JSON(&out, diagnosis.NewDocument(r))
	return out.Bytes(), err
}

// plainJSON decodes a result.
func plainJSON(data []byte) object {
	var all object
	fatal(json.Unmarshal(data, &all))
	return all
}

// printed returns what a terminal shows.
func printed(r *scenarios.Result) (string, error) {
	var out strings.Builder
	err := doc.Print(&out, diagnosis.Summary(r))
	return out.String(), err
}
