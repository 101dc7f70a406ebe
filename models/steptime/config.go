package steptime

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
)

// Config describes a replica: the model, the accelerators, the parallelism and the engine.
type Config struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, and Network those of different nodes. Each may be
	// nil if it is not needed.
	ScaleUp, Network *hardware.Link
	Parallel         Parallelism
	// Weights is the number format of the layers' matrices, KV that of the cache, and Activations
	// that of everything else. Empty formats follow the model: the published format for weights,
	// and 16 bits for the others, or 32 if the model is published in 32 bits.
	Weights, KV, Activations hardware.DType
	Engine                   Engine
	// Version is the release of the engine; the zero Version if it is not known.
	Version engines.Version
	// Constants are the fitted efficiencies of the accelerator; nil takes those of the nearest
	// measured relative.
	Constants *hardware.Constants
	// Kernels are the constants of the engine's kernels on the accelerator. If it is nil, the
	// constants are those of the engine's family on the nearest relative that was measured.
	Kernels *hardware.Kernels
	// Host is the time of the host, as a multiple of the time of an H100 machine's host; 0 takes
	// the value of Constants.
	Host float64
	// Operators are kernels measured on the accelerator, which replace formulas within the measured
	// range; nil means none.
	Operators *Tables
	// Given are step times that replace all predictions; nil means none.
	Given *Given
	// Images are the images that every prompt begins with.
	Images Images
	// Adapters are the adapters of the model.
	Adapters Adapters
	// Factors are those of a deployment to which the predictions were fitted.
	Factors Factors
	// Slowdown is a factor on the predicted times of all steps, to show what follows if the
	// prediction is wrong; 0 means 1.
	Slowdown float64
}

// Parallelism says how one replica is spread over accelerators. Zero means 1.
type Parallelism struct {
	// Tensor splits each layer, Pipeline splits the layers into stages. Expert, a divisor of
	// Tensor, spreads the routed experts over this number of groups instead of splitting each over
	// all.
	Tensor, Pipeline, Expert int
	// Data is the number of data-parallel ranks. A rank has Tensor accelerators in each stage and
	// all weights except those of routed experts. It serves sequences of its own, and all ranks
	// take their steps together. The routed experts are shared by all ranks. With Expert =
	// Tensor·Data, or 0, they are spread over the accelerators of all ranks. With Expert = 1, each
	// expert is split over all of them.
	Data int
	// Redundant is the number of additional copies of experts, for the experts that are chosen
	// most. Expert divides experts and copies together, so the number of groups need not divide the
	// number of experts.
	Redundant int
	// TwoBatch computes prompts in two halves, so that one half exchanges tokens while the other
	// half computes.
	TwoBatch bool
}

// GPUs returns the number of accelerators of one replica.
func (p Parallelism) GPUs() int { return max(1, p.Tensor) * max(1, p.Pipeline) * max(1, p.Data) }

// copies returns the mean number of copies of a routed expert.
func (p Parallelism) copies(a *models.Architecture) float64 {
	if p.Redundant == 0 {
		return 1
	}
	return 1 + float64(p.Redundant)/float64(a.Experts().Experts)
}

// Complete returns p with its defaults.
func (p Parallelism) Complete() Parallelism {
	p.Tensor, p.Pipeline, p.Data = max(1, p.Tensor), max(1, p.Pipeline), max(1, p.Data)
	if p.Expert == 0 && p.Data > 1 {
		p.Expert = p.Tensor * p.Data
	}
	p.Expert = max(1, p.Expert)
	return p
}

// resolve fills in defaults, checks that the configuration can run, and returns it with warnings.
func (c Config) resolve() (Config, []string, error) {
	if c.Model == nil || c.Accelerator == nil {
		return c, nil, fmt.Errorf("a step clock needs a model and an accelerator")
	}
	if c.Adapters.Count > 0 && c.Given != nil {
		return c, nil, fmt.Errorf("given step times leave no place for those of adapters")
	}
	c.Parallel = c.Parallel.Complete()
	p := c.Parallel
	if err := checkParallelism(c.Model, p); err != nil {
		return c, nil, err
	}
	if p.Data > 1 && c.Operators != nil {
		return c, nil, fmt.Errorf(
			"measured operators have no data-parallel attention; leave out the tables or data " +
				"parallelism")
	}
	within := p.Tensor > 1 && c.Accelerator.PerNode > 1 || p.GPUs() > 1 && !c.crossesNodes()
	if within && c.ScaleUp == nil && !c.Engine.Roofline {
		return c, nil, fmt.Errorf("%d accelerators need a link between them, and %s has none",
			p.GPUs(), c.Accelerator.Name)
	}
	if c.crossesNodes() && c.Network == nil && !c.Engine.Roofline {
		return c, nil, fmt.Errorf("%d accelerators need a network: a node of %s holds %d", p.GPUs(),
			c.Accelerator.Name, c.Accelerator.PerNode)
	}
	wide := hardware.BF16
	if c.Model.DType == hardware.FP16 || c.Model.DType == hardware.FP32 {
		wide = c.Model.DType
	}
	c.Weights = defaultDType(c.Weights, c.Model.DType)
	c.Weights = defaultDType(c.Weights, wide)
	c.Activations = defaultDType(c.Activations, wide)
	c.KV = defaultDType(c.KV, c.Activations)
	if err := refuseShards(c.Engine.Kernels, c.Model, p, c.Weights); err != nil {
		return c, nil, err
	}
	warnings := c.findConstants()
	if c.Kernels == nil && c.Engine.Kernels != "" {
		c.Kernels = hardware.FindKernels(c.Engine.Kernels, c.Accelerator)
	}
	if c.Host > 0 {
		constants := *c.Constants
		constants.Host = c.Host
		c.Constants = &constants
	}
	return c.at(), warnings, nil
}

// findConstants sets the constants that are not given, and returns warnings about them.
func (c *Config) findConstants() []string {
	switch {
	case c.Constants != nil:
		return nil
	case c.Engine.Roofline:
		roofline := hardware.Roofline()
		c.Constants = &roofline
		return nil
	}
	constants, warnings := hardware.FittedConstants(c.Accelerator, c.ScaleUp, c.Network)
	c.Constants = &constants
	return warnings
}

func defaultDType(d, otherwise hardware.DType) hardware.DType {
	if d == "" {
		return otherwise
	}
	return d
}

// crossesNodes reports whether one replica needs more accelerators than a node has.
func (c *Config) crossesNodes() bool { return c.Parallel.GPUs() > max(1, c.Accelerator.PerNode) }

// checkParallelism returns an error if a model cannot be spread as asked.
func checkParallelism(a *models.Architecture, p Parallelism) error {
	tp, experts := p.Tensor, a.Experts()
	if err := a.FitsTensor(tp); err != nil {
		return fmt.Errorf("tensor parallelism %d %w; use one of %v", tp, err, divisors(a))
	}
	switch {
	case p.Pipeline > a.Layers():
		return fmt.Errorf("%d pipeline stages are more than the %d layers of %s", p.Pipeline,
			a.Layers(), a.Name)
	case p.Data > 1 && experts == nil:
		return fmt.Errorf("data parallelism %d shares routed experts between ranks, and %s has "+
			"none; use replicas: %d instead", p.Data, a.Name, p.Data)
	case p.Expert > 1 && experts == nil:
		return fmt.Errorf("expert parallelism %d needs a mixture of experts, and %s is none",
			p.Expert, a.Name)
	case p.Data > 1 && p.Expert != 1 && p.Expert != tp*p.Data:
		return fmt.Errorf("expert parallelism %d with data parallelism: the experts are spread "+
			"over all %d accelerators of a stage; leave expert out, or make it %d, or 1 to split "+
			"each over all", p.Expert, tp*p.Data, tp*p.Data)
	case p.Data > 1 && p.Expert == 1 && experts.Intermediate%(tp*p.Data) != 0:
		return fmt.Errorf("%d accelerators do not divide the %d channels of an expert of %s; "+
			"leave expert out", tp*p.Data, experts.Intermediate, a.Name)
	case p.Data == 1 && tp%p.Expert != 0:
		return fmt.Errorf("expert parallelism %d must divide tensor parallelism %d", p.Expert, tp)
	case p.TwoBatch && p.Data == 1:
		return fmt.Errorf("two-batch overlap hides the exchange between data-parallel ranks, and " +
			"there is one rank; set data, or leave overlap out")
	case p.Redundant < 0 || p.Redundant > 0 && p.Expert == 1:
		return fmt.Errorf("%d redundant experts: copies are for experts that are spread over "+
			"several groups (expert or data)", p.Redundant)
	case p.Redundant > 0 && p.Redundant > experts.Experts:
		return fmt.Errorf("%d redundant experts are more than the %d of %s", p.Redundant,
			experts.Experts, a.Name)
	case p.Expert > 1 && (experts.Experts+p.Redundant)%p.Expert != 0:
		missing := p.Expert - (experts.Experts+p.Redundant)%p.Expert
		return fmt.Errorf("expert parallelism %d does not divide the %d experts of %s; use one "+
			"of %v, or %d redundant experts",
			p.Expert, experts.Experts+p.Redundant, a.Name, expertDivisors(experts.Experts),
			p.Redundant+missing)
	}
	return nil
}

// expertDivisors lists the degrees of expert parallelism above 1 that the given number of experts
// allow.
func expertDivisors(experts int) []int {
	var ds []int
	for ep := 2; ep <= experts; ep++ {
		if experts%ep == 0 {
			ds = append(ds, ep)
		}
	}
	return ds
}

// divisors lists the degrees of tensor parallelism up to 64 that the layers of a allow.
func divisors(a *models.Architecture) []int {
	var ds []int
	for tp := 1; tp <= 64; tp++ {
		if a.FitsTensor(tp) == nil {
			ds = append(ds, tp)
		}
	}
	return ds
}
