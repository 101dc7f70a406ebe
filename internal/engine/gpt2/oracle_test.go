package gpt2

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/llmsim/llmsim/internal/engine/kernels"
	"github.com/llmsim/llmsim/internal/testkit"
)

// tolerance is how far logits and hidden states may be from the oracle's.
const tolerance = 2e-4

func fixture(name string) string { return filepath.Join("..", "testdata", name) }

func loadModel(t testing.TB, dir string, o Options) *Model {
	t.Helper()
	m, err := Load(dir, o)
	testkit.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// cleaner is a *testing.T, *testing.B or *rapid.T.
type cleaner interface {
	testkit.Test
	Cleanup(f func())
}

func newRunner(t cleaner, m *Model, blocks, threads int, set *kernels.Set) *Runner {
	kv, err := NewKV(m, blocks)
	testkit.OK(t, err)
	pool := kernels.NewPool(threads)
	t.Cleanup(func() { pool.Close(); kv.Close() })
	return NewRunner(m, kv, set, pool)
}

// table returns a block table of n blocks from the given one on.
func table(first, n int) []int32 {
	blocks := make([]int32, n)
	for i := range blocks {
		blocks[i] = int32(first + i)
	}
	return blocks
}

func farthest(got, want []float32) float64 {
	d := 0.0
	for i := range want {
		if diff := math.Abs(float64(got[i]) - float64(want[i])); !(diff <= d) {
			d = diff
		}
	}
	return d
}

// eachRunner runs a test on both fixtures with every set of kernels, tiled and naive attention, and
// one and three threads.
func eachRunner(t *testing.T, test func(t *testing.T, r *Runner, o testkit.Oracle)) {
	for _, name := range []string{"tiny", "tiny-draft"} {
		m := loadModel(t, fixture(name), Options{})
		o := testkit.LoadOracle(t, fixture(name))
		for _, set := range kernels.Available() {
			for _, threads := range []int{1, 3} {
				for _, naive := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/threads=%d/naive=%v", name, set.Name, threads, naive),
						func(t *testing.T) {
							r := newRunner(t, m, 64, threads, set)
							r.Naive = naive
							test(t, r, o)
						})
				}
			}
		}
	}
}

func TestLogitsAndHiddenStates(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner, o testkit.Oracle) {
		for i, p := range o.Prompts {
			n := len(p.IDs)
			r.Trace = func(stage int, states []float32, stride int) {
				want := p.Trace["embed"]
				if stage > 0 {
					want = p.Trace[fmt.Sprintf("block_%d", stage-1)]
				}
				if d := farthest(states[(n-1)*stride:], want); d > tolerance {
					t.Errorf("prompt %d: hidden state after stage %d is off by %v", i, stage, d)
				}
			}
			testkit.OK(t, r.Forward([]Segment{
				{Tokens: p.IDs, Blocks: table(3, 4), Logits: n}}))
			for j := range p.AllLogits {
				if d := farthest(r.Logits(j), p.AllLogits[j]); d > tolerance {
					t.Fatalf("prompt %d: logits at position %d are off by %v", i, j, d)
				}
			}
			if d := farthest(r.Logits(n-1), p.LastLogits); d > tolerance {
				t.Errorf("prompt %d: last logits are off by %v", i, d)
			}
			if d := farthest(r.normed[(n-1)*stride(r.model.Config.Width):],
				p.Trace["ln_f"]); d > tolerance {
				t.Errorf("prompt %d: final norm is off by %v", i, d)
			}
		}
	})
}

func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

// TestGreedy continues all prompts at once, token by token, in one batch of different contexts.
func TestGreedy(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner, o testkit.Oracle) {
		batch := make([]Segment, len(o.Prompts))
		for i, p := range o.Prompts {
			batch[i] = Segment{Tokens: p.IDs, Blocks: table(4*i, 4), Logits: 1}
		}
		for step := range o.Prompts[0].Greedy {
			testkit.OK(t, r.Forward(batch))
			for i := range batch {
				token := argmax(r.Logits(i))
				if want := o.Prompts[i].Greedy[step]; token != want {
					t.Fatalf("prompt %d: token %d of the continuation is %d, want %d", i, step,
						token, want)
				}
				s := &batch[i]
				s.Start += len(s.Tokens)
				s.Tokens = []int32{token}
			}
		}
	})
}
