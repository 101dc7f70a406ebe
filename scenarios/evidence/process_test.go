package evidence

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
)

// somewhere draws a point of one group, of which some things may not be known.
func somewhere(t *rapid.T, name string) Point {
	p := Point{Key: plain, Version: rapid.SampledFrom([]string{"", "0.6.0", "0.15.1"}).Draw(t,
		name+" version"), Load: Load{Users: rapid.Float64Range(1, 500).Draw(t, name+" users"),
		Prompt: rapid.Float64Range(10, 1e4).Draw(t, name+" prompt"),
		Output: rapid.Float64Range(10, 1e4).Draw(t, name+" answer")}}
	p.Tensor = rapid.IntRange(1, 2).Draw(t, name+" tensor")
	p.Engine = "vllm-v1"
	if rapid.Bool().Draw(t, name+" has no load") {
		p.Load = Load{}
	}
	p.Weights = rapid.SampledFrom([]hardware.DType{hardware.BF16, hardware.FP16,
		hardware.FP8}).Draw(t, name+" format")
	return p
}

// shared returns what two points have in common.
func shared(k *Kernel, a, b Point) float64 {
	one, other := a.located(), b.located()
	return k.between(&one, &other)
}

// A kernel is symmetric, largest for a point itself, never below what all points share, and blind
// to which format of 16 bits the weights have.
func TestKernels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Kernel{rapid.Float64Range(0, 1).Draw(t, "shared"), rapid.Float64Range(0.5, 9).Draw(t,
			"users"), rapid.Float64Range(0, 3).Draw(t, "layout"), 0.1}
		a, b := somewhere(t, "a"), somewhere(t, "b")
		there, self := shared(&k, a, b), shared(&k, a, a)
		if !likely(self, 1-noise) || there > self+1e-12 || there < (1-noise)*k.Shared-1e-12 ||
			!likely(there, shared(&k, b, a)) {
			t.Fatalf("%g there, %g of itself", there, self)
		}
		b = a
		a.Weights, b.Weights = hardware.BF16, hardware.FP16
		if got := shared(&k, a, b); !likely(got, self) {
			t.Fatalf("%g between formats of 16 bits", got)
		}
	})
}

// What remains of the variance is between the noise and all, and each further row leaves less or as
// much. Of one row, the process expects its error in the share that kernel and variance say; of
// many repeats of a row it expects what they are off by.
func TestProcessesLearn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Kernel{0.3, 2.5, 0.2, 0.1}
		var points []Point
		var errors []float64
		x, last := somewhere(t, "x"), 1.0
		for i := range rapid.IntRange(1, 8).Draw(t, "rows") {
			points = append(points, somewhere(t, "row"))
			errors = append(errors, rapid.Float64Range(-0.5, 0.5).Draw(t, "error"))
			p := NewProcess(&k, points, errors)
			mean, variance := p.At(&x)
			at := x.located()
			if variance < noise || variance > last+1e-9 {
				t.Fatalf("%g of the variance remains, %g before", variance, last)
			}
			if common := k.between(&at, &p.points[0]); i == 0 && (!likely(mean, common*errors[0]) ||
				!likely(variance, 1-common*common)) {
				t.Fatalf("%g ± %g of %g", mean, variance, errors[0])
			}
			last = variance
		}
		for i := range points {
			points[i], errors[i] = x, 0.25
		}
		for range 200 {
			points, errors = append(points, x), append(errors, 0.25)
		}
		if mean, variance := NewProcess(&k, points, errors).At(&x); math.Abs(mean-0.25) > 0.001 ||
			variance > noise*1.02 {
			t.Fatalf("%g and %g after 200 repeats", mean, variance)
		}
	})
}

// Errors that are drawn from a process lie where one with the same kernel expects them, given other
// rows: their mean square in what remains of the variance is 1.
func TestProcessesExpectWhatComes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	k := Kernel{0.5, 2, 0, 0}
	sum, n := 0.0, 3000
	for range n {
		common, own := random.NormFloat64()*math.Sqrt(0.95*0.5), random.NormFloat64()
		var points []Point
		var errors []float64
		const scale = 0.1 // none is clipped
		for i, users := range []float64{4, 4 * math.Exp(2), 4} {
			// An Ornstein-Uhlenbeck process in the logarithm of users: exp(-1) from 4 to 4e².
			level := own
			if i == 1 {
				level = own*math.Exp(-1) + random.NormFloat64()*math.Sqrt(1-math.Exp(-2))
			}
			points = append(points, Point{Key: plain, Load: Load{Users: users, Prompt: 1,
				Output: 1}})
			errors = append(errors, scale*(common+level*math.Sqrt(0.95*0.5)+
				random.NormFloat64()*math.Sqrt(0.05)))
		}
		mean, variance := NewProcess(&k, points[:2], errors[:2]).At(&points[2])
		off := (errors[2] - mean) / scale
		sum += off * off / variance
	}
	if mean := sum / float64(n); mean < 0.92 || mean > 1.08 {
		t.Errorf("the mean square is %g, want 1", mean)
	}
}

// A range grows with what remains of the variance as its root, moves with what is expected, and is
// never narrower than repeats; a feature widens it, whatever else holds.
func TestRangesFollowTheProcess(t *testing.T) {
	c := &Calibration{Weights: map[string]float64{"users": 0.2, "open": 0.5},
		Reaches: []Reach{{Metric: TPOT, Class: Same, Reach: 0.3}}}
	p := Point{Key: plain, Load: Load{Users: math.Exp(typicalUsers), Prompt: 9, Output: 9}}
	whole := c.Range(TPOT, Same, &p, 0, 1)
	for _, v := range []float64{1, 0.5, 0.05} {
		if got := c.Range(TPOT, Same, &p, 0.1, v); got.Bias != 0.1 ||
			!likely(got.Within, whole.Within*math.Sqrt(v)) {
			t.Errorf("%g: %+v", v, got)
		}
	}
	if got := c.Range(TPOT, Same, &p, 0, 1e-9).Within; got != leastOwn*Width80 {
		t.Errorf("the narrowest range is %g", got)
	}
	open := p
	open.Load.Open = true
	if got := c.Range(TPOT, Same, &open, 0, 1).Within; !likely(got, whole.Within*math.Exp(0.5)) {
		t.Errorf("%g of an open load", got)
	}
	open.Load.Users *= math.E
	if got := c.Range(TPOT, Same, &open, 0, 1).Within; !likely(got, whole.Within*math.Exp(0.7)) {
		t.Errorf("%g of more users", got)
	}
}

// A small model widens ranges where its host was not measured, under all loads alike and as much as
// an accelerator has less of it; a large model, one that is not known, and a measured host do not.
func TestUnknownHostsOfSmallModels(t *testing.T) {
	c := &Calibration{Weights: map[string]float64{"small": 0.5}}
	width := func(model string, tensor int, users float64, class Class) float64 {
		p := Point{Key: plain, Load: Load{Users: users}}
		p.Model, p.Tensor = model, tensor
		return c.Width(class, &p)
	}
	const small = "llama-3.2-1b"
	one := width(small, 1, 1, Other)
	if one <= 1 || width(small, 1, 500, Other) != one || width(small, 1, 1, Outside) != one ||
		!likely(width(small, 4, 1, Other), 2*one) {
		t.Errorf("small: %g, %g of a quarter", one, width(small, 4, 1, Other))
	}
	for _, got := range []float64{width(small, 1, 1, Same), width("llama-3.1-8b", 1, 1, Other),
		width("not-a-model", 1, 1, Other)} {
		if got != 1 {
			t.Errorf("%g times as wide, want no wider", got)
		}
	}
}

// A range holds what is within it, both ends included, and as much less as it is asked narrower.
func TestRanges(t *testing.T) {
	o := ErrorRange{0.5, 0.25}
	for x, want := range map[float64]bool{0.5: true, 0.25: true, 0.75: true, 0.24: false,
		0.76: false} {
		if o.Holds(x, Width80) != want {
			t.Errorf("%+v holds %g: %t", o, x, !want)
		}
	}
	if !o.Holds(0.62, Width80/2) || o.Holds(0.63, Width80/2) || !o.Holds(0.99, 2*Width80) {
		t.Errorf("%+v does not scale", o)
	}
	s := Spread{TPOT: 0.1, TPOTBias: 0.3, TTFT: 0.2, TTFTBias: -0.4}
	low, high := s.Range()
	first, last := s.RangeTTFT()
	if !likely(low, math.Exp(0.3-0.12816)) || !likely(high, math.Exp(0.3+0.12816)) ||
		!likely(first, math.Exp(-0.4-0.25632)) || !likely(last, math.Exp(-0.4+0.25632)) {
		t.Errorf("%g to %g, %g to %g", low, high, first, last)
	}
}
