package capacity

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

// deploy simulates the chosen fleet whole, with and without its spares.
func (s *search) deploy(ctx context.Context) (*answer.Deployment, error) {
	var full, reduced oracle.Trial
	var file *scenarios.File
	var interrupted *answer.Interrupted
	var chances []answer.Chance
	var certainty *answer.Certainty
	fixed := 0
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		reduced, _, err = s.Simulate(within, s.chosen(), s.outcomes[s.best].replicas,
			candidate.AsPredicted(), 0)
		return err
	})
	group.Go(func() (err error) {
		var requests int64
		full, requests, err = s.Simulate(within, s.chosen().Spared(s.Spare), s.size(),
			candidate.AsPredicted(), 0)
		if err == nil {
			file, err = s.wholeFile(requests)
		}
		return err
	})
	group.Go(func() (err error) {
		interrupted, err = s.interrupt(within)
		return err
	})
	group.Go(func() (err error) {
		chances, err = s.chances(within)
		return err
	})
	group.Go(func() (err error) {
		certainty, err = s.certainty(within)
		return err
	})
	if s.chosen().Scaled() {
		group.Go(func() (err error) {
			fixed, err = s.fixedInstead(within, s.chosen())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	d, err := s.deployment(file, full, reduced)
	if err != nil {
		return nil, err
	}
	d.Interrupted, d.Chances, d.Certainty = interrupted, chances, certainty
	if fixed > 0 {
		d.Scaled.Fixed = fixed + s.Spare
		d.Scaled.FixedHourly = s.chosen().Cost(fixed + s.Spare)
	}
	return d, nil
}

// wholeFile returns the scenario of the chosen fleet with all its replicas, for as many requests
// as were simulated, or where a part of the fleet was, as many as one of its size has.
func (s *search) wholeFile(requests int64) (*scenarios.File, error) {
	p := &s.Trials.File.Plan
	if s.ByPart(s.chosen(), s.size()) {
		requests = p.Together(s.Rate, s.size())
	}
	o := s.chosen().Spared(s.Spare)
	scenario := pooled(o, o.Scenario(&p.Menu, s.size(), 1), s.size())
	scenario.Tokens = p.Tokens
	return s.Trials.File.File(scenario, s.Rate, requests)
}

func (s *search) deployment(file *scenarios.File, full, reduced oracle.Trial) (*answer.Deployment,
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
	o := s.chosen()
	load := simulation.Source.Summary().Text
	d := &answer.Deployment{
		Load: load[:max(0, strings.LastIndex(load, "; "))], Label: s.label(s.best),
		Replicas: s.size(), Accelerators: s.accelerators(),
		Hourly: s.cost(), Base: s.baseOf(),
		Kept: full.All, KeptWithoutSpares: reduced.All, Classes: full.Classes,
		EnergyPerMillion: full.EnergyPerMillion, Binds: full.Binds,
		Scenario: string(text), Grade: o.Grade, Scaled: s.scaledFleet(&full), Law: s.law(),
	}
	if err := start(d, simulation); err != nil {
		return nil, err
	}
	if carbon := o.Sum((*candidate.Server).Emission) / o.Watts(); carbon > 0 {
		d.Carbon = carbon * d.EnergyPerMillion / 1000
	}
	millions := s.millions()
	if millions == 0 {
		millions = full.Flow * 3600 / 1e6
	}
	if millions > 0 {
		d.PerMillion, d.GPUHours = d.Hourly/millions, d.MeanAccelerators()/millions
	}
	d.Sold = s.Trials.File.Plan.Tokens.Sold(full.Tokens, millions, d.Hourly)
	return d, nil
}

// start sets the files and commands that start the fleet.
func start(d *answer.Deployment, s *scenarios.Simulation) error {
	bundle, err := launch.NewBundle(s, "")
	if err != nil {
		d.Unstartable = err.Error()
		return nil
	}
	d.Bundle = bundle
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

// millions returns how many million output tokens the load asks for in an hour; 0 if that depends
// on the fleet.
func (s *search) millions() float64 {
	flow := s.load().Flow
	if peak := s.Trials.File.Plan.Peak(); s.Rate != peak {
		flow *= s.Rate / peak // the goal was to raise it
	}
	if p := &s.Trials.File.Plan; p.Steady() && p.Peak() > 0 {
		flow *= p.Mean() / p.Peak()
	}
	return flow * 3600 / 1e6
}

// law returns how large fleets were judged: nil if the chosen one was simulated whole.
func (s *search) law() *answer.Law {
	if s.best < 0 || !s.ByPart(s.chosen(), s.size()) {
		return nil
	}
	return &answer.Law{Replicas: s.size(), Simulated: oracle.Standing, Whole: oracle.MostWhole}
}
