package steptime

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/datafile"
)

// Engine is what a serving engine adds to the work of the accelerators, in a few physical numbers.
type Engine struct {
	// Name is how a scenario names the preset, Title is for people, and Source says where the
	// numbers are from.
	Name, Title, Source string
	// Roofline takes the data sheet at its word: efficiencies of 1, perfect overlap, no fixed
	// times, no communication, no host.
	Roofline bool

	// Lookahead is the number of steps that are scheduled before the running one ends: 1 with
	// asynchronous scheduling. A new request waits for them.
	Lookahead int
	// Request is what a request costs before its first step and after its first token: HTTP,
	// tokenising, detokenising.
	Request hardware.Seconds

	// Step and Sequence are the time a step, and a step and sequence, for which the accelerator
	// waits for the host.
	Step, Sequence hardware.Seconds
	// HostStep and HostSequence are the time a step, and a step and sequence, in which the host
	// schedules, prepares inputs and handles outputs. With a lookahead this runs beside the
	// accelerator, and is a floor under the step; without, it adds to the step.
	HostStep     hardware.Seconds `yaml:"host_step"`
	HostSequence hardware.Seconds `yaml:"host_sequence"`
	// Compute is the compute efficiency of the engine's kernels as a fraction of that of the
	// accelerator's fitted ones; it may be more than 1. 0 means 1.
	Compute float64
	// Served is how the engine's kernels in a server differ from what the accelerator's constants
	// say.
	Served Served
	// DecodeCompute is the fraction of the peak rate that decode attention reaches in kernels
	// without tensor cores, where each query head by itself reads the KV head that it shares; 0
	// means that kernels are those of the accelerator's constants.
	DecodeCompute float64 `yaml:"decode_compute"`
	// NativeFP8Attention reports whether decode attention computes in the 8 bits of the cache, so
	// that no time is lost on widening them.
	NativeFP8Attention bool `yaml:"native_fp8_attention"`
	// FusedQuantise reports whether norms and activations bring their results to 8 bits on their
	// way, where there is one scale a tensor. Scales a block take a kernel of their own.
	FusedQuantise bool `yaml:"fused_quantise"`
	// Widening is the FLOP for each weight, in kernels without tensor cores, to bring 4-bit weights
	// to the format of the arithmetic.
	Widening float64
	// HalfSums is set where products in 16 bits sum in 16 bits, at half the rate of INT8: twice as
	// fast on GeForce as with sums in 32 bits, and as fast on other NVIDIA GPUs. It is the part of
	// that rate that these kernels reach, relative to others; 0 means sums in 32 bits. Accelerators
	// without a rate for INT8 have one way only.
	HalfSums float64 `yaml:"half_sums"`
	// Kernels names the family of engines whose measured kernels it has: "vllm", "sglang" or
	// "trtllm". Empty means that the accelerator's constants count for all.
	Kernels string
	// Layer is the time a layer that kernels take in a running model beyond the sum of their times
	// measured apart.
	Layer hardware.Seconds

	// Graph is the largest number of tokens of a step that is launched as one captured graph; 0
	// means that every kernel is launched by the host. Launch and LaunchPrompt are the times a
	// layer that the host needs to launch kernels one by one, where sequences decode only and where
	// prompts are computed: the floor under steps without a graph.
	Graph        int
	Launch       hardware.Seconds
	LaunchPrompt hardware.Seconds `yaml:"launch_prompt"`
	// LaunchLatent is how much longer than LaunchPrompt it takes to launch a layer with latent
	// attention, which has more kernels.
	LaunchLatent hardware.Seconds `yaml:"launch_latent"`
	// CustomAllReduce reports whether the engine has its own all-reduce for small messages.
	CustomAllReduce bool `yaml:"custom_all_reduce"`
	// Exchange is the time a layer that data-parallel ranks wait for each other, beyond that of the
	// link, when they exchange tokens with the experts.
	Exchange hardware.Seconds
	// WideExchange is Exchange over more than eight ranks, where an engine has kernels for that
	// which its users choose there (DeepEP); 0 means Exchange.
	WideExchange hardware.Seconds `yaml:"wide_exchange"`
	// Handover is what it takes to go on at a decode replica, beside the link: routing, registering
	// memory, polling. It delays the first token.
	Handover hardware.Seconds
	// FirstChunk is the number of decode steps after which a user gets the first tokens of a
	// request that goes on at a decode replica, where that one answers: engines send tokens in
	// chunks.
	FirstChunk float64 `yaml:"first_chunk"`
	// Relays reports whether a user whose prompt was computed apart gets the first token from the
	// decode replica, too, once that has a place for the request.
	Relays bool
	// AllReduce is the time that the host needs to launch an all-reduce outside a graph: the floor
	// under each.
	AllReduce hardware.Seconds `yaml:"all_reduce"`
	// Skew is how much later the last of two ranks comes to an all-reduce outside a graph, where
	// the host of each launches its own kernels.
	Skew hardware.Seconds

	// NaiveAttention reports whether the attention of prompts moves its scores through memory, for
	// all pairs of tokens, instead of keeping them on the chip (FlashAttention, arXiv:2205.14135,
	// algorithm 0 and section 3.1).
	NaiveAttention bool `yaml:"naive_attention"`

	// DeepGEMM reports whether products in 8 bits are those of DeepGEMM where experts are spread
	// over data-parallel ranks (SGLang with DeepEP). Served.FP8 and ExpertsFP8 were fitted to other
	// kernels and do not count there.
	DeepGEMM bool `yaml:"deep_gemm"`

	// Hybrid reports whether the engine keeps no more of a sequence than each kind of layer needs:
	// windows, and state of fixed size.
	Hybrid bool

	Memory EngineMemory
}

// EngineMemory is what an engine keeps of the accelerator's memory.
type EngineMemory struct {
	// Context is the bytes of the driver's context, libraries and captured graphs on each
	// accelerator.
	Context float64
	// LogitBytes is the peak bytes of sampling an element of the logits: the logits in 4 bytes,
	// their copy with penalties, the sorted values with indexes of 8 bytes, probabilities and sums
	// of them. It is fitted to the blocks that engines report, since what lives at once is up to
	// the allocator: 50 to 60 for vLLM, which tries a step of all sequences before it makes blocks.
	LogitBytes float64 `yaml:"logit_bytes"`
}

//go:embed engines.yaml
var enginesYAML []byte

// Engines returns the presets in the order of the data file.
func Engines() []Engine { return slices.Clone(engines()) }

var engines = sync.OnceValue(func() []Engine {
	var list []Engine
	if err := datafile.Decode(enginesYAML, &list); err != nil {
		panic(fmt.Sprintf("steptime: engines.yaml: %v", err))
	}
	return list
})

// FindEngine returns the preset of that name.
func FindEngine(name string) (Engine, error) {
	var names []string
	for _, e := range engines() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Engine{}, fmt.Errorf("no engine %q; there are %s", name, strings.Join(names, ", "))
}
