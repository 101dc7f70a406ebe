package calibration

import (
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
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
