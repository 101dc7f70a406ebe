package steptime

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// catalogues returns all that is known by name.
func catalogues(t *testing.T) (hardware.Catalog, []*models.Architecture) {
	t.Helper()
	known, err := models.Load()
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	return machines, known.All()
}

// deployed draws a model of the catalogue on accelerators of the catalogue, spread as its heads
// allow.
func deployed(t *rapid.T, machines hardware.Catalog, known []*models.Architecture) Config {
	a := rapid.SampledFrom(machines.Accelerators).Draw(t, "accelerator")
	cfg := Config{
		Model:       rapid.SampledFrom(known).Draw(t, "model"),
		Accelerator: &a,
		Engine:      rapid.SampledFrom(Engines()).Draw(t, "engine"),
		Weights: rapid.SampledFrom([]hardware.DType{"", hardware.FP8, hardware.FP8Block,
			hardware.INT8, hardware.INT4, hardware.FP4, hardware.MXFP4}).Draw(t, "weights"),
		KV:      rapid.SampledFrom([]hardware.DType{"", hardware.FP8}).Draw(t, "kv"),
		ScaleUp: &hardware.Link{Name: "some", Bandwidth: 100e9}, Network: &hardware.Link{
			Name: "other", Bandwidth: 50e9},
	}
	cfg.Parallel.Tensor = rapid.SampledFrom(divisors(cfg.Model)).Draw(t, "tp")
	cfg.Parallel.Pipeline = rapid.IntRange(1, min(4, cfg.Model.Layers())).Draw(t, "pp")
	if experts := cfg.Model.Experts(); experts != nil && rapid.Bool().Draw(t, "ranks") {
		spread(t, &cfg, experts)
	}
	skipRefused(t, &cfg)
	return cfg
}

// skipRefused skips what the engine refuses.
func skipRefused(t *rapid.T, cfg *Config) {
	weights := cmp.Or(cfg.Weights, cfg.Model.DType)
	if err := refuseShards(cfg.Engine.Kernels, cfg.Model, cfg.Parallel.Complete(),
		weights); err != nil {
		t.Skip(err)
	}
}

// spread draws data-parallel ranks that share the experts, spread, with copies or split.
func spread(t *rapid.T, cfg *Config, experts *models.MoE) {
	p := &cfg.Parallel
	p.Data = rapid.IntRange(2, 72).Draw(t, "data")
	n := p.Tensor * p.Data
	switch missing := (n - experts.Experts%n) % n; {
	case experts.Intermediate%n == 0 && rapid.Bool().Draw(t, "split"):
		p.Expert = 1
	case missing <= experts.Experts:
		p.Redundant = missing
	default:
		p.Data = 0
		return
	}
	p.TwoBatch = rapid.Bool().Draw(t, "two-batch")
}

func TestNothingBeatsTheHardware(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		cfg := deployed(t, machines, known)
		c, s := mustClock(t, cfg), anyStep(t)
		if s.Decodes+len(s.Prefill) == 0 {
			return
		}
		a := cfg.Accelerator
		peak := max(c.stage.products.operand.peak, c.stage.products.wide.peak)
		// an indexer scans in FP8, whatever the format of the weights
		for i := range c.stage.attention.kinds {
			peak = max(peak, c.stage.attention.kinds[i].peak)
		}
		for _, o := range c.Breakdown(s) {
			// A thousandth, and two ticks for each of the terms that are rounded.
			limit := o.Time.Seconds()*1.001 + 1e-9
			if o.Bound == Network {
				// An all-gather sends half of what it gathers at least; what overlaps is not in its
				// time.
				if wire := cfg.ScaleUp.Bandwidth + cfg.Network.Bandwidth; !cfg.Parallel.TwoBatch &&
					o.Sent/2/wire > limit {
					t.Fatalf("%s on %s: %s takes %v for %g B", cfg.Model.Name, a.Name, o.Name,
						o.Time, o.Sent)
				}
				continue
			}
			if o.FLOPs/peak > limit || o.Bytes()/a.Bandwidth > limit {
				t.Fatalf("%s on %s: %s takes %v for %g FLOP and %g B", cfg.Model.Name, a.Name,
					o.Name, o.Time, o.FLOPs, o.Bytes())
			}
		}
		if cfg.Parallel.Pipeline > 1 {
			return // the slowest stage has an unknown share of the work
		}
		w, gpus := c.Work(s), float64(cfg.Parallel.GPUs())
		if took := c.Duration(s).Seconds()*1.001 + 1e-9; w.FLOPs/(gpus*peak) > took ||
			w.Bytes/(gpus*a.Bandwidth) > took {
			t.Fatalf("%s on %g %s: a step takes %g s for %g FLOP and %g B", cfg.Model.Name, gpus,
				a.Name, took, w.FLOPs, w.Bytes)
		}
	})
}

func TestMoreWorkTakesNoLess(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		c, s := mustClock(t, deployed(t, machines, known)), anyStep(t)
		if s.Decodes+len(s.Prefill) == 0 {
			return
		}
		more := *s
		more.Prefill = append([]sim.Chunk{}, s.Prefill...)
		switch {
		case len(s.Prefill) > 0 && rapid.Bool().Draw(t, "longer prompt"):
			more.Prefill[0].New += rapid.IntRange(1, 3000).Draw(t, "new")
		case len(s.Prefill) > 0 && rapid.Bool().Draw(t, "more cached"):
			more.Prefill[0].Cached += rapid.IntRange(1, 3000).Draw(t, "cached")
		case s.Decodes > 0:
			more.Context += int64(rapid.IntRange(1, 100000).Draw(t, "context"))
		}
		less, now := c.Duration(s), c.Duration(&more)
		if now < less && !alone(s) {
			t.Fatalf("%v, and with more work %v", less, now)
		}
	})
}

// alone reports whether a prompt of s has a single token in this step. It is a row of decoding
// where others are stored before it, and else, as with one more, a prompt, whose kernels are
// measured apart and may be launched one by one where decoding has a graph.
func alone(s *sim.Step) bool {
	return slices.ContainsFunc(s.Prefill, func(c sim.Chunk) bool { return c.Rows() == 1 })
}

func TestIdealIsTheRoofline(t *testing.T) {
	ideal, err := FindEngine("ideal")
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		tp := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "tp")
		c := mustClock(t, Config{Model: llama8B(), Accelerator: h100(), Engine: ideal,
			Parallel: Parallelism{Tensor: tp}})
		n, context := rapid.IntRange(1, 2000).Draw(t, "n"), rapid.IntRange(1, 10000).Draw(t,
			"context")
		// Every matrix has the same intensity: two FLOP a row for two bytes.
		matrices := float64(32*(4096*(4096+2*1024)+4096*4096+3*4096*14336) + 128256*4096)
		want := max(2*matrices/3.35e12, 2*matrices*float64(n)/989.4e12) +
			max(131072/3.35e12, 4*32*32*128/989.4e12)*float64(n*context)
		got := c.Decode(n, int64(n*context)).At(int64(n * context)).Seconds()
		if want /= float64(tp); got < want*0.999 || got > want*1.001 {
			t.Fatalf("%g s, the roofline is %g s", got, want)
		}
	})
}

// Throughput bends: twice the batch never gives more than twice the tokens a second, and once
// arithmetic binds hardly any more.
func TestThroughputBendsWithTheBatch(t *testing.T) {
	machines, known := catalogues(t)
	rapid.Check(t, func(t *rapid.T) {
		c := mustClock(t, deployed(t, machines, known))
		rate := func(n, context int) float64 {
			total := int64(n) * int64(context)
			return float64(n) / c.Decode(n, total).At(total).Seconds()
		}
		n, context := rapid.IntRange(1, 500).Draw(t, "n"), rapid.IntRange(1, 4000).Draw(t,
			"context")
		if one, two := rate(n, context), rate(2*n, context); two > 2.001*one {
			t.Fatalf("%g tokens/s with %d sequences, %g with twice as many", one, n, two)
		}
		// Each of up to 64 data-parallel ranks has 16,384 sequences or more.
		many := sim.Step{Decodes: 1 << 20, DecodeTokens: 1 << 20, Context: int64(context) << 20}
		for _, o := range c.Breakdown(&many) {
			if o.Name == "launch" {
				return // the host still binds
			}
		}
		if one, two := rate(1<<20, context), rate(1<<21, context); two > 1.1*one {
			t.Fatalf("%g tokens/s with 1,048,576 sequences, %g with twice as many", one, two)
		}
	})
}

// Without any losses a step reads what it counts at the full bandwidth, and not a millionth faster,
// however long the contexts are.
func TestIdealReadsAtTheBandwidthAtMost(t *testing.T) {
	machines, known := catalogues(t)
	ideal, err := FindEngine("ideal")
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		cfg := deployed(t, machines, known)
		cfg.Engine, cfg.Parallel.Pipeline = ideal, 1
		c := mustClock(t, cfg)
		n := rapid.IntRange(1, 64).Draw(t, "n")
		s := &sim.Step{Decodes: n, DecodeTokens: n,
			Context: int64(n) * int64(rapid.IntRange(1, 1000000).Draw(t, "context"))}
		_, bandwidth := c.Peaks()
		if took, bytes := c.Duration(s).Seconds(), c.Work(s).Bytes; bytes/bandwidth > took*(1+1e-6)+
			1e-10 {
			t.Fatalf("%s on %s: %g B in %g s, at most %g B/s", cfg.Model.Name, cfg.Accelerator.Name,
				bytes, took, bandwidth)
		}
	})
}
