package fit

import (
	"time"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// validity is how long a fit holds, if nothing says that the machine changed: engines are released
// every two or three weeks, and drivers every quarter.
const validity = 90 * 24 * time.Hour

// Deployment returns what a deployment.yaml says of the fit. Measured is the day of the
// measurements, as 2026-11-23; empty if it is not known, so that nothing expires.
func (r *Result) Deployment(server *Server, o *observed.Observed,
	measured string) (*scenarios.Fitted, error) {
	file, err := server.Load()
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return nil, err
	}
	s := &steps.Scenario
	d := &scenarios.Fitted{Model: steps.Model.Name, Accelerator: steps.Accelerator.Name,
		Tensor: s.Parallelism.Tensor, Engine: s.Engine.Preset, EngineVersion: s.Engine.Version,
		Flags: o.Server.Flags, Measured: measured, Factors: r.Values(),
		Deviations: scenarios.Deviations(r.Deviations()), Errors: r.HeldOut()}
	load := o.Traffic()
	d.Traffic = scenarios.Traffic{Rate: load.Rate, Prompt: load.Prompt, Output: load.Output}
	d.Traffic.LeastUsers, d.Traffic.MostUsers = r.problem.users()
	if at, err := time.Parse(time.DateOnly, measured); err == nil {
		d.Expires = at.Add(validity).Format(time.DateOnly)
	}
	return d, nil
}
