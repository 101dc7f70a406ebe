package steptime

import (
	"fmt"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
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
	// time includes all that comes between and after the two products. Steps of fewer tokens than
	// fewBelow have the kernels few.
	experts, few  hardware.ExpertKernel
	fewBelow      int
	expertOverlap float64
	expertsWhole  bool
	// warnings say where another format is computed than the one that is asked for, or where a back
	// end has the constants of another one.
	warnings []string
}

// expertsFor returns the constants of the kernels of routed experts in a step.
func (c *productCosts) expertsFor(tokens int) *hardware.ExpertKernel {
	if tokens < c.fewBelow {
		return &c.few
	}
	return &c.experts
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

// chooseExperts sets what the kernels of routed experts reach.
func (c *productCosts) chooseExperts() {
	b := &c.cfg.experts
	c.experts = c.expertsOf(b.Name)
	if b.Few != "" {
		c.few, c.fewBelow = c.expertsOf(b.Few), b.FewBelow
	}
}

// expertsOf returns what a back end's kernels of routed experts reach: the engine's kernels where
// they were measured, slowed as 16-bit products of servers are beside kernels measured apart, or
// else what the constants of the accelerator say. Fixed times measured apart are times of launches
// by the host, and weights that are read once stream more slowly than a server's: so neither is
// worse than those constants say.
func (c *productCosts) expertsOf(backend string) hardware.ExpertKernel {
	k := &c.constants.Experts
	e := hardware.ExpertKernel{
		Compute: efficiency(k.Compute, c.cfg.Weights, c.operand.format), Memory: k.Memory,
		Kernel: 2 * k.Kernel, Tile: k.Tile,
	}
	c.expertOverlap = c.constants.Linear.Overlap
	alone := c.takeKernels(&e, backend)
	format := sixteen(c.cfg.Weights)
	if c.engine.HalfSums > 0 { // all formats are alike
		format = hardware.BF16
	}
	factors, kin := c.engine.Served.backend(backend, format)
	e.Compute *= or1(factors.Compute)
	if c.sumsHalved(c.operand.format) {
		e.Compute *= c.engine.HalfSums
	}
	if c.expertsWhole { // in a server a kernel is not faster than alone
		e.Compute = min(e.Compute, alone.Compute)
	}
	e.Compute /= or1(c.cfg.Factors.Prompts)
	if factors.Memory > 0 {
		e.Memory = factors.Memory
	}
	e.Kernel += factors.Held * hardware.Seconds(c.heldExperts())
	if kin != "" && c.cfg.Model.Experts() != nil {
		for i := range c.cfg.backends {
			if chosen := &c.cfg.backends[i]; chosen.Operator == engines.Experts {
				chosen.Kin = kin
			}
		}
		c.warnings = append(c.warnings, fmt.Sprintf("experts in %s by %s: no server of %s with "+
			"them was measured, so what they reach beside kernels alone is that of %s", format,
			backend, c.engine.Name, kin))
	}
	return e
}

// takeKernels takes the kernels of a back end where they were measured, and returns them as
// measured alone.
func (c *productCosts) takeKernels(e *hardware.ExpertKernel, backend string) (
	alone hardware.ExpertKernel) {
	c.expertsWhole = false
	if c.kernels == nil {
		return alone
	}
	alone, _, measured := c.kernels.Expert(c.expertKernels(backend), backend)
	apart, anchored := c.kernels16()
	if !measured || !anchored {
		return alone
	}
	l := &c.constants.Linear
	*e, c.expertOverlap = alone, hardware.KernelOverlap
	e.Compute = min(1, alone.Compute*l.Compute[hardware.BF16]/apart.Compute)
	e.Memory = min(MostBandwidth, alone.Memory*l.Memory/apart.Memory)
	e.Kernel = alone.Kernel * hardware.Seconds(or1(c.engine.Served.Fixed))
	c.expertsWhole = true
	return alone
}

// expertKernels returns the format whose kernels compute the routed experts. Marlin's convert
// weights to 16 bits, whatever the format of their scales: they were measured in INT4.
func (c *productCosts) expertKernels(backend string) hardware.DType {
	switch {
	case c.engine.HalfSums > 0: // all formats are alike
		return hardware.BF16
	case c.cfg.Weights == hardware.MXFP4 && backend == "marlin":
		return hardware.INT4
	}
	return sixteen(c.cfg.Weights)
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
