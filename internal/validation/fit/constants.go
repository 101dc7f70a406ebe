package fit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
)

// constant is a number of a T that may be fitted, and the range that the fit searches. The
// middle of the range, in logarithms, is what is believed without measurements, and the ends are
// two standard deviations away.
type constant[T any] struct {
	name      string
	low, high float64
	get       func(*T) float64
	set       func(*T, float64)
}

// number is a constant that is a field.
func number[T any, F ~float64](name string, low, high float64, field func(*T) *F) constant[T] {
	return constant[T]{
		name, low, high,
		func(t *T) float64 { return float64(*field(t)) },
		func(t *T, v float64) { *field(t) = F(v) },
	}
}

// rate is an efficiency of arithmetic in one number format.
func rate(name string, d hardware.DType, low, high float64,
	field func(*hardware.Constants) *map[hardware.DType]float64) constant[hardware.Constants] {
	return constant[hardware.Constants]{
		name + "." + string(d), low, high,
		func(c *hardware.Constants) float64 { return (*field(c))[d] },
		func(c *hardware.Constants, v float64) {
			m := maps.Clone(*field(c))
			m[d] = v
			*field(c) = m
		},
	}
}

const us = 1e-6 // seconds

// acceleratorConstants are the fitted constants of an accelerator. Tiles are whole numbers that
// kernels are written for, and are not fitted.
func acceleratorConstants(*hardware.Constants) []constant[hardware.Constants] {
	type c = hardware.Constants
	linear := func(c *c) *map[hardware.DType]float64 { return &c.Linear.Compute }
	experts := func(c *c) *map[hardware.DType]float64 { return &c.Experts.Compute }
	return []constant[c]{
		number("host", 0.6, 2, func(c *c) *float64 { return &c.Host }),
		rate("linear.compute", hardware.BF16, 0.45, 0.92, linear),
		rate("linear.compute", hardware.FP8, 0.4, 0.92, linear),
		rate("linear.compute", hardware.FP4, 0.3, 0.85, linear),
		number("linear.memory", 0.7, steptime.MostBandwidth,
			func(c *c) *float64 { return &c.Linear.Memory }),
		number("linear.kernel", 2*us, 12*us, func(c *c) *hardware.Seconds {
			return &c.Linear.Kernel
		}),
		number("linear.overlap", 1.5, 8, func(c *c) *float64 { return &c.Linear.Overlap }),
		number("elementwise.kernel", 1*us, 5*us, func(c *c) *hardware.Seconds {
			return &c.Elementwise.Kernel
		}),
		number("elementwise.memory", 0.55, steptime.MostBandwidth,
			func(c *c) *float64 { return &c.Elementwise.Memory }),
		number("attention.decode_kernel", 4*us, 25*us, func(c *c) *hardware.Seconds {
			return &c.Attention.DecodeKernel
		}),
		number("attention.decode_memory", 0.7, steptime.MostBandwidth,
			func(c *c) *float64 { return &c.Attention.DecodeMemory }),
		number("attention.decode_narrow", 0.4, 1,
			func(c *c) *float64 { return &c.Attention.DecodeNarrow }),
		number("attention.decode_compute", 0.04, 0.4,
			func(c *c) *float64 { return &c.Attention.DecodeCompute }),
		number("attention.latent_compute", 0.03, 0.8,
			func(c *c) *float64 { return &c.Attention.LatentCompute }),
		number("attention.prefill_kernel", 4*us, 30*us, func(c *c) *hardware.Seconds {
			return &c.Attention.PrefillKernel
		}),
		number("attention.prefill_compute", 0.35, 0.85,
			func(c *c) *float64 { return &c.Attention.PrefillCompute }),
		number("attention.prefill_memory", 0.15, steptime.MostBandwidth,
			func(c *c) *float64 { return &c.Attention.PrefillMemory }),
		number("attention.prefill_tail", 0.15, 1.5,
			func(c *c) *float64 { return &c.Attention.PrefillTail }),
		number("head.kernel", 10*us, 200*us, func(c *c) *hardware.Seconds {
			return &c.Head.Kernel
		}),
		number("head.passes", 8, 120, func(c *c) *float64 { return &c.Head.Passes }),
		rate("experts.compute", hardware.BF16, 0.15, 0.85, experts),
		rate("experts.compute", hardware.FP8, 0.1, 0.85, experts),
		rate("experts.compute", hardware.FP4, 0.1, 0.85, experts),
		{ // experts' weights come from the same memory as others
			"experts.memory/linear.memory", 0.85, 1.15,
			func(c *c) float64 { return c.Experts.Memory / c.Linear.Memory },
			func(c *c, v float64) {
				c.Experts.Memory = min(steptime.MostBandwidth, v*c.Linear.Memory)
			},
		},
		number("experts.kernel", 4*us, 40*us, func(c *c) *hardware.Seconds {
			return &c.Experts.Kernel
		}),
	}
}

// linkConstants are the fitted constants of a link within a node. Accelerators that reach each
// other without the memory of the host are believed to reach as much of it (0.53), and to be in
// each other's way (0.36), as RTX PRO 6000 whose all-reduces were measured, give or take two fifths
// and a half.
func linkConstants(start *hardware.Collective) []constant[hardware.Collective] {
	type c = hardware.Collective
	least, most, slow, fast := 0.5, 3.0, 0.2, 0.95
	if strings.HasSuffix(start.Link, "-p2p") {
		least, most, slow, fast = 0.18, 0.72, 0.37, 0.76
	}
	ways := []struct {
		name string
		of   func(*c) *hardware.AllReduce
	}{
		{"one_shot", func(c *c) *hardware.AllReduce { return &c.OneShot }},
		{"two_shot", func(c *c) *hardware.AllReduce { return &c.TwoShot }},
		{"library", func(c *c) *hardware.AllReduce { return &c.Library }},
	}
	var list []constant[c]
	for _, way := range ways {
		if way.of(start).Distilled {
			continue
		}
		list = append(list,
			number(way.name+".latency", 0.4*us, 30*us, func(c *c) *hardware.Seconds {
				return &way.of(c).Latency
			}),
			number(way.name+".rank", 0.1*us, 5*us, func(c *c) *hardware.Seconds {
				return &way.of(c).Rank
			}),
			number(way.name+".efficiency", slow, fast,
				func(c *c) *float64 { return &way.of(c).Efficiency }),
			number(way.name+".contention", least, most,
				func(c *c) *float64 { return &way.of(c).Contention }),
		)
	}
	return list
}

// engineConstants are the fitted constants of an engine preset. One that captures graphs is made of
// compiled code, where the accelerator waits for microseconds; without graphs it launches each
// kernel, and handles each sequence between steps, in Python.
func engineConstants(preset *steptime.Engine) []constant[steptime.Engine] {
	type e = steptime.Engine
	sequence := 10 * us
	if preset.Graph == 0 {
		sequence = 800 * us
	}
	list := []constant[e]{
		number("request", 2000*us, 12000*us, func(e *e) *hardware.Seconds { return &e.Request }),
		number("step", 20*us, 500*us, func(e *e) *hardware.Seconds { return &e.Step }),
		number("sequence", sequence/50, sequence, func(e *e) *hardware.Seconds {
			return &e.Sequence
		}),
		number("layer", 0.3*us, 8*us, func(e *e) *hardware.Seconds { return &e.Layer }),
		number("host_step", 100*us, 5000*us, func(e *e) *hardware.Seconds { return &e.HostStep }),
		number("host_sequence", 2*us, 100*us, func(e *e) *hardware.Seconds {
			return &e.HostSequence
		}),
		number("compute", 0.7, 1.4, func(e *e) *float64 { return &e.Compute }),
		number("decode_compute", 0.003, 0.1, func(e *e) *float64 { return &e.DecodeCompute }),
		number("launch", 2*us, 100*us, func(e *e) *hardware.Seconds { return &e.Launch }),
		number("launch_prompt", 2*us, 200*us, func(e *e) *hardware.Seconds {
			return &e.LaunchPrompt
		}),
		number("launch_latent", 10*us, 1000*us, func(e *e) *hardware.Seconds {
			return &e.LaunchLatent
		}),
		number("all_reduce", 5*us, 200*us, func(e *e) *hardware.Seconds { return &e.AllReduce }),
		number("skew", 5*us, 200*us, func(e *e) *hardware.Seconds { return &e.Skew }),
		number("exchange", 10*us, 400*us, func(e *e) *hardware.Seconds { return &e.Exchange }),
		number("handover", 10_000*us, 800_000*us, func(e *e) *hardware.Seconds {
			return &e.Handover
		}),
		number("first_chunk", 5, 40, func(e *e) *float64 { return &e.FirstChunk }),
		number("half_sums", 0.3, 1.2, func(e *e) *float64 { return &e.HalfSums }),
		number("widening", 5, 60, func(e *e) *float64 { return &e.Widening }),
		number("served.fixed", 0.5, 2, func(e *e) *float64 { return &e.Served.Fixed }),
		number("served.sampling", 0.05, 0.2, func(e *e) *float64 { return &e.Served.Sampling }),
		number("served.prefill", 0.5, 2, func(e *e) *float64 { return &e.Served.Prefill }),
		number("served.fp8", 0.6, 1.6, func(e *e) *float64 { return &e.Served.FP8 }),
		number("served.fp4", 0.55, 1.8, func(e *e) *float64 { return &e.Served.FP4 }),
		number("served.experts", 0.45, 2.2, func(e *e) *float64 { return &e.Served.Experts }),
		number("served.experts_fp8", 0.45, 2.2,
			func(e *e) *float64 { return &e.Served.ExpertsFP8 }),
		number("served.experts_fp4", 0.45, 2.2,
			func(e *e) *float64 { return &e.Served.ExpertsFP4 }),
		number("served.expert_memory", 0.5, steptime.MostBandwidth,
			func(e *e) *float64 { return &e.Served.ExpertMemory }),
		number("served.expert_memory_fp8", 0.5, steptime.MostBandwidth,
			func(e *e) *float64 { return &e.Served.ExpertMemoryFP8 }),
		number("served.expert_memory_fp4", 0.5, steptime.MostBandwidth,
			func(e *e) *float64 { return &e.Served.ExpertMemoryFP4 }),
		number("memory.context", 1e8, 4e9, func(e *e) *float64 { return &e.Memory.Context }),
		number("memory.logit_bytes", 8, 150, func(e *e) *float64 { return &e.Memory.LogitBytes }),
	}
	for i := range preset.Levels {
		list = append(list, levelConstants(i)...)
	}
	return list
}

// machineConstants are the fitted constants of machines that one table was measured on.
func machineConstants(*machineHost) []constant[machineHost] {
	return []constant[machineHost]{
		number("host", 0.5, 4, func(m *machineHost) *float64 { return &m.Host }),
	}
}

// levels begins the names of the constants of an engine's versions.
const levels = "level"

// levelConstants are the fitted constants of an engine's i-th level.
func levelConstants(i int) []constant[steptime.Engine] {
	name := fmt.Sprintf("%s%d.", levels, i)
	factor := func(last string, most float64,
		of func(*steptime.Level) *float64) constant[steptime.Engine] {
		return constant[steptime.Engine]{
			name + last, 1 / most, most,
			func(e *steptime.Engine) float64 { return *of(&e.Levels[i]) },
			func(e *steptime.Engine, v float64) {
				e.Levels = slices.Clone(e.Levels)
				*of(&e.Levels[i]) = v
			},
		}
	}
	return []constant[steptime.Engine]{
		factor("fixed", 3, func(l *steptime.Level) *float64 { return &l.Fixed }),
		factor("work", 1.5, func(l *steptime.Level) *float64 { return &l.Work }),
	}
}
