// Package deployment assembles servers: a model on accelerators, under an engine and its policies,
// becomes the sim.ReplicaConfig that a simulation runs. Scenarios, validation, fits and planners
// all build their servers here, so that what is held against measurements is what users run.
package deployment

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
)

// Config says what one replica is.
type Config struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, Network joins nodes, and HostLink joins each
	// accelerator and its host. Each may be nil where there is none.
	ScaleUp, Network, HostLink *hardware.Link
	// Parallel says over how many accelerators the replica is spread.
	Parallel steptime.Parallelism
	// Weights, KV and Activations are number formats. Empty ones follow the model, see
	// steptime.Config.
	Weights, KV, Activations hardware.DType
	// Engine is a preset, perhaps with times changed.
	Engine steptime.Engine
	// MaxContext is the longest prompt and answer together that is served, in tokens; 0 means no
	// limit.
	MaxContext int
	Memory     Memory
	Policies   Policies
	// Speculation names the method of speculative decoding; "" means none.
	Speculation string
	Physics     Physics
}

// Physics changes what predictions rest on. Its zero value leaves everything as llmsim ships it.
type Physics struct {
	// Constants are the efficiencies of the accelerator; nil takes the fitted ones.
	Constants *hardware.Constants
	// Host is how many times longer the host takes than that of an H100 machine; 0 means as
	// measured.
	Host float64
	// Operators are kernels measured on the accelerator; nil means none.
	Operators *steptime.Tables
	// Given are step times that take the place of all predictions; nil means none.
	Given *steptime.Given
	// Images are what every prompt begins with.
	Images steptime.Images
	// Adjusted says that times of Config.Engine are not those of its preset.
	Adjusted bool
	// Slowdown is a factor on the times of all steps; 0 means 1.
	Slowdown float64
}

// NewClock returns the clock that predicts the steps of a replica. The error says why the replica
// cannot run as configured; whether the model fits into memory is another question, see PlanMemory.
func (c *Config) NewClock() (*steptime.Clock, error) {
	s := steptime.Config{
		Model: c.Model, Accelerator: c.Accelerator, Parallel: c.Parallel,
		Weights: c.Weights, KV: c.KV, Activations: c.Activations, Engine: c.Engine,
		Constants: c.Physics.Constants, Host: c.Physics.Host, Operators: c.Physics.Operators,
		Given: c.Physics.Given, Slowdown: c.Physics.Slowdown, Images: c.Physics.Images,
	}
	// Links that are not used are left out, and with them the warnings about them.
	if n := c.Parallel.GPUs(); n > 1 {
		s.ScaleUp = c.ScaleUp
		if n > c.Accelerator.PerNode {
			s.Network = c.Network
		}
	}
	return steptime.New(s)
}

// Server is a replica that fits, from which any number of equal ones are made.
type Server struct {
	Config
	// Plan is where the memory of each accelerator goes.
	Plan steptime.MemoryPlan
	// Clock predicts the steps. Replicas share it; it is used by one goroutine at a time.
	Clock *steptime.Clock
}

// New plans the memory of a replica and makes its clock. A model that does not fit is an error.
func New(c Config) (*Server, error) {
	plan, err := c.PlanMemory()
	if err == nil {
		err = plan.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s on %d × %s: %w", c.Model.Name, c.Parallel.GPUs(),
			c.Accelerator.Name, err)
	}
	clock, err := c.NewClock()
	if err != nil {
		return nil, err
	}
	return &Server{Config: c, Plan: plan, Clock: clock}, nil
}
