package steptime

import (
	"math"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// ideal returns the time of decode steps of a catalogue model on machines of the given rates, as
// their authors have them.
func idealStep(t *testing.T, model string, weights hardware.DType, peak, bandwidth float64, chips,
	n, context int) float64 {
	t.Helper()
	known, err := models.Load()
	testkit.OK(t, err)
	a, err := known.Lookup(model)
	testkit.OK(t, err)
	engine, err := FindEngine("ideal")
	testkit.OK(t, err)
	chip := &hardware.Accelerator{Name: "chip", Bandwidth: bandwidth,
		Peak: map[hardware.DType]float64{hardware.BF16: peak, hardware.INT8: 2 * peak}, PerNode: 64}
	kv := hardware.BF16
	if weights == hardware.INT8 {
		kv = hardware.INT8
	}
	c, err := New(Config{Model: a, Accelerator: chip, Engine: engine, Weights: weights, KV: kv,
		Parallel: Parallelism{Tensor: chips}})
	testkit.OK(t, err)
	return c.Duration(&sim.Step{Decodes: n, DecodeTokens: n,
		Context: int64(n) * int64(context)}).Seconds() * 1000
}

func TestPublishedStepTimes(t *testing.T) {
	const (
		// With 16 chips the book also splits the 8 KV heads of a 70B model, which are copied here.
		// J. Austin et al., "How To Scale Your Model", chapter on inference (Google DeepMind,
		// 2025): TPU v5e.
		v5ePeak, v5eBandwidth = 1.97e14, 8.2e11
		// C. Chen, "Transformer Inference Arithmetic" (kipp.ly, 2022): A100.
		kippPeak, kippBandwidth = 312e12, 1.5e12
	)
	for _, c := range []struct {
		name, model       string
		weights           hardware.DType
		peak, bandwidth   float64
		chips, n, context int
		want, tolerance   float64
	}{
		{"scaling book, batch 1", "llama-2-13b", "", v5ePeak, v5eBandwidth, 8, 1, 8192, 4.98,
			0.015},
		{"scaling book, batch 8", "llama-2-13b", "", v5ePeak, v5eBandwidth, 8, 8, 8192, 12.13,
			0.01},
		{"scaling book, batch 16", "llama-2-13b", "", v5ePeak, v5eBandwidth, 8, 16, 8192, 20.30,
			0.01},
		{"scaling book, batch 32", "llama-2-13b", "", v5ePeak, v5eBandwidth, 8, 32, 8192, 36.65,
			0.01},
		{"scaling book, batch 64", "llama-2-13b", "", v5ePeak, v5eBandwidth, 8, 64, 8192, 69.33,
			0.01},
		{"scaling book, batch 240", "llama-2-13b", "", v5ePeak, v5eBandwidth, 8, 240, 8192, 249.09,
			0.01},
		{"scaling book, 70B int8, 8 chips", "llama-3-70b", hardware.INT8, v5ePeak, v5eBandwidth, 8,
			32, 8192, 17, 0.03},
		// 137.95 GB less the input embedding of 0.52 GB, at 2,039 GB/s.
		{"Llama-2-70B, weights streamed", "llama-2-70b", "", 312e12, 2.039e12, 1, 1, 1, 67.4,
			0.005},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := idealStep(t, c.model, c.weights, c.peak, c.bandwidth, c.chips, c.n, c.context)
			if math.Abs(got/c.want-1) > c.tolerance {
				t.Errorf("%.3f ms, published %.3f ms", got, c.want)
			}
		})
	}
	t.Run("kipply, 52B weights", func(t *testing.T) {
		// Only the layers: 12·d² parameters each, 64 of them, d = 8192.
		a := &models.Architecture{Name: "52b", Hidden: 8192, Vocab: 1, DType: hardware.FP16,
			Groups: models.Uniform(64, &models.Softmax{Heads: 64, KVHeads: 64, HeadDim: 128},
				&models.Dense{Intermediate: 32768})}
		engine, err := FindEngine("ideal")
		testkit.OK(t, err)
		for chips, want := range map[int]float64{1: 69, 4: 17} {
			c, err := New(Config{Model: a, Engine: engine, Parallel: Parallelism{Tensor: chips},
				Accelerator: &hardware.Accelerator{
					Name: "a100", Bandwidth: kippBandwidth, Peak: map[hardware.DType]float64{
						hardware.FP16: kippPeak}, PerNode: 8}})
			testkit.OK(t, err)
			if got := c.Decode(1, 1).At(1).Seconds() * 1000; math.Abs(got/want-1) > 0.015 {
				t.Errorf("%d accelerators: %.2f ms, published %.0f ms", chips, got, want)
			}
		}
	})
}
