package steptime

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
)

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
		kernels, err := hardware.FindKernels(c.Engine.Kernels, c.Accelerator)
		if err != nil {
			return c, nil, err
		}
		c.Kernels = kernels
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

// at returns the configuration with the level of the engine's version, if it has one. A version
// that is not known has no levels.
func (c Config) at() Config {
	if c.Version.IsZero() || c.Engine.Roofline {
		return c
	}
	i := slices.IndexFunc(c.Engine.Levels, func(l Level) bool {
		return l.Versions.Has(c.Version) && among(l.Generations, c.Accelerator.Generation) &&
			among(l.Formats, c.Weights)
	})
	if i < 0 {
		return c
	}
	l := &c.Engine.Levels[i]
	c.Engine.Served.Fixed = or1(c.Engine.Served.Fixed) * or1(l.Fixed)
	for _, factor := range []*float64{&c.Factors.Prompts, &c.Factors.Memory, &c.Factors.Cache} {
		*factor = or1(*factor) * or1(l.Work)
	}
	return c
}

// among reports whether x is in a list, or the list is empty.
func among[T comparable](list []T, x T) bool { return len(list) == 0 || slices.Contains(list, x) }

// servedBy returns the factors of the engine's kernels in a server.
func servedBy(c *Config) Served {
	s := c.Engine.Served
	if p := &c.Parallel; c.Engine.DeepGEMM && p.Data > 1 && p.Expert > 1 {
		s.FP8, s.ExpertsFP8 = 1, 1
	}
	return s
}
