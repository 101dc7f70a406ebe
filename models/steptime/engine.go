package steptime

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/engines"
)

// Engine holds the constants of a serving engine: the times that it adds to the work of the
// accelerators, and the differences of its kernels.
type Engine struct {
	// Name is the name of the preset in scenarios, Title its name for people, and Source the source
	// of the numbers.
	Name, Title, Source string
	// Roofline takes the figures of the data sheet: efficiencies of 1, perfect overlap, no fixed
	// times, no communication, no host.
	Roofline bool

	// Lookahead is the number of steps that are scheduled before the running one ends: 1 with
	// asynchronous scheduling. A new request waits for them.
	Lookahead int
	// Request is the host's time for a request before its first step and after its first token:
	// HTTP, detokenising.
	Request hardware.Seconds

	// Step is the time in each step for which the accelerator waits for the host, and Sequence the
	// additional time for each sequence of the step.
	Step, Sequence hardware.Seconds
	// HostStep is the time in each step in which the host schedules, prepares inputs and handles
	// outputs, and HostSequence the additional time for each sequence. With a lookahead the host
	// does this while the accelerator computes, so it is a lower bound of the step. Without a
	// lookahead it adds to the step.
	HostStep     hardware.Seconds `yaml:"host_step"`
	HostSequence hardware.Seconds `yaml:"host_sequence"`
	// Compute is the compute efficiency of the engine's kernels, as a multiple of the efficiency
	// fitted for the accelerator; 0 means 1.
	Compute float64
	// Served holds factors by which the engine's kernels in a server differ from the accelerator's
	// constants.
	Served Served
	// Levels are how versions differ from the constants, which hold for all other versions. The
	// first one counts that holds.
	Levels []Level
	// Sorted reports whether requests ask for one of the most likely tokens (top-k, top-p), as the
	// generation_config.json of most models does, so that the logits are sorted. Served.Sampling
	// is for requests that take the likeliest token, and has no effect on others.
	Sorted bool
	// DecodeCompute is the fraction of the peak rate that decode attention reaches in kernels
	// without tensor cores, in which each query head reads the shared KV head by itself. 0 means
	// that the accelerator's constants hold.
	DecodeCompute float64 `yaml:"decode_compute"`
	// NativeFP8Attention reports whether decode attention computes in the 8 bits of the cache, so
	// that it need not widen them.
	NativeFP8Attention bool `yaml:"native_fp8_attention"`
	// FusedQuantise reports whether the kernels of norms and activations also convert their results
	// to 8 bits, if there is one scale for each tensor. With a scale for each block, this takes a
	// kernel of its own.
	FusedQuantise bool `yaml:"fused_quantise"`
	// FusedAllReduce reports whether all-reduces also normalise what they sum, so that no kernel of
	// its own does.
	FusedAllReduce bool `yaml:"fused_all_reduce"`
	// Widening is the number of FLOP for each weight, in kernels without tensor cores, that
	// converts 4-bit weights to the format of the arithmetic.
	Widening float64
	// HalfSums is above 0 if products in 16 bits also sum in 16 bits. Their peak is half the rate
	// of INT8, which is twice the rate of sums in 32 bits on GeForce, and the same rate on other
	// NVIDIA GPUs. HalfSums is the part of that rate that these kernels reach, relative to other
	// kernels; 0 means sums in 32 bits. On accelerators without a rate for INT8 it has no effect.
	// Weights of all narrower formats, and routed experts, have these kernels too: llama.cpp widens
	// or narrows them to INT8 block by block (ggml/src/ggml-cuda/mmq.cu, b6918).
	HalfSums float64 `yaml:"half_sums"`
	// Alike reports whether products and the attention of prompts have kernels of the engine's own,
	// which reach the same share of the peak on every accelerator: nothing that was measured of an
	// accelerator's libraries says anything of them. See alike for the share.
	Alike bool
	// Kernels names the family of engines whose measured kernels the engine has: "vllm", "sglang"
	// or "trtllm". Empty means that the accelerator's constants hold for all kernels.
	Kernels string
	// Asked names the back ends that are asked for, in the form of engines.Release.Backend. For all
	// other operators the engine chooses.
	Asked map[engines.Operator]string `yaml:"-"`
	// Marlin asks for Marlin's kernels where the experts are in MXFP4.
	Marlin bool `yaml:"-"`
	// Layer is the time that a layer takes in a running model in addition to the sum of its
	// kernels' separately measured times.
	Layer hardware.Seconds

	// Graph is the largest number of tokens of a step that is launched as one captured graph; 0
	// means that the host launches every kernel. Launch and LaunchPrompt are the times in which the
	// host launches a kernel, in steps that only decode and in steps with prompts. A step without a
	// graph takes at least as long as the host launches all of its kernels.
	//
	// Where GraphContext is above 0, steps whose sequences have more context on average, in tokens,
	// have no graph either. Engines decide by the longest sequence.
	Graph        int
	GraphContext int `yaml:"graph_context"`
	Launch       hardware.Seconds
	LaunchPrompt hardware.Seconds `yaml:"launch_prompt"`
	// EagerPrompts reports whether steps with prompts are not captured, however few their tokens
	// are.
	EagerPrompts bool `yaml:"eager_prompts"`
	// LaunchLatent is the additional time to launch a layer with latent attention, which has more
	// kernels than its products and its attention.
	LaunchLatent hardware.Seconds `yaml:"launch_latent"`
	// CustomAllReduce reports whether the engine has an all-reduce of its own for small messages.
	CustomAllReduce bool `yaml:"custom_all_reduce"`
	// Exchange is the time in each layer that data-parallel ranks wait for each other when they
	// exchange tokens with the experts, in addition to the time of the link.
	Exchange hardware.Seconds
	// WideExchange takes the place of Exchange for more than eight ranks, if users choose other
	// kernels there (DeepEP); 0 means Exchange.
	WideExchange hardware.Seconds `yaml:"wide_exchange"`
	// Handover is the time to continue a request at a decode replica, without the link: routing,
	// registering memory, polling. It delays the first token. HandoverSource says what it rests on.
	Handover       hardware.Seconds
	HandoverSource string `yaml:"handover_source"`
	// FirstChunk is the number of decode steps after which a decode replica sends the first tokens
	// of a request to its user, because engines send tokens in chunks.
	FirstChunk float64 `yaml:"first_chunk"`
	// Relays reports whether the decode replica also sends the first token to the user, as soon as
	// it has a place for the request, if a prefill replica computed the prompt.
	Relays bool
	// AllReduce is the time that the host needs to launch an all-reduce outside a graph, which is a
	// lower bound of each.
	AllReduce hardware.Seconds `yaml:"all_reduce"`
	// Skew is the time by which the last of two ranks is late for an all-reduce outside a graph,
	// since the host of each rank launches its own kernels.
	Skew hardware.Seconds

	// NaiveAttention reports whether the attention of prompts moves its scores through memory, for
	// all pairs of tokens, instead of keeping them on the chip (FlashAttention, arXiv:2205.14135,
	// algorithm 0 and section 3.1).
	NaiveAttention bool `yaml:"naive_attention"`

	// DeepGEMM reports whether the engine uses DeepGEMM for products in 8 bits if experts are
	// spread over data-parallel ranks (SGLang with DeepEP). Served.FP8 was fitted to other kernels,
	// and has no effect there.
	DeepGEMM bool `yaml:"deep_gemm"`

	// Hybrid reports whether the engine keeps only what each kind of layer needs of a sequence,
	// such as windows and state of fixed size.
	Hybrid bool
	// Pages reports whether all kinds of layers then share pages of one size (models.Pages), where
	// engines without it have memory apart for each kind.
	Pages bool

	Memory EngineMemory
}

// EngineMemory is the accelerator memory that an engine itself takes.
type EngineMemory struct {
	// Context is the bytes of the driver's context, libraries and captured graphs on each
	// accelerator.
	Context float64
	// LogitBytes is the peak bytes of sampling an element of the logits: the logits in 4 bytes,
	// their copy with penalties, the sorted values with indexes of 8 bytes, probabilities and sums
	// of them. It is fitted to the blocks that engines report, since what lives at once is up to
	// the allocator. Where the registry of package engines has what servers of a version logged,
	// that takes its place and the place of Context.
	LogitBytes float64 `yaml:"logit_bytes"`
	// Sampled is the largest number of sequences for whose logits the engine keeps room; 0 means
	// all that may run together.
	Sampled int
	// Buffers is the bytes that stay allocated when a step is at its peak. Hidden reports whether
	// the hidden vectors of the largest step do too, while its logits are sampled, and Workspaces
	// whether the inputs and outputs of experts do.
	Buffers            float64
	Hidden, Workspaces bool
	// Rotary is the bytes of an element of the tables of rotary positions, which are as long as the
	// model's longest context; 0 without tables.
	Rotary float64
}

//go:embed engines.yaml
var enginesYAML []byte

// Engines returns the presets in the order of the data file.
func Engines() []Engine { return slices.Clone(presets()) }

var presets = sync.OnceValue(func() []Engine {
	var list []Engine
	if err := files.DecodeYAML(enginesYAML, &list); err != nil {
		panic(fmt.Sprintf("steptime: engines.yaml: %v", err))
	}
	return list
})

// Eager returns the engine without captured graphs and compiled code: the host launches every
// kernel, as the host of eager-2023 does, which was measured so.
func (e Engine) Eager() Engine {
	eager, err := FindEngine("eager-2023")
	if err != nil {
		panic(err)
	}
	e.Graph = 0
	e.Launch = max(eager.Launch, e.Launch)
	e.LaunchPrompt = max(eager.LaunchPrompt, e.LaunchPrompt)
	e.AllReduce = eager.AllReduce
	return e
}

// FindEngine returns the preset of that name.
func FindEngine(name string) (Engine, error) {
	var names []string
	for _, e := range presets() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Engine{}, fmt.Errorf("no engine %q; there are %s", name, strings.Join(names, ", "))
}
