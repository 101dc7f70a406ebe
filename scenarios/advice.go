package scenarios

import (
	"fmt"
	"sort"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
)

// whatWouldFit names the least changes with which the model fits: more accelerators, a larger one,
// or smaller weights.
func (p *server) whatWouldFit() string {
	if p.Plan.Missing == 0 {
		return fmt.Sprintf("Raise memory.tokens to %d or more.", p.Plan.LeastTokens())
	}
	degrees := p.s.Parallelism.degrees()
	var ways []string
	if fewer := p.fewerSlots(); fewer != "" {
		ways = append(ways, fewer)
	}
	for tp := degrees.Tensor * 2; tp <= max(1, p.Config.Accelerator.PerNode); tp *= 2 {
		if p.holds(p.spread(steptime.Parallelism{Tensor: tp, Pipeline: degrees.Pipeline,
			Data: degrees.Data})) {
			ways = append(ways, fmt.Sprintf("with tensor parallelism %d", tp))
			break
		}
	}
	if experts := p.Config.Model.Experts(); experts != nil {
		for ranks := max(1, degrees.Data) * 2; degrees.Tensor*ranks <= experts.Experts; ranks *= 2 {
			wider := steptime.Parallelism{Tensor: degrees.Tensor, Pipeline: degrees.Pipeline,
				Data: ranks}
			if p.holds(p.spread(wider)) {
				ways = append(ways,
					fmt.Sprintf("with data parallelism %d, which spreads the experts", ranks))
				break
			}
		}
	}
	if larger := p.smallestLargerAccelerator(degrees); larger != "" {
		ways = append(ways, "on "+larger)
	}
	for _, d := range []hardware.DType{hardware.FP8, hardware.INT4} {
		c := p.spread(degrees)
		if c.Weights = d; p.holds(c) {
			ways = append(ways, fmt.Sprintf("with weights in %s", d))
			break
		}
	}
	if ways == nil {
		return "Spread it over more accelerators: raise parallelism.tensor or parallelism.pipeline."
	}
	return "It would fit " + strings.Join(ways, ", or ") + "."
}

// smallestLargerAccelerator returns the name of the accelerator of the same kind with the least
// memory on which the model fits, "" where there is none.
func (p *server) smallestLargerAccelerator(degrees steptime.Parallelism) string {
	best, least := "", 0.0
	for _, a := range p.catalog.Accelerators {
		c := p.spread(degrees)
		c.Accelerator = &a
		if a.Kind == p.Config.Accelerator.Kind && (best == "" || a.Memory < least) && p.holds(c) {
			best, least = a.Name, a.Memory
		}
	}
	return best
}

// fewerSlots says with how many slots for adapters the model would fit, "" if it would with none.
func (p *server) fewerSlots() string {
	slots := p.Config.Adapters.Slots
	hold := sort.Search(slots, func(n int) bool { // n slots are held, and not one more
		c := p.spread(p.s.Parallelism.degrees())
		c.Adapters.Slots = n + 1
		return !p.holds(c)
	})
	if hold == 0 {
		return ""
	}
	return fmt.Sprintf("with %d slots for adapters (adapters.slots)", hold)
}
