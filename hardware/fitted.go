package hardware

import (
	"math"

	"github.com/llmsim/llmsim/internal/units"

	"gopkg.in/yaml.v3"
)

// Seconds is a span of time in seconds, written with its unit in YAML ("4.6us").
type Seconds float64

// UnmarshalYAML reads a duration with its unit.
func (s *Seconds) UnmarshalYAML(node *yaml.Node) error {
	v, err := units.ParseDuration(node.Value)
	*s = Seconds(v)
	return err
}

// MarshalYAML writes a duration with its unit.
func (s Seconds) MarshalYAML() (any, error) { return units.FormatDuration(float64(s)), nil }

// Constants holds what was measured of an accelerator and its links and is not in their data
// sheets.
type Constants struct {
	// Accelerator is the catalogue name of the device that was measured.
	Accelerator string `key:"-"`
	// Like is the measured accelerator of the same die, or else the nearest, whose constants hold
	// where the file of this one states none: kernels of one die take one time, whatever memory and
	// host are beside it.
	Like string `yaml:",omitempty" key:"-"`
	Fit  Fit
	// Host is a factor on the host times of an engine. It is the time that the hosts of the
	// measured accelerator take for some work, divided by the time of the H100's hosts.
	Host        float64 `unit:"positive number"`
	Linear      Linear
	Elementwise Elementwise
	Attention   Attention
	Head        Head
	Experts     Experts `key:"-"`

	// ScaleUp and Network are the constants of the links that join the accelerators within a node
	// and across nodes.
	ScaleUp, Network Collective `yaml:"-" key:"-"`
}

// Fit says where constants come from.
type Fit struct {
	// Source names the measurements, and Date is the day of the fit (2006-01-02).
	Source, Date string
	// Rows is the number of measured rows, and Error the median absolute relative error on them.
	Rows  int
	Error float64 `unit:"error"`
}

// Linear describes matrix products: time = Kernel + (compute^Overlap + memory^Overlap)^(1/Overlap).
type Linear struct {
	// Compute is the fraction of the peak rate that large products reach, by number format of the
	// operands.
	Compute map[DType]float64
	// Memory is the fraction of the peak bandwidth at which weights stream in.
	Memory float64
	// Kernel is the fixed time of one kernel.
	Kernel Seconds
	// Overlap is the exponent that joins compute and memory time. It is 1 if they do not overlap,
	// and infinite if they overlap perfectly.
	Overlap float64 `unit:"positive number"`
	// Tile is the number of rows to whose multiples the rows of a product are rounded up. Fewer
	// rows than Tile are rounded up to a power of two, at least 16.
	Tile int
}

// Elementwise describes norms, rotary embeddings, activations and cache writes.
type Elementwise struct {
	// Kernel is the fixed time of one kernel.
	Kernel Seconds
	// Memory is the fraction of the peak bandwidth at which activations are read and written.
	Memory float64
}

// Attention describes the kernels that read the KV cache.
type Attention struct {
	// DecodeKernel is the fixed time of a layer. DecodeMemory is the fraction of the peak bandwidth
	// at which the cache streams in, and DecodeCompute the fraction of the peak rate that single
	// queries reach.
	DecodeKernel  Seconds `yaml:"decode_kernel"`
	DecodeMemory  float64 `yaml:"decode_memory"`
	DecodeCompute float64 `yaml:"decode_compute"`
	// LatentCompute takes the place of DecodeCompute for multi-head latent attention, whose heads
	// share the data that is read.
	LatentCompute float64 `yaml:"latent_compute"`
	// DecodeNarrow is the fraction of DecodeMemory that a cache of 8 bits an element reaches, since
	// its kernels spend longer on widening the elements than on reading them. 0 means 1.
	DecodeNarrow float64 `yaml:"decode_narrow,omitempty"`
	// PrefillKernel is the fixed time of a layer. PrefillCompute is the fraction of the peak rate
	// that long prompts reach, and PrefillMemory the fraction of the peak bandwidth at which
	// queries, keys, values and outputs move.
	PrefillKernel  Seconds `yaml:"prefill_kernel"`
	PrefillCompute float64 `yaml:"prefill_compute"`
	PrefillMemory  float64 `yaml:"prefill_memory"`
	// PrefillTail is the time for which the last tiles leave multiprocessors idle, in waves of 128
	// queries of the longest prompt.
	PrefillTail float64 `yaml:"prefill_tail" unit:"number"`
}

// Head describes the work after the last layer.
type Head struct {
	// Kernel is the fixed time of sampling in a step, and Passes the number of times that 4-byte
	// logits are read or written.
	Kernel Seconds
	Passes float64 `unit:"number"`
}

// Experts describes the fused kernels of routed experts, whose compute and memory time overlap as
// in Linear, where those of the engine were not measured: see Kernels.
type Experts struct {
	// Compute is the fraction of the peak rate that large batches reach, by number format of the
	// operands. Memory is the fraction of the peak bandwidth at which weights stream in.
	Compute map[DType]float64
	Memory  float64
	// Kernel is the fixed time of one of the two products of a layer, with half of routing and
	// sorting.
	Kernel Seconds
	// Tile is the granularity in rows to which the tokens of an expert are rounded up.
	Tile float64
}

// Collective describes all-reduces over a link. Each all-reduce takes the fastest way that serves
// the group.
type Collective struct {
	// Link is the catalogue name of the measured link. Across is true if it joins nodes.
	Link string
	// Like is the measured link whose constants hold where the file of this one states none.
	Like   string `yaml:",omitempty"`
	Across bool
	Fit    Fit
	// OneShot and TwoShot are the engine's own kernels. With OneShot, each rank reads the vectors
	// of all others. With TwoShot, each rank sums its part of the vectors and then reads the other
	// parts. Library is the ring of the collective library. Bulk is the library's way for many MiB,
	// which waits longer and moves more.
	OneShot AllReduce `yaml:"one_shot"`
	TwoShot AllReduce `yaml:"two_shot"`
	Library AllReduce
	Bulk    AllReduce `yaml:",omitempty"`
}

// AllReduce describes one way to sum a vector over the GPUs of a group: latency + (ranks-2)·rank +
// bytes moved/(bandwidth·efficiency).
type AllReduce struct {
	// Latency is the fixed time for two ranks, and Rank the additional time for each further rank.
	Latency, Rank Seconds
	// Efficiency is the fraction of the link's bandwidth that is reached; 0 means that the link
	// does not have this way.
	Efficiency float64
	// Ranks is the largest group; 0 means any.
	Ranks int
	// Contention is the exponent with which the bandwidth falls as the group grows beyond two, on
	// links that share a root. It is negative if larger groups reach a higher bandwidth, for
	// example because the switch sums.
	Contention float64
	// Distilled reports whether the constants come from kernels that were measured alone. A fit to
	// servers does not change such constants.
	Distilled bool `yaml:",omitempty"`
}

// Seconds returns the seconds for a group of that many ranks, where wire is the seconds that the
// bytes would take at full bandwidth; infinity where the group is not served.
func (r *AllReduce) Seconds(ranks int, wire float64) float64 {
	if r.Efficiency == 0 || r.Ranks > 0 && ranks > r.Ranks {
		return math.Inf(1)
	}
	shared := math.Pow(float64(ranks)/2, r.Contention)
	return float64(r.Latency) + float64(ranks-2)*float64(r.Rank) + wire*shared/r.Efficiency
}

// Roofline returns the constants of a machine that reaches its data sheet: efficiencies of 1,
// perfect overlap and no fixed times.
func Roofline() Constants {
	return Constants{
		Accelerator: "roofline",
		Fit: Fit{Source: "Williams, Waterman and Patterson, \"Roofline\", CACM " +
			"52(4), 2009"},
		Host:        1,
		Linear:      Linear{Compute: map[DType]float64{BF16: 1}, Memory: 1, Overlap: math.Inf(1)},
		Elementwise: Elementwise{Memory: 1},
		Attention: Attention{DecodeMemory: 1, DecodeCompute: 1, LatentCompute: 1,
			PrefillCompute: 1, PrefillMemory: 1},
		Experts: Experts{Compute: map[DType]float64{BF16: 1}, Memory: 1},
	}
}
