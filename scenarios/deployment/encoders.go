package deployment

import (
	"fmt"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

// encodings returns the cache of encoded images and sounds, nil without one.
func (c *Config) encodings() (*memory.Encodings, error) {
	if c.EncoderCache == 0 {
		return nil, nil
	}
	tokens, _, err := steptime.ImageTokens(c.Model, c.Physics.Images)
	if err != nil {
		return nil, err
	}
	return memory.NewEncodings(c.EncoderCache, c.Physics.Images.Count, tokens)
}

// Encoders returns a number of accelerators apart from the replicas that encode images and sounds,
// with what they share: a cache of encodings, if the configuration has one. Encodings have 16 bits
// and the width of the model, and come over the network.
func (c *Config) Encoders(number int) (*sim.Encoders, error) {
	if c.Network == nil {
		return nil, fmt.Errorf("%s has no network over which encodings come; give hardware.network",
			c.Accelerator.Name)
	}
	tokens, _, err := steptime.ImageTokens(c.Model, c.Physics.Images)
	if err != nil {
		return nil, err
	}
	kept, err := c.encodings()
	if err != nil {
		return nil, err
	}
	one := *c
	one.Parallel, one.EncodersApart = steptime.Parallelism{}, false
	clock, err := one.NewClock()
	if err != nil {
		return nil, err
	}
	each, count := clock.ImageTime(), c.Physics.Images.Count
	send := sim.Seconds(2*float64(tokens*count*c.Model.Hidden)/c.Network.Bandwidth +
		c.Network.Latency)
	return &sim.Encoders{Number: number, Work: func(r *sim.Request) (sim.Time, sim.Time) {
		known := 0
		if kept != nil {
			known = kept.Encoded(&sim.Sequence{Request: *r}, tokens*count)
		}
		return sim.Time(count-known) * each, send
	}}, nil
}
