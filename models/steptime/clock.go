package steptime

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// Clock predicts step times. Only one goroutine may use it at a time.
type Clock struct {
	cfg       Config
	engine    *Engine
	constants *hardware.Constants
	// kernels are the engine's, nil where they were not measured.
	kernels *hardware.Kernels
	tables  *Tables
	// productTables are the measured times of the matrix products, by their rows.
	productTables map[*models.Linear]curve
	outside       outside
	forks         []*Clock
	warnings      []string

	// layers is the number of layers of the slowest pipeline stage, last reports whether it has the
	// output head. allLayers is the number of layers of the model, latentLayers the number of
	// layers with latent attention in the stage.
	layers, allLayers, latentLayers float64
	last                            bool
	// bandwidth is in B/s, as Factors have it; operand and wide are the rates of quantised matrix
	// products and of all other arithmetic.
	bandwidth       float64
	operand, wide   peakRate
	activationBytes float64
	// byFormat are the rates of products of matrices that are stored in other formats than most.
	byFormat map[hardware.DType]*peakRate
	// experts holds the constants of the kernels of routed experts.
	experts hardware.ExpertKernel
	// expertOverlap joins their compute and memory time. expertsWhole reports whether their fixed
	// time has all that comes between and after the two products in it.
	expertOverlap float64
	expertsWhole  bool
	// cacheRate is the rate in B/s at which decode attention reads the cache.
	cacheRate    float64
	crossesNodes bool
	// ranks is the number of data-parallel ranks.
	ranks int

	linear    []models.Linear
	pointwise []models.ElementwiseKernel
	attention []attention

	byTokens, byRows, byRouted, byExchanged, byPrompt memo

	// launch and launchPrompt are the times in which the host launches a step without and with
	// prompts. scheduling has the time that the host takes to schedule a step, by the number of
	// sequences, and serial the time for which the accelerators wait for the host.
	launch, launchPrompt, launchPieces sim.Time
	scheduling, serial                 memo

	forms    []*form // by the number of sequences
	verified *verifications
	// decodeKernels and prefillKernels are the fixed times of attention in a step, expand the time
	// of computing the keys and values of a cached token anew (MLA).
	decodeKernels, prefillKernels, expand sim.Time
	images                                imageCost
	different                             []float64 // adapters, by sequences; -1 where unknown
	work                                  workForm
	// unsplit is the clock of all layers in one stage, for Whole; nil before it is asked for.
	unsplit *Clock
}

var _ sim.LeapClock = (*Clock)(nil)

// attention is the cost of the attention kernels of alike layers of the stage.
type attention struct {
	models.Attention
	count float64
	// perContext is the time for each token of context in all of the layers, perQuery for each
	// query token.
	perContext perToken
	perQuery   sim.Time
	// peak is the rate of its arithmetic in FLOP/s.
	peak float64
	// decodeCompute is the fraction of the peak that decode reaches.
	decodeCompute float64
	// prefillCompute is the fraction of the peak that prompts reach, decodeRate the rate in B/s at
	// which decode reads what sequences keep, decodeKernel and prefillKernel are the fixed times in
	// seconds.
	prefillCompute, decodeRate  float64
	decodeKernel, prefillKernel float64
	// perToken is the time of each new token of the longest prompt.
	perToken sim.Time
	// perLength is the idle time of the last tiles for each token of the longest prompt.
	perLength sim.Time
}

// imageCost is the cost of images.
type imageCost struct {
	// tokens is the number of tokens of one image, flops the number of FLOP of its encoder, and
	// time the time of the encoder.
	tokens, count int
	flops         float64
	time          sim.Time
}

// share returns how many of count kernels of the model are in the stage.
func (c *Clock) share(count int) float64 {
	if count <= 1 {
		return float64(count)
	}
	return float64(count) * c.layers / c.allLayers
}

// narrowCache reports whether the elements of the KV cache have 8 bits.
func (c *Clock) narrowCache() bool { return bytesOf(c.cfg.KV) == 1 }

// rank returns how many of n are on the busiest rank.
func (c *Clock) rank(n int) int {
	if c.ranks == 1 { // a division takes long
		return n
	}
	return (n + c.ranks - 1) / c.ranks
}

// onRank returns the part of t, which all n sequences take together, that the sequences of the
// busiest rank take.
func onRank[T sim.Time | perToken](c *Clock, t T, n int) T {
	if c.ranks == 1 {
		return t
	}
	return (t*T(c.rank(n)) + T(n) - 1) / T(n)
}

// routed returns the time of the routed experts of the given tokens.
func (c *Clock) routed(tokens int) sim.Time {
	if c.cfg.Model.Experts() == nil {
		return 0
	}
	return c.byRouted.at(tokens)
}

// slowing reports whether a slowdown is configured.
func (c *Clock) slowing() bool { return c.cfg.Slowdown != 0 && c.cfg.Slowdown != 1 }

// expertLayers returns the number of layers of the stage that have routed experts.
func (c *Clock) expertLayers() float64 {
	return c.share(c.cfg.Model.ExpertLayers())
}
