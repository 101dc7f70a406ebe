package scaling

import (
	"errors"
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// ColdStart is what happens between the decision to start a replica and its first request: the
// machine comes up, and weights are streamed to the accelerators over each part of their way, of
// which the slowest sets the pace (ServerlessLLM, Fu et al., OSDI 2024, section 4).
type ColdStart struct {
	// Boot is the time for machine, container and engine: all that is no loading of weights.
	Boot sim.Time
	// Weights is the size of the weights of the replica in bytes.
	Weights float64
	// Disk, Network and PCIe are bandwidths in byte/s of the replica together; 0 means that the
	// weights do not go that way. One of Disk and Network is needed where there are weights.
	Disk, Network, PCIe float64
}

// Time returns how long the start takes.
func (c ColdStart) Time() (sim.Time, error) {
	if c.Boot < 0 || !(c.Weights >= 0) || math.IsInf(c.Weights, 1) {
		return 0, fmt.Errorf("boot takes %v and weights have %g bytes, want 0 or more", c.Boot,
			c.Weights)
	}
	slowest := math.Inf(1)
	for _, bandwidth := range []float64{c.Disk, c.Network, c.PCIe} {
		switch {
		case !(bandwidth >= 0):
			return 0, fmt.Errorf("found a bandwidth of %g byte/s, want 0 or more", bandwidth)
		case bandwidth > 0:
			slowest = min(slowest, bandwidth)
		}
	}
	if c.Weights == 0 {
		return c.Boot, nil
	}
	if c.Disk == 0 && c.Network == 0 {
		return 0, errors.New("a cold start needs a source of weights: give the bandwidth of a " +
			"disk or of a network")
	}
	return c.Boot + sim.Seconds(c.Weights/slowest), nil
}
