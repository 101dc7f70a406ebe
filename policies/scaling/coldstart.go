package scaling

import (
	"errors"
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// ColdStart describes the start of a replica, from the decision to its first request. The machine
// comes up, and then weights are streamed to the accelerators. The slowest part of their way sets
// the pace (ServerlessLLM, Fu et al., OSDI 2024, section 4).
type ColdStart struct {
	// Boot is the time in which machine, container and engine start, without the loading of
	// weights.
	Boot sim.Time
	// Weights is the size of the weights of the replica in bytes.
	Weights float64
	// Disk, Network and PCIe are the bandwidths of the whole replica, in byte/s; 0 means that the
	// weights do not go that way. If there are weights, Disk or Network must be given.
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
