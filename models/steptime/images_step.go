package steptime

import "github.com/llmsim/llmsim/sim"

// chooseImages prices images: matrix products and attention at the rate that large products reach,
// split over the accelerators of a stage as engines split encoders.
func (c *Clock) chooseImages() error {
	i := c.cfg.Images
	if i.Count == 0 {
		return nil
	}
	tokens, flops, err := ImageTokens(c.cfg.Model, i)
	if err != nil {
		return err
	}
	seconds := flops / (float64(c.cfg.Parallel.Tensor) * c.wide.peak * c.wide.efficiency)
	c.images = imageCost{tokens, i.Count, flops, times(1, seconds)}
	return nil
}

// ImageTime returns the time in which one image or sound is encoded, 0 if the clock has no encoder.
func (c *Clock) ImageTime() sim.Time { return c.images.time }

// encoded returns how many images step s encodes: the images whose first token is computed in it,
// so that images whose beginning is cached are not encoded again, less the images that the replica
// has encoded already.
func (c *Clock) encoded(s *sim.Step) int {
	if c.images.count == 0 {
		return 0
	}
	return c.images.begunIn(s.Prefill)
}

// begunIn returns how many images have their first token computed in the chunks of a step.
func (i *imageCost) begunIn(prefill []sim.Chunk) int {
	n := 0
	begun := func(tokens int) int { return min(i.count, (tokens+i.tokens-1)/i.tokens) }
	for k := range prefill {
		chunk := &prefill[k]
		n += begun(chunk.Cached+chunk.New) - begun(chunk.Cached) - chunk.Encoded
	}
	return n
}

// encode returns the time in which step s encodes images.
func (c *Clock) encode(s *sim.Step) sim.Time { return sim.Time(c.encoded(s)) * c.images.time }
