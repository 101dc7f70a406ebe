package steptime

import (
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// No kernel of a server streams weights faster than MostBandwidth, or computes faster than it was
// measured alone, whatever factors a fit has found: the constants that ship are refused here, and
// not cut where they are used.
func TestNoServedKernelBeatsItsBounds(t *testing.T) {
	for _, e := range Engines() {
		for _, b := range e.Served.Backends {
			if b.Memory > MostBandwidth {
				t.Errorf("%s: %s in %s streams in at %g of the bandwidth, above %g", e.Name, b.Name,
					b.Formats, b.Memory, MostBandwidth)
			}
		}
	}
	known, err := models.Load()
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	a, err := known.Lookup("qwen3-235b-a22b")
	testkit.OK(t, err)
	for _, e := range Engines() {
		for i := range machines.Accelerators {
			gpu := &machines.Accelerators[i]
			for _, d := range []hardware.DType{hardware.BF16, hardware.FP8, hardware.FP8Block,
				hardware.FP4, hardware.MXFP4, hardware.INT4} {
				c, err := New(Config{Model: a, Accelerator: gpu, Engine: e, Weights: d})
				if err != nil || e.Roofline {
					continue // a format or a size that the accelerator does not have
				}
				p := c.stage.products
				if p.experts.Memory > MostBandwidth || p.operand.memory > MostBandwidth {
					t.Errorf("%s on %s: %s streams in at %g in experts and %g in products",
						e.Name, gpu.Name, d, p.experts.Memory, p.operand.memory)
				}
				if !p.expertsWhole {
					continue
				}
				b := c.cfg.experts.Name
				alone, _, _ := c.kernels.Expert(p.expertKernels(b), b)
				if p.experts.Compute > alone.Compute {
					t.Errorf("%s on %s: experts in %s by %s compute at %g, alone at %g", e.Name,
						gpu.Name, d, b, p.experts.Compute, alone.Compute)
				}
			}
		}
	}
}

// Products reach the peak rate of the accelerator at most, whatever an engine's factor on what they
// reach is.
func TestProductsReachThePeakAtMost(t *testing.T) {
	model, gpu := known(t, "llama-3.1-8b", "a100-80gb-sxm")
	for _, e := range Engines() {
		if e.Roofline {
			continue
		}
		e.Compute = 1000
		for _, e.HalfSums = range []float64{0, 1000} {
			c, err := New(Config{Model: model, Accelerator: &gpu, Engine: e})
			testkit.OK(t, err)
			if p := c.stage.products; p.operand.efficiency != 1 {
				t.Errorf("%s: products reach %g of the peak", e.Name, p.operand.efficiency)
			}
		}
	}
}

// What no row identifies has no factor: no server with experts in INT4 was in a fit.
func TestFormatsThatWereNotServedHaveNoFactor(t *testing.T) {
	for _, e := range Engines() {
		if b, _ := e.Served.backend("marlin", hardware.INT4); b.Compute != 0 || b.Memory != 0 {
			t.Errorf("%s: experts in INT4 have the factors %g and %g", e.Name, b.Compute, b.Memory)
		}
	}
}
