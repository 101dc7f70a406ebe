// Package deployment assembles servers: it makes the sim.ReplicaConfig of a model on accelerators,
// under an engine and its policies. Scenarios, validation, fits and planners all build their
// servers here, so that measurements are compared with the same servers that users simulate.
package deployment

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
)

// Config describes one replica.
type Config struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, Network joins nodes, and HostLink joins each
	// accelerator with its host. Each is nil if there is no such link.
	ScaleUp, Network, HostLink *hardware.Link
	// Parallel says how the replica is spread over accelerators.
	Parallel steptime.Parallelism
	// Weights, KV and Activations are number formats. Empty ones follow the model, see
	// steptime.Config.
	Weights, KV, Activations hardware.DType
	// Engine is a preset, whose times may be changed.
	Engine steptime.Engine
	// Release is the engine and its version, which determine its defaults. The zero Release means
	// the newest version of Engine with evidence.
	Release engines.Release
	// MaxContext is the longest prompt and answer together that is served, in tokens; 0 means no
	// limit.
	MaxContext int
	Memory     Memory
	Policies   Policies
	// Speculation names the method of speculative decoding; "" means no drafts.
	Speculation string
	// Adapters are the adapters of the model.
	Adapters steptime.Adapters
	// EncoderCache is the number of tokens of images and sounds whose encodings are kept, and
	// EncodersApart says that replicas do not encode them.
	EncoderCache  int
	EncodersApart bool
	Physics       Physics
}

// Physics changes the basis of predictions. Its zero value changes nothing.
type Physics struct {
	// Constants are the efficiencies of the accelerator; nil takes the fitted ones.
	Constants *hardware.Constants
	// Host is the time of the host, as a multiple of the time of an H100 machine's host; 0 means as
	// measured.
	Host float64
	// Operators are kernels measured on the accelerator; nil means no tables.
	Operators *steptime.Tables
	// Given are step times that replace all predictions; nil means no given times.
	Given *steptime.Given
	// Images are the images that every prompt begins with.
	Images steptime.Images
	// Adjusted says that times of Config.Engine differ from its preset's.
	Adjusted bool
	// Factors come from a deployment to which the predictions were fitted.
	Factors steptime.Factors
	// Spread is the unevenness of routers' choices of experts; 0 leaves what the model's family
	// does with text.
	Spread float64
	// Slowdown is a factor on the times of all steps; 0 means 1.
	Slowdown float64
}

// NewClock returns the clock that predicts the steps of a replica. The error says why the replica
// cannot run as configured. NewClock does not check whether the model fits into memory: see
// PlanMemory.
func (c *Config) NewClock() (*steptime.Clock, error) {
	s := steptime.Config{
		Model: c.Model, Accelerator: c.Accelerator, Parallel: c.Parallel,
		Weights: c.Weights, KV: c.KV, Activations: c.Activations, Engine: c.Engine,
		Version:   c.version(),
		Constants: c.Physics.Constants, Host: c.Physics.Host, Operators: c.Physics.Operators,
		Given: c.Physics.Given, Slowdown: c.Physics.Slowdown, Images: c.Physics.Images,
		Factors: c.Physics.Factors, Adapters: c.Adapters, Spread: c.Physics.Spread,
	}
	if c.EncodersApart {
		s.Images = steptime.Images{}
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

// Server is a replica that fits, from which any number of equal replicas can be made.
type Server struct {
	Config
	// Plan says what the memory of each accelerator is used for.
	Plan steptime.MemoryPlan
	// Clock predicts the steps. Replicas share it; it is used by one goroutine at a time.
	Clock *steptime.Clock
}

// New plans the memory of a replica and makes its clock. A model that does not fit is an error.
func New(c Config) (*Server, error) {
	if _, err := c.release(); err != nil {
		return nil, fmt.Errorf("the preset %q has no defaults: %w", c.Engine.Name, err)
	}
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
