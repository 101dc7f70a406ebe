package hardware

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Usage that lasts for a share of the time counts by that share, and so does all that is under the
// limits in a law of power.
func TestPowerIsLinearBelowTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) float64 { return rapid.Float64Range(0.1, 0.9).Draw(t, name) }
		a := &Accelerator{IdlePower: 100, PeakPower: 1100}
		law := &PowerLaw{Running: 0.1, Memory: 0.2, Computing: 0.3, Arithmetic: 0.15}
		u := Usage{draw("bandwidth"), draw("computing"), draw("arithmetic")}
		want := 200 + 200*u.Bandwidth + 300*u.Computing + 150*u.Arithmetic
		if got := law.Watts(a, u); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%+v: %g W, want %g", u, got, want)
		}
		other := Usage{draw("other bandwidth"), draw("other computing"), draw("other arithmetic")}
		share := draw("share")
		got := law.Watts(a, u.Mixed(share, other))
		want = share*want + (1-share)*law.Watts(a, other)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("%+v for %g of the time, else %+v: %g W, want %g", u, share, other, got, want)
		}
	})
	// beyond its limits, usage adds no more
	law := &PowerLaw{Running: 0.1, Memory: 0.2, Computing: 0.3, Arithmetic: 0.15}
	a := &Accelerator{IdlePower: 100, PeakPower: 1100}
	if got := law.Watts(a, Usage{3, 2, 2}); math.Abs(got-850) > 1e-9 {
		t.Errorf("%g W at the limits of use, want 850", got)
	}
	law.Running = 1
	if got := law.Watts(a, Usage{1, 1, 1}); math.Abs(got-1067) > 1e-9 {
		t.Errorf("%g W beyond the limit, want 97 %% of 1100", got)
	}
}

// An accelerator has the law of its own where it was measured, or else one of its generation.
func TestPowerLawOfTheOwnAccelerator(t *testing.T) {
	c := load(t)
	generations := map[string]bool{}
	for _, law := range powerLaws() {
		a, err := c.Accelerator(law.Accelerator)
		testkit.OK(t, err)
		generations[a.Generation] = true
		if got := a.PowerLaw(); got.Accelerator != a.Name {
			t.Errorf("%s has the law of %s", a.Name, got.Accelerator)
		}
	}
	for _, a := range c.Accelerators {
		measured, err := c.Accelerator(a.PowerLaw().Accelerator)
		testkit.OK(t, err)
		if generations[a.Generation] && measured.Generation != a.Generation {
			t.Errorf("%s of %s has the law of %s", a.Name, a.Generation, measured.Name)
		}
	}
}

// A misspelt engine family is refused with the nearest one, rather than taken as not measured.
func TestUnknownEnginesOfKernelsAreRefused(t *testing.T) {
	c := load(t)
	a, err := c.Accelerator("h100-sxm")
	testkit.OK(t, err)
	kernels, err := FindKernels("vlm", &a)
	recurrent, other := FindRecurrent("vlm", "gated-delta", &a)
	for _, err := range []error{err, other} {
		if err == nil || !strings.Contains(err.Error(), `"vlm"; did you mean vllm?`) {
			t.Errorf("the error is %v", err)
		}
	}
	if kernels != nil || recurrent != nil {
		t.Errorf("found %+v and %+v", kernels, recurrent)
	}
}

// An accelerator is given the kernels that were measured on it, with each figure as its file says;
// what another engine's files add on it never replaces them.
func TestMeasuredKernelsAreFound(t *testing.T) {
	c := load(t)
	for _, k := range recurrentKernels() {
		a, err := c.Accelerator(k.Accelerator)
		testkit.OK(t, err)
		got, err := FindRecurrent(k.Engine, k.Kind, &a)
		testkit.OK(t, err)
		if got == nil || !reflect.DeepEqual(*got, k) {
			t.Errorf("%s of %s on %s: found %+v", k.Kind, k.Engine, k.Accelerator, got)
		}
		if got, err := FindRecurrent(k.Engine, "none such", &a); got != nil || err != nil {
			t.Errorf("%s: kernels of what was not measured: %+v, %v", a.Name, got, err)
		}
	}
	for _, f := range kernelFiles() {
		a, err := c.Accelerator(f.accelerator)
		testkit.OK(t, err)
		own := f.kernels()
		got, err := FindKernels(own.Engine, &a)
		if err != nil || got.Accelerator != a.Name {
			t.Errorf("%s on %s: found %+v", own.Engine, a.Name, got)
			continue
		}
		for format, p := range own.Products {
			if !reflect.DeepEqual(got.Products[format], p) {
				t.Errorf("%s on %s: products of %s %+v, want %+v", own.Engine, a.Name, format,
					got.Products[format], p)
			}
		}
		for format, backends := range own.Experts {
			for name, p := range backends {
				if e, from, ok := got.Expert(format, name); !ok || from != name ||
					!reflect.DeepEqual(e, p) {
					t.Errorf("%s on %s: experts of %s by %s %+v, want %+v", own.Engine, a.Name,
						format, name, e, p)
				}
			}
			if e, from, ok := got.Expert(format, "none such"); !ok ||
				!reflect.DeepEqual(e, backends[from]) {
				t.Errorf("%s on %s: experts of %s by what was not measured are %+v", own.Engine,
					a.Name, format, e)
			}
		}
		others := 0
		for _, g := range kernelFiles() {
			if g.accelerator == f.accelerator {
				for format := range g.kernels().Products {
					if _, ok := got.Products[format]; !ok {
						others++
					}
				}
			}
		}
		if others > 0 {
			t.Errorf("%s on %s lacks %d formats that others were measured with", own.Engine,
				a.Name, others)
		}
	}
}
