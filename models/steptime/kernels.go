package steptime

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// productCosts has the rates that matrix products reach on the accelerator, by number format.
// Efficiencies are shares of the peak, at most 1 before Factors.Prompts. It does not change after
// newProductCosts.
type productCosts struct {
	*setup
	// operand is the rate of products of matrices in most layers' format, wide the rate of all
	// other arithmetic, and byFormat the rates of matrices stored in other formats.
	operand, wide peakRate
	byFormat      map[hardware.DType]*peakRate
	// experts holds the constants of the kernels of routed experts, and expertOverlap joins their
	// compute and memory time as peakRate.overlap does. expertsWhole reports whether their fixed
	// time includes all that comes between and after the two products.
	experts       hardware.ExpertKernel
	expertOverlap float64
	expertsWhole  bool
	// warnings say where another format is computed than the one that is asked for.
	warnings []string
}

func newProductCosts(s *setup) (*productCosts, error) {
	c := &productCosts{setup: s}
	var err error
	if c.operand, err = c.peakRate(s.cfg.Weights); err != nil {
		return nil, err
	}
	if c.wide, err = c.peakRate(s.cfg.Activations); err != nil {
		return nil, err
	}
	if err := c.findRates(); err != nil {
		return nil, err
	}
	c.chooseExperts()
	return c, nil
}

// peakRate returns the rates of products of matrices stored as d, and notes where another format
// stands in for it. The constants of the accelerator come from servers: they say what 16-bit
// products reach there, and products of other formats that were served. Of all others, and where a
// relative gives the constants, the kernels of the engine were measured apart: they count in
// proportion to its kernels for 16 bits. The fixed time of a kernel measured apart has what the
// host needs to launch it in it, which captured graphs spare, so that it does not count.
func (c *productCosts) peakRate(d hardware.DType) (peakRate, error) {
	wanted := operand(c.cfg.Accelerator, d, c.cfg.Activations)
	if c.engine.HalfSums > 0 {
		wanted = c.cfg.Activations // all formats have the same kernels
	}
	peak, used, err := rate(c.cfg.Accelerator, wanted)
	if err != nil {
		return peakRate{}, err
	}
	if used != wanted && !(used == hardware.BF16 && wanted == hardware.FP16) {
		c.warnings = append(c.warnings, fmt.Sprintf("%s has no peak rate for %s: computed in %s",
			c.cfg.Accelerator.Name, wanted, used))
	}
	l := &c.constants.Linear
	r := peakRate{format: used, peak: peak, efficiency: efficiency(l.Compute, sixteen(d), used),
		memory: l.Memory, kernel: float64(l.Kernel), overlap: l.Overlap}
	name := c.cfg.Accelerator.Name
	borrowed := c.constants.Accelerator != name && c.kernels != nil && c.kernels.Accelerator == name
	own, apart, ok := c.kernelsAnd16(d)
	if ok && d == hardware.FP8Block {
		r.blocks = float64(own.Kernel-apart.Kernel) * or1(c.engine.Served.Fixed)
	}
	if ok && (borrowed || l.Compute[sixteen(d)] == 0) {
		r.efficiency = min(1, l.Compute[hardware.BF16]*own.Compute/apart.Compute)
		r.memory = min(MostBandwidth, l.Memory*own.Memory/apart.Memory)
		r.overlap = hardware.KernelOverlap
	}
	r.efficiency = min(1, r.efficiency*or1(c.engine.Compute)*c.engine.Served.product(sixteen(d)))
	c.halveSums(&r)
	r.efficiency /= or1(c.cfg.Factors.Prompts)
	return r, nil
}

// halveSums sets the rate of 16-bit products to the rate of kernels that also sum in 16 bits, if
// the engine uses such kernels and the accelerator is faster with them.
func (c *productCosts) halveSums(r *peakRate) {
	if c.sumsHalved(r.format) {
		r.peak = max(r.peak, c.cfg.Accelerator.Peak[hardware.INT8]/2)
		r.efficiency = min(1, r.efficiency*c.engine.HalfSums)
	}
}

// sumsHalved reports whether products that compute in format d have the kernels of HalfSums.
func (c *productCosts) sumsHalved(d hardware.DType) bool {
	return c.engine.HalfSums > 0 && c.cfg.Accelerator.Peak[hardware.INT8] > 0 &&
		(d == hardware.BF16 || d == hardware.FP16)
}

// kernelsAnd16 returns the engine's kernels for dense products of matrices stored as d, and those
// for 16 bits on the accelerator whose constants are in use.
func (c *productCosts) kernelsAnd16(d hardware.DType) (own, apart hardware.ProductKernel, ok bool) {
	if c.kernels == nil {
		return own, apart, false
	}
	own, measured := c.kernels.Products[sixteen(d)]
	apart, anchored := c.kernels16()
	return own, apart, measured && anchored
}

// kernels16 returns the engine's kernels for 16-bit products on the accelerator whose constants are
// in use.
func (c *productCosts) kernels16() (hardware.ProductKernel, bool) {
	k := c.kernels
	if own := k.On(c.constants.Accelerator); own != nil {
		k = own
	}
	p, ok := k.Products[hardware.BF16]
	return p, ok
}

// efficiency returns the efficiency fitted for matrices stored as d, or else that for the format in
// which they are computed, or that for 16 bits.
func efficiency(fitted map[hardware.DType]float64, d, used hardware.DType) float64 {
	for _, format := range []hardware.DType{d, used} {
		if e := fitted[format]; e > 0 {
			return e
		}
	}
	return fitted[hardware.BF16]
}

// rateOf returns the rates of the format in which the product is computed.
func (c *productCosts) rateOf(l *models.Linear) *peakRate {
	switch d := c.formatOf(l); {
	case !l.Quantised || l.Format(c.cfg.Weights).WeightOnly:
		return &c.wide
	case d == c.cfg.Weights:
		return &c.operand
	default:
		return c.byFormat[d]
	}
}

// findRates finds the rates of products of matrices that are stored in other formats than most.
func (c *productCosts) findRates() error {
	c.byFormat = map[hardware.DType]*peakRate{}
	for i := range c.linear {
		l := &c.linear[i]
		d := c.formatOf(l)
		if !l.Quantised || d == c.cfg.Weights || c.byFormat[d] != nil {
			continue
		}
		r, err := c.peakRate(d)
		if err != nil {
			return err
		}
		c.byFormat[d] = &r
	}
	return nil
}

// widening returns the FLOP that it takes to bring a weight to the wider format in which the
// product is computed.
func (c *productCosts) widening(l *models.Linear, r *peakRate) float64 {
	if l.Quantised && l.Format(c.cfg.Weights).DType != r.format && bytesOf(r.format) >= 2 &&
		c.cfg.Weights != c.cfg.Activations {
		return c.engine.Widening
	}
	return 0
}

// quantise returns the seconds to bring the activations of m rows to the number format of the
// weights, where that is what the product computes in: the fixed time of a kernel, and the time in
// which they are read and written once.
func (c *productCosts) quantise(l *models.Linear, m int) (launch, moved float64) {
	r := c.rateOf(l)
	if r.format == c.wide.format || c.engine.Roofline || c.fusesQuantise(l) {
		return 0, 0
	}
	k := &c.constants.Elementwise
	bytes := float64(m) * float64(l.K) * (c.activationBytes + bytesOf(r.format))
	return max(float64(k.Kernel), r.blocks), bytes / (c.bandwidth * k.Memory)
}

// fusesQuantise reports whether the kernel before the product brings its activations to the format.
func (c *productCosts) fusesQuantise(l *models.Linear) bool {
	return c.engine.FusedQuantise && l.Format(c.cfg.Weights).DType == hardware.FP8
}

// chooseExperts sets what the kernels of routed experts reach: the engine's kernels where they were
// measured, slowed as 16-bit products of servers are beside kernels measured apart, or else what
// the constants of the accelerator say. Fixed times measured apart are times of launches by the
// host, and weights that are read once stream more slowly than a server's: so neither is worse than
// those constants say. Where the constants were fitted to servers of the format, they stand.
func (c *productCosts) chooseExperts() {
	k := &c.constants.Experts
	c.experts = hardware.ExpertKernel{
		Compute: efficiency(k.Compute, c.cfg.Weights, c.operand.format), Memory: k.Memory,
		Kernel: 2 * k.Kernel, Tile: k.Tile,
	}
	c.expertOverlap = c.constants.Linear.Overlap
	c.takeKernelsOfExperts()
	compute, memory := c.engine.Served.expert(c.expertKernels())
	c.experts.Compute *= compute
	if c.sumsHalved(c.operand.format) {
		c.experts.Compute *= c.engine.HalfSums
	}
	if c.expertsWhole { // in a server a kernel is not faster than alone
		c.experts.Compute = min(c.experts.Compute,
			c.kernels.Experts[c.expertKernels()].Compute)
	}
	c.experts.Compute /= or1(c.cfg.Factors.Prompts)
	if memory > 0 {
		c.experts.Memory = memory
	}
}

// expertKernels returns the format whose kernels compute the routed experts.
func (c *productCosts) expertKernels() hardware.DType {
	switch {
	case c.engine.HalfSums > 0: // all formats are alike
		return hardware.BF16
	case c.cfg.Weights == hardware.MXFP4 && c.engine.Marlin:
		return hardware.INT4
	}
	return sixteen(c.cfg.Weights)
}

// takeKernelsOfExperts takes the kernels of the engine where they were measured and the format was
// not served.
func (c *productCosts) takeKernelsOfExperts() {
	k := &c.constants.Experts
	if c.kernels == nil {
		return
	}
	weights := sixteen(c.cfg.Weights)
	if c.constants.Accelerator == c.cfg.Accelerator.Name && slices.Contains(k.Served, weights) {
		return
	}
	e, measured := c.kernels.Experts[c.expertKernels()]
	apart, anchored := c.kernels16()
	if !measured || !anchored {
		return
	}
	c.experts, c.expertOverlap = e, hardware.KernelOverlap
	l := &c.constants.Linear
	c.experts.Compute = min(1, e.Compute*l.Compute[hardware.BF16]/apart.Compute)
	c.experts.Memory = min(MostBandwidth, e.Memory*l.Memory/apart.Memory)
	c.experts.Kernel = e.Kernel * hardware.Seconds(or1(c.engine.Served.Fixed))
	c.expertsWhole = true
}

// imageCost is the cost of images.
type imageCost struct {
	// tokens is the number of tokens of one image, and count the number of images of a prompt; 0
	// without an encoder.
	tokens, count int
	flops         float64  // FLOP to encode one image
	time          sim.Time // to encode one image
}

// newImageCost prices images: matrix products and attention at the rate that large products reach,
// split over the accelerators of a stage as engines split encoders.
func newImageCost(c *productCosts) (imageCost, error) {
	i := c.cfg.Images
	if i.Count == 0 {
		return imageCost{}, nil
	}
	tokens, flops, err := ImageTokens(c.cfg.Model, i)
	if err != nil {
		return imageCost{}, err
	}
	seconds := flops / (float64(c.cfg.Parallel.Tensor) * c.wide.peak * c.wide.efficiency)
	return imageCost{tokens, i.Count, flops, times(1, seconds)}, nil
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

// encoded returns how many images step s encodes: the images whose first token is computed in it,
// so that images whose beginning is cached are not encoded again, less the images that the replica
// has encoded already.
func (i *imageCost) encoded(s *sim.Step) int {
	if i.count == 0 {
		return 0
	}
	return i.begunIn(s.Prefill)
}

// encode returns the time in which step s encodes images.
func (i *imageCost) encode(s *sim.Step) sim.Time { return sim.Time(i.encoded(s)) * i.time }
