package calibration

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// bench runs single steps whose cached tokens were never computed: zeros take as long.
type stepBench struct {
	machine *Machine
	kv      *gpt2.KV
	blocks  []int32 // in random order: after long service, the blocks of a sequence lie anywhere
	runner  *gpt2.Runner
	vocab   int
	sum     float32 // so that reading logits has a result
}

// newBench makes room for the largest of the steps.
func newBench(m *Machine, model *gpt2.Model, shapes []Shape) (*stepBench, error) {
	blocks := 0
	for _, s := range shapes {
		blocks = max(blocks, s.Decodes*blocksFor(s.Context)+blocksFor(s.New+s.Cached))
	}
	kv, err := gpt2.NewKV(model, blocks)
	if err != nil {
		return nil, err
	}
	order := make([]int32, blocks)
	for i, b := range rand.New(rand.NewPCG(2, 0)).Perm(blocks) {
		order[i] = int32(b)
	}
	return &stepBench{machine: m, kv: kv, blocks: order,
		runner: gpt2.NewRunner(model, kv, m.Kernels(),
			m.Pool()), vocab: model.Config.Vocab}, nil
}

func blocksFor(tokens int) int { return (tokens + gpt2.BlockTokens - 1) / gpt2.BlockTokens }

func (b *stepBench) close() error { return b.kv.Close() }

// time runs a step and returns the seconds that it and the choice of tokens took.
func (b *stepBench) time(s Shape) (float64, error) {
	batch := s.segments(b.blocks)
	begin := b.machine.Now()
	if err := b.runner.Forward(batch); err != nil {
		return 0, err
	}
	for row := range batch {
		b.sum += largest(b.runner.Logits(row)[:b.vocab])
	}
	return (b.machine.Now() - begin).Seconds(), nil
}

// segments gives every sequence KV blocks of its own, from the front of the given ones.
func (s Shape) segments(blocks []int32) []gpt2.Segment {
	var batch []gpt2.Segment
	add := func(tokens, start int) {
		g := gpt2.Segment{Tokens: make([]int32, tokens), Start: start, Logits: 1}
		n := blocksFor(start + tokens)
		g.Blocks, blocks = blocks[:n], blocks[n:]
		batch = append(batch, g)
	}
	for range s.Decodes {
		add(1, s.Context-1)
	}
	if s.New > 0 {
		add(s.New, s.Cached)
	}
	return batch
}

// largest returns the largest logit, the work of greedy sampling.
func largest(logits []float32) float32 {
	best := logits[0]
	for _, v := range logits {
		if v > best {
			best = v
		}
	}
	return best
}

// Shape is a kind of step: sequences that decode with the same context, and perhaps one prompt
// chunk.
type Shape struct {
	// Decodes is the number of sequences that decode a token, Context what each of them attends to,
	// that token included.
	Decodes, Context int
	// New is the number of prompt tokens, Cached the number of tokens before them.
	New, Cached int
}

// Grid returns the steps that are measured: decode batch × context, prefill chunk × cached prefix,
// and some with both. Contexts end in the middle of a KV block, as they do on average. All of them
// fit into the context of the model.
func Grid(context int) []Shape {
	const most = 12 << 10 // tokens of context in a step, for the sake of memory
	var list []Shape
	for _, n := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32} {
		for _, each := range []int{16, 208, 528, 976} {
			if each <= context && n*each <= most {
				list = append(list, Shape{Decodes: n, Context: each})
			}
		}
	}
	for _, n := range []int{8, 24, 48, 96, 192, 384, 640} {
		for _, cached := range []int{0, 64, 336} {
			if n+cached <= context {
				list = append(list, Shape{New: n, Cached: cached})
			}
		}
	}
	for _, n := range []int{4, 16} {
		for _, chunk := range []int{16, 64, 200} {
			if 208 <= context {
				list = append(list, Shape{Decodes: n, Context: 208, New: chunk})
			}
		}
	}
	return list
}

// Step returns the summary of the step, whose chunk completes a prompt.
func (s Shape) Step() *sim.Step {
	step := &sim.Step{Decodes: s.Decodes, DecodeTokens: s.Decodes,
		Context: int64(s.Decodes) * int64(s.Context)}
	if s.New > 0 {
		step.Prefill = []sim.Chunk{{New: s.New, Cached: s.Cached, Last: true}}
	}
	return step
}

// Point is a measured step.
type Point struct {
	Shape
	// Seconds is the median time of the step, Spread half of the range of the middle half of its
	// times, as a share of the median.
	Seconds, Spread float64
	// Samples is how often it was measured.
	Samples int
}

// Round is one pass over all steps.
type Round struct {
	// Rates are the machine's meanwhile, Seconds the time of each step.
	Rates   Rates
	Seconds []float64
}

// Measurement is what was measured of a machine with one model.
type Measurement struct {
	// Points sum up the rounds, a point a step.
	Points []Point
	Rounds []Round
	// Noise has the rates of the machine meanwhile.
	Noise Noise
}

// Spread returns the median of the spreads of all points.
func (m *Measurement) Spread() float64 {
	spreads := make([]float64, len(m.Points))
	for i := range m.Points {
		spreads[i] = m.Points[i].Spread
	}
	return Median(spreads)
}

// The noise up to which constants are claimed: spread of a step, and change of the machine's rates.
// Rates may change more than in a cross-check, since every round is fitted with its own.
const (
	mostSpread = 0.05
	mostDrift  = 0.20
)

// Quiet returns an error that says how noisy the machine was, if it was too noisy for a fit to mean
// anything.
func (m *Measurement) Quiet(threads int) error {
	switch {
	case m.Spread() > mostSpread:
		return fmt.Errorf("the machine is too noisy: the same step varied by ±%.1f %%, and ±%.0f "+
			"%% is the limit; close other programs, or raise --rounds", 100*m.Spread(),
			100*mostSpread)
	case m.Noise.Drift() > mostDrift:
		return fmt.Errorf("the machine is too noisy: its speed changed by %.1f %% meanwhile, and "+
			"%.0f %% is the limit", 100*m.Noise.Drift(), 100*mostDrift)
	case threads > 1 && m.Noise.Others > MostOthers:
		return fmt.Errorf("other programs took %.0f %% of the processors: with more than one "+
			"thread, times count on an idle machine only (at most %.0f %%)",
			100*m.Noise.Others, 100*MostOthers)
	}
	return nil
}

// stepsBetween is how many steps are timed between two probes of the machine.
const stepsBetween = 10

// Measure times every step of the grid once a round, in an order drawn for each round, so that a
// machine that slows down meanwhile slows all of them. Progress is reported after each round.
func Measure(ctx context.Context, m *Machine, model *gpt2.Model, rounds int,
	progress func(round int)) (*Measurement, error) {
	shapes := Grid(model.Config.Context)
	bench, err := newBench(m, model, shapes)
	if err != nil {
		return nil, err
	}
	defer bench.close()
	// the first of all steps is slower: buffers grow
	for _, s := range []Shape{shapes[0], shapes[len(shapes)-1]} {
		if _, err := bench.time(s); err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(1, 0))
	watch := m.Watch()
	result := &Measurement{}
	for number := range rounds {
		round := Round{Seconds: make([]float64, len(shapes))}
		watch.Begin()
		for done, i := range random.Perm(len(shapes)) {
			if done%stepsBetween == 0 {
				watch.Sample()
			}
			if round.Seconds[i], err = bench.time(shapes[i]); err != nil {
				return nil, err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		round.Rates = watch.Rates()
		result.Rounds = append(result.Rounds, round)
		progress(number + 1)
	}
	result.Noise = watch.Stop()
	for i, s := range shapes {
		times := make([]float64, rounds)
		for j := range result.Rounds {
			times[j] = result.Rounds[j].Seconds[i]
		}
		median := Median(times)
		result.Points = append(result.Points,
			Point{Shape: s, Seconds: median, Spread: spread(times, median), Samples: rounds})
	}
	return result, nil
}

// spread returns the median distance of x from its median, as a share of it.
func spread(x []float64, median float64) float64 {
	distances := make([]float64, len(x))
	for i, v := range x {
		distances[i] = math.Abs(v-median) / median
	}
	return Median(distances)
}

// Architecture describes a GPT-2 to the cost model. Its weights are held in fp32 unless a
// deployment says otherwise.
func Architecture(name string, c gpt2.Config) *models.Architecture {
	attention := &models.Softmax{Heads: c.Heads, KVHeads: c.Heads, HeadDim: c.HeadSize(),
		NoRotary: true}
	return &models.Architecture{
		Name: name, Hidden: c.Width,
		Groups:         models.Uniform(c.Layers, attention, &models.Dense{Intermediate: c.Inner}),
		Vocab:          c.Vocab,
		TiedEmbeddings: c.Tied, MaxContext: c.Context, LearnedPositions: c.Context,
		DType: hardware.FP32,
	}
}

// GPT2 returns the configuration with which the engine runs a model, or an error where it cannot.
func GPT2(a *models.Architecture) (gpt2.Config, error) {
	attention, mlp := a.Attends(), plainMLP(a)
	if a.LearnedPositions == 0 || len(a.Groups) != 1 || a.Groups[0].Parallel || attention == nil ||
		mlp == nil || attention.Window > 0 ||
		attention.KVHeads != attention.Heads || attention.HeadDim*attention.Heads != a.Hidden {
		return gpt2.Config{}, fmt.Errorf(
			"%s is no GPT-2, and the engine runs nothing else; take gpt-2-124m, or a config.json "+
				"of that family", a.Name)
	}
	c := gpt2.DefaultConfig()
	c.Vocab, c.Context, c.Width, c.Layers = a.Vocab, a.MaxContext, a.Hidden, a.Layers()
	c.Heads, c.Inner = attention.Heads, mlp.Intermediate
	c.Tied = a.TiedEmbeddings
	return c, c.Check()
}

// plainMLP returns the MLP with two matrices of the first layers, or nil where theirs is another.
func plainMLP(a *models.Architecture) *models.Dense {
	if m, ok := a.Groups[0].MLP.(*models.Dense); ok && !m.Gated {
		return m
	}
	return nil
}

// Format returns the kernels' name for a number format of weights.
func Format(d hardware.DType) (kernels.Format, error) { return kernels.ParseFormat(string(d)) }
