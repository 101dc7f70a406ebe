package steptime

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/sim"
)

// Config describes a replica: the model, the accelerators, the parallelism and the engine.
type Config struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, and Network joins nodes. Each may be nil if it is
	// not needed.
	ScaleUp, Network *hardware.Link
	Parallel         Parallelism
	// Weights is the number format of the layers' matrices, KV the format of the cache, and
	// Activations the format of everything else. Empty formats follow the model: the published
	// format for weights, and 16 bits for the others, or 32 if the model is published in 32 bits.
	Weights, KV, Activations hardware.DType
	Engine                   Engine
	// Version is the release of the engine; the zero Version if it is not known.
	Version engines.Version
	// Constants are the fitted efficiencies of the accelerator; nil takes the constants of the
	// nearest measured relative.
	Constants *hardware.Constants
	// Kernels are the constants of the engine's kernels on the accelerator. If it is nil, the
	// engine's family on the nearest relative that was measured gives the constants.
	Kernels *hardware.Kernels
	// Host is the time of the host, as a multiple of the time of an H100 machine's host; 0 takes
	// the value of Constants.
	Host float64
	// Operators are kernels measured on the accelerator, which replace formulas within the measured
	// range; nil without measurements.
	Operators *Tables
	// Given are step times that replace all predictions; nil without given times.
	Given *Given
	// Images are the images that every prompt begins with.
	Images Images
	// Adapters are the adapters of the model.
	Adapters Adapters
	// Factors come from a deployment to which the predictions were fitted.
	Factors Factors
	// Spread is the unevenness of routers' choices of experts, in place of what the model's family
	// does with text (models.Routing); 0 leaves that.
	Spread float64
	// Slowdown is a factor on the predicted times of all steps, to show what follows if the
	// prediction is wrong; 0 means 1.
	Slowdown float64

	// experts is the back end of routed experts, and backends lists the back end of each operator.
	// resolve sets them.
	experts  engines.Backend
	backends []Chosen
}

// Factors multiply the times of parts of a step, as they were fitted to a deployment. Each is above
// 0, or 0 for a factor of 1: or1 reads it.
type Factors struct {
	// Prompts is the factor on the time of what grows with the tokens of a step: arithmetic, the
	// attention of prompts, and reading and writing activations.
	Prompts float64
	// Memory is the factor on the time of reading weights, and Cache on the time of reading the KV
	// cache to decode.
	Memory, Cache float64
	// Exchanges is the factor on the time in which accelerators exchange data.
	Exchanges float64
	// Step is the factor on the host's time for each step, Sequence on its time for each sequence
	// of a step, and Request on its time for each request outside of steps.
	Step, Sequence, Request float64
	// Mixed is the factor on the time of the accelerators in steps that compute long prompts beside
	// very many decoding sequences, as in a saturated server; of shorter prompts, or beside fewer
	// sequences, a part of it applies. Accelerators that compute without a pause run into their
	// limit of power.
	Mixed float64
	// Load is the factor on the time of the accelerators for each tenfold of a step's sequences:
	// with n sequences it is raised to log10(n).
	Load float64
}

// applied returns the constants of an accelerator under the factors.
func (f *Factors) applied(constants *hardware.Constants) *hardware.Constants {
	c := *constants
	c.Attention.PrefillCompute /= or1(f.Prompts)
	return &c
}

// mostDecades is log10 of the number of sequences from which on the factor on the load grows no
// further: no engine runs more in a step.
const mostDecades = 4

// loaded returns the factor on the time of the accelerators in steps of n sequences.
func (f *Factors) loaded(n int) slowdown {
	if or1(f.Load) == 1 || n < 2 {
		return 1
	}
	return slowdown(math.Pow(f.Load, min(mostDecades, math.Log10(float64(n)))))
}

// served returns the time t of the accelerators in step s under the factors on steps with many
// sequences.
func (f *Factors) served(t sim.Time, s *sim.Step) sim.Time {
	t = f.loaded(s.Decodes + len(s.Prefill)).time(t)
	factor := or1(f.Mixed)
	if factor == 1 || s.Decodes == 0 || len(s.Prefill) == 0 {
		return t
	}
	tokens := 0
	for i := range s.Prefill {
		tokens += s.Prefill[i].New
	}
	share := float64(s.Decodes) / float64(s.Decodes+mixedHalf)
	share *= float64(tokens) / float64(tokens+s.Decodes)
	return sim.Time(math.Round(float64(t) * (1 + (factor-1)*share)))
}

// mixedHalf is the number of decoding sequences at which half of the factor on mixed steps applies:
// it is chosen between the 18 that a vLLM 0.23 server on an H100 has at 8 requests/s, where its
// steps take what a lone prompt and a lone batch take, and the 250 it has when it is saturated,
// where they take longer (tables requests_vllm_0.23).
const mixedHalf = 64

// resolve fills in defaults, checks that the configuration can run, and returns it with warnings.
func (c Config) resolve() (Config, []string, error) {
	if c.Model == nil || c.Accelerator == nil {
		return c, nil, fmt.Errorf("a step clock needs a model and an accelerator")
	}
	if c.Adapters.Count > 0 && c.Given != nil {
		return c, nil, fmt.Errorf("given step times leave no place for those of adapters")
	}
	c.Parallel = c.Parallel.Complete()
	p := c.Parallel
	if err := checkParallelism(c.Model, p); err != nil {
		return c, nil, err
	}
	if (p.Data > 1 || p.Context > 1) && c.Operators != nil {
		return c, nil, fmt.Errorf(
			"measured operators have no data-parallel attention and no divided contexts; leave " +
				"out the tables, or the parallelism")
	}
	within := p.Tensor > 1 && c.Accelerator.PerNode > 1 || p.GPUs() > 1 && !c.crossesNodes()
	if within && c.ScaleUp == nil && !c.Engine.Roofline {
		return c, nil, fmt.Errorf("%d accelerators need a link between them, and %s has none",
			p.GPUs(), c.Accelerator.Name)
	}
	if c.crossesNodes() && c.Network == nil && !c.Engine.Roofline {
		return c, nil, fmt.Errorf("%d accelerators need a network: a node of %s holds %d", p.GPUs(),
			c.Accelerator.Name, c.Accelerator.PerNode)
	}
	c.Weights = defaultDType(c.Weights, c.Model.DType)
	wide := Wide(c.Model, c.Weights)
	c.Weights = defaultDType(c.Weights, wide)
	c.Activations = defaultDType(c.Activations, wide)
	c.KV = defaultDType(c.KV, c.Activations)
	if err := refuseShards(c.Engine.Kernels, c.Model, p, c.Weights); err != nil {
		return c, nil, err
	}
	warnings := append(c.findConstants(), c.chooseBackends()...)
	if c.Kernels == nil && c.Engine.Kernels != "" {
		kernels, err := hardware.FindKernels(c.Engine.Kernels, c.Accelerator)
		if err != nil {
			return c, nil, err
		}
		c.Kernels = kernels
	}
	if c.Host > 0 {
		constants := *c.Constants
		constants.Host = c.Host
		c.Constants = &constants
	}
	return c.atLevel(), warnings, nil
}

// findConstants sets the constants that are not given, and returns warnings about them.
func (c *Config) findConstants() []string {
	switch {
	case c.Constants != nil:
		return nil
	case c.Engine.Roofline:
		roofline := hardware.Roofline()
		c.Constants = &roofline
		return nil
	}
	constants, warnings := hardware.FittedConstants(c.Accelerator, c.ScaleUp, c.Network)
	c.Constants = &constants
	return warnings
}

// Wide returns the number format in which engines compute with weights of a format, which is the
// model's where it is empty: that format unless it is narrower than 16 bits, and with narrower ones
// the 16 bits in which the model is published, or BF16.
func Wide(m *models.Architecture, weights hardware.DType) hardware.DType {
	switch defaultDType(weights, m.DType) {
	case hardware.FP32, hardware.TF32, hardware.FP16:
		return defaultDType(weights, m.DType)
	case hardware.BF16:
		return hardware.BF16
	}
	if m.DType == hardware.FP16 {
		return hardware.FP16
	}
	return hardware.BF16
}

// linearLayers returns the products of the model on one of tp accelerators.
func (c *Config) linearLayers(tp int) []models.Linear {
	list := c.Model.LinearLayers(tp)
	for i := range list {
		if c.Spread > 0 {
			list[i].Spread = c.Spread
		}
	}
	return list
}

func defaultDType(d, otherwise hardware.DType) hardware.DType {
	if d == "" {
		return otherwise
	}
	return d
}

// crossesNodes reports whether one replica needs more accelerators than a node has.
func (c *Config) crossesNodes() bool { return c.Parallel.GPUs() > max(1, c.Accelerator.PerNode) }

// atLevel returns the configuration with the level of the engine's version, if it has one. A
// version that is not known has no levels.
func (c Config) atLevel() Config {
	if c.Version.IsZero() || c.Engine.Roofline {
		return c
	}
	i := slices.IndexFunc(c.Engine.Levels, func(l Level) bool {
		return l.Versions.Has(c.Version) && among(l.Generations, c.Accelerator.Generation) &&
			among(l.Formats, c.Weights)
	})
	if i < 0 {
		return c
	}
	l := &c.Engine.Levels[i]
	c.Engine.Served.Fixed = or1(c.Engine.Served.Fixed) * or1(l.Fixed)
	for _, factor := range []*float64{&c.Factors.Prompts, &c.Factors.Memory, &c.Factors.Cache} {
		*factor = or1(*factor) * or1(l.Work)
	}
	return c
}

// among reports whether x is in a list, or the list is empty.
func among[T comparable](list []T, x T) bool { return len(list) == 0 || slices.Contains(list, x) }

// servedBy returns the factors of the engine's kernels in a server.
func servedBy(c *Config) Served {
	s := c.Engine.Served
	if p := &c.Parallel; c.Engine.DeepGEMM && p.Data > 1 && p.Expert > 1 {
		s.FP8 = 1
	}
	return s
}

// refuseShards returns an error where vLLM or SGLang refuses shards of a model's matrices in FP8
// with a scale for each block of 128×128: blocks must be whole in each shard
// (vllm/model_executor/layers/quantization/fp8.py, v0.15;
// sglang/srt/layers/quantization/fp8.py, v0.5.8).
func refuseShards(kernels string, a *models.Architecture, p Parallelism, d hardware.DType) error {
	if kernels != "vllm" && kernels != "sglang" || p.GPUs() == 1 {
		return nil
	}
	const block = 128
	ways := p.Tensor * p.Data / max(1, p.Expert)
	for _, s := range a.Shards(p.Tensor, ways, d) {
		if s.Format.DType != hardware.FP8Block || s.Size%block == 0 {
			continue
		}
		hint := "use less tensor parallelism"
		if e := a.Experts(); e != nil && s.Size*ways == e.Intermediate {
			hint = fmt.Sprintf("spread the experts (expert: %d) or %s", p.Tensor*p.Data, hint)
		}
		return fmt.Errorf("%s refuses shards of %d channels of %s in %s, which are no multiple of "+
			"%d; %s", kernels, s.Size, s.Name, s.Format.DType, block, hint)
	}
	return nil
}

// Adapters describes low-rank adapters (LoRA; Hu et al., arXiv:2106.09685) beside the weights of a
// model. The zero value means no adapters.
type Adapters struct {
	// Count is the number of adapters, and Slots the number of adapters that are in the
	// accelerators' memory at once.
	Count, Slots int
	// Rank is the rank of the adapters, and Room the largest rank for which a slot has room.
	Rank, Room int
	// AttentionOnly leaves the matrices of the MLP without adapters. Routed experts, the router and
	// the output head never have one.
	AttentionOnly bool
	// Zipf is the exponent of their popularity: adapter number k is asked for in proportion to
	// k^−Zipf.
	Zipf float64
}

// products returns how many adapted matrices of the model a product computes at once: a fused one
// has an adapter for each of its parts.
func (a *Adapters) products(l *models.Linear) float64 {
	switch {
	case l.Rows != models.AllRows,
		l.Part != models.AttentionPart && (a.AttentionOnly ||
			l.Part != models.MLPPart && l.Part != models.SharedPart):
		return 0
	case l.Name == "qkv":
		return 3
	case strings.HasSuffix(l.Name, "gate_up"):
		return 2
	}
	return 1
}

// weights returns the number of weights of an adapter of rank 1 in one layer that has l: a column
// of A for each part, and the rows of B.
func (a *Adapters) weights(l *models.Linear) float64 {
	n := a.products(l)
	if n == 0 {
		return 0
	}
	return n*float64(l.K) + float64(l.N)
}

// Bytes returns what an adapter of that rank takes on each of tp accelerators, over all layers, in
// 16 bits. Of column-parallel matrices A is on each accelerator and B is split, of row-parallel
// ones it is the other way round (vLLM's default, without fully sharded LoRAs).
func (a *Adapters) Bytes(model *models.Architecture, tp, rank int) float64 {
	const bytes = 2
	sum := 0.0
	for _, l := range model.LinearLayers(tp) {
		sum += float64(l.Count) * a.weights(&l)
	}
	return bytes * float64(rank) * sum
}

// distinct returns the expected number of different adapters that n sequences ask for, at most the
// number of slots: Σ 1 − (1−p)^n over adapters of popularity p. As for experts, the last bits, in
// which machines differ, are rounded off.
func (a *Adapters) distinct(n int) float64 {
	const grid = 1 << 20
	all, sum := 0.0, 0.0
	for k := range a.Count {
		all += math.Pow(float64(k+1), -a.Zipf)
	}
	for k := range a.Count {
		sum += 1 - math.Pow(1-math.Pow(float64(k+1), -a.Zipf)/all, float64(n))
	}
	return min(float64(a.Slots), math.Round(sum*grid)/grid)
}

// Images describes the images or sounds that every prompt begins with. The zero value means no
// images.
type Images struct {
	// Count is the number of images, and Width and Height are the size of each in pixels. If
	// Seconds is not 0, they are sounds of that length.
	Count, Width, Height int
	Seconds              float64
}

// ImageTokens returns the number of tokens of one image or sound for the model, and the FLOPs of
// encoding it. It returns an error if the model's config does not say how it becomes tokens.
func ImageTokens(model *models.Architecture, i Images) (tokens int, flops float64, err error) {
	if i.Seconds > 0 {
		return soundTokens(model, i.Seconds)
	}
	for _, t := range model.Towers {
		if t.Images != nil {
			tokens, flops = t.Images.Encode(i.Width, i.Height)
			return tokens, flops, nil
		}
	}
	if len(model.Towers) == 0 {
		return 0, 0, fmt.Errorf("%s has no encoder of images in its config", model.Name)
	}
	return 0, 0, fmt.Errorf("how %s makes tokens of images is not known from its config",
		model.Name)
}

func soundTokens(model *models.Architecture, seconds float64) (tokens int, flops float64,
	err error) {
	for _, t := range model.Towers {
		if t.Sounds == nil {
			continue
		}
		if longest := t.Sounds.LongestSound(); seconds > longest {
			return 0, 0, fmt.Errorf("%s takes sounds of at most %g s, found %g s", model.Name,
				longest, seconds)
		}
		tokens, flops = t.Sounds.Encode(seconds)
		return tokens, flops, nil
	}
	return 0, 0, fmt.Errorf("%s has no encoder of sounds whose tokens are known from its config",
		model.Name)
}

// Given holds step times from a measurement or a published fit, in place of predictions. A step
// takes the fixed time of its phase, the larger one if it has both phases, and the times of its
// tokens. Zhong et al. fit this form (DistServe, OSDI 2024, appendix A).
type Given struct {
	// PrefillStep is the fixed time of a step with prompts, above 0. PrefillToken is added for each
	// prompt token, and PrefillSquare for each pair of them: n² for a prompt of n tokens, however
	// it is cut into chunks.
	PrefillStep, PrefillToken, PrefillSquare sim.Time
	// DecodeStep is the fixed time of a step that decodes, above 0. DecodeToken is added for each
	// sequence (each token, where drafts are verified), and DecodeContext for each token attended
	// to.
	DecodeStep, DecodeToken, DecodeContext sim.Time
}

// duration returns the time of s.
func (g *Given) duration(s *sim.Step) sim.Time {
	var fixed, rest sim.Time
	for i := range s.Prefill {
		n, cached := sim.Time(s.Prefill[i].Rows()), sim.Time(s.Prefill[i].Cached)
		fixed = g.PrefillStep
		rest += n*g.PrefillToken + n*(n+2*cached)*g.PrefillSquare
	}
	if s.Decodes > 0 {
		fixed = max(fixed, g.DecodeStep)
		rest += sim.Time(s.DecodeTokens)*g.DecodeToken + sim.Time(s.Context)*g.DecodeContext
	}
	return fixed + rest
}

// decode returns the form of a step in which n sequences decode.
func (g *Given) decode(n int) sim.Affine {
	return sim.Affine{Base: g.DecodeStep + sim.Time(n)*g.DecodeToken, PerToken: g.DecodeContext,
		Through: math.MaxInt64}
}
