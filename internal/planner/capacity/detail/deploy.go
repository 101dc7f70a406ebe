package detail

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Deploy simulates the chosen fleet whole, with and without its spares.
func (f *Fleet) Deploy(ctx context.Context) (*answer.Deployment, error) {
	var full, reduced oracle.Trial
	var file *scenarios.File
	var interrupted *answer.Interrupted
	var chances []answer.Chance
	var certainty *answer.Certainty
	fixed := 0
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		reduced, _, err = f.Simulate(within, f.Option, f.Replicas,
			candidate.AsPredicted(), 0)
		return err
	})
	group.Go(func() (err error) {
		var requests int64
		full, requests, err = f.Simulate(within, f.Option.Spared(f.Spare), f.Size(),
			candidate.AsPredicted(), 0)
		if err == nil {
			file, err = f.WholeFile(requests)
		}
		return err
	})
	group.Go(func() (err error) {
		interrupted, err = f.Interrupt(within)
		return err
	})
	group.Go(func() (err error) {
		chances, err = f.chances(within)
		return err
	})
	group.Go(func() (err error) {
		certainty, err = f.certainty(within)
		return err
	})
	if f.Option.Scaled() {
		group.Go(func() (err error) {
			fixed, err = f.fixedInstead(within, f.Option)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	d, err := f.Deployment(file, full, reduced)
	if err != nil {
		return nil, err
	}
	d.Interrupted, d.Chances, d.Certainty = interrupted, chances, certainty
	if fixed > 0 {
		d.Scaled.Fixed = fixed + f.Spare
		d.Scaled.FixedHourly = f.Option.Cost(fixed + f.Spare)
	}
	return d, nil
}

// WholeFile returns the scenario of the chosen fleet with all its replicas, for as many requests
// as were simulated, or where a part of the fleet was, as many as one of its size has.
func (f *Fleet) WholeFile(requests int64) (*scenarios.File, error) {
	p := &f.Trials.File.Plan
	if f.ByPart(f.Option, f.Size()) {
		requests = p.Together(f.Rate, f.Size())
	}
	o := f.Option.Spared(f.Spare)
	scenario := pooled(o, o.Scenario(&p.Menu, f.Size(), 1), f.Size())
	scenario.Tokens = p.Tokens
	return f.Trials.File.File(scenario, f.Rate, requests)
}

// Deployment describes the fleet, given its scenario and what that shows with and without spares.
func (f *Fleet) Deployment(file *scenarios.File, full, reduced oracle.Trial) (*answer.Deployment,
	error) {
	simulation, err := file.Build(policies.Default())
	if err != nil {
		return nil, err
	}
	defer simulation.Source.Close()
	text, err := simulation.Explain()
	if err != nil {
		return nil, err
	}
	o := f.Option
	load := simulation.Source.Summary().Text
	d := &answer.Deployment{
		Load: load[:max(0, strings.LastIndex(load, "; "))], Label: f.Label(),
		Replicas: f.Size(), Accelerators: f.Accelerators(),
		Hourly: f.Hourly, Base: f.Base(),
		Kept: full.All, KeptWithoutSpares: reduced.All, Classes: full.Classes,
		EnergyPerMillion: full.EnergyPerMillion, Binds: full.Binds,
		Scenario: string(text), Grade: o.Grade, Scaled: f.scaledFleet(&full), Law: f.law(),
	}
	if err := start(d, simulation); err != nil {
		return nil, err
	}
	if carbon := o.Sum((*candidate.Server).Emission) / o.Watts(); carbon > 0 {
		d.Carbon = carbon * d.EnergyPerMillion / 1000
	}
	millions := f.Millions
	if millions == 0 {
		millions = full.Flow * 3600 / 1e6
	}
	if millions > 0 {
		d.PerMillion, d.GPUHours = d.Hourly/millions, d.MeanAccelerators()/millions
	}
	d.Sold = f.Trials.File.Plan.Tokens.Sold(full.Tokens, millions, d.Hourly)
	return d, nil
}

// start sets the files and commands that start the fleet.
func start(d *answer.Deployment, s *scenarios.Simulation) error {
	bundle, err := launch.NewBundle(s, "")
	if err != nil {
		d.Unstartable = err.Error()
		return nil
	}
	d.Bundle, d.Lacks = bundle, bundle.Notes
	for i := range bundle.Servers {
		line, err := bundle.Servers[i].Line()
		if err != nil {
			return err
		}
		if !slices.Contains(d.Launch, line) {
			d.Launch = append(d.Launch, line)
		}
	}
	return nil
}
