package models

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/sim"
)

// matrixWork returns the FLOPs of the matrix multiplications of a step on one of tp GPUs, and the
// bytes of weights read.
func matrixWork(a *Architecture, s *sim.Step, tp int) (flops, bytes float64) {
	for _, l := range a.LinearLayers(tp) {
		m := l.M(s)
		flops += 2 * float64(l.Count) * float64(m) * float64(l.N) * float64(l.K)
		bytes += float64(l.Count) * l.Matrices(m) * float64(l.MatrixBytes(hardware.BF16))
	}
	return flops, bytes
}

// A step that decodes one token reads the weights on its path once, and takes 2 FLOPs for each.
func TestOneTokenReadsItsPath(t *testing.T) {
	for _, a := range mustLoad(t).All() {
		flops, bytes := matrixWork(a, &sim.Step{Decodes: 1, DecodeTokens: 1, Context: 1}, 1)
		p := a.ActiveParameters()
		want := float64(a.StreamedBytes(hardware.BF16) - 2*(p.Norms+p.Biases))
		if math.Abs(bytes-want) > 1e-9*want || flops != want {
			t.Errorf("%s takes %g FLOPs and reads %g bytes, want %g of each", a.Name, flops, bytes,
				want)
		}
	}
}

// A prompt costs the same FLOPs in chunks as in one piece: exactly, but for MLA, which expands
// cached latents again.
func TestChunksMultiplyTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		for i := range a.Groups {
			if _, latent := a.Groups[i].Mixer.(*MLA); latent {
				a.Groups[i].Mixer = nil
			}
		}
		n := rapid.IntRange(1, 500).Draw(t, "prompt")
		cost := func(c sim.Chunk) float64 {
			flops, _ := matrixWork(a, &sim.Step{Prefill: []sim.Chunk{c}}, 1)
			return flops
		}
		chunks := 0.
		for done := 0; done < n; {
			c := rapid.IntRange(1, n-done).Draw(t, "chunk")
			chunks += cost(sim.Chunk{New: c, Cached: done, Last: done+c == n})
			done += c
		}
		if whole := cost(sim.Chunk{New: n, Last: true}); chunks != whole {
			t.Fatalf("%.17g FLOPs in chunks, %.17g in one piece", chunks, whole)
		}
	})
}

// The shapes of Llama-2-70B's matrices on one of four GPUs, and who computes which rows.
func TestLinearLayers(t *testing.T) {
	step := &sim.Step{Decodes: 2, DecodeTokens: 6, Context: 100,
		Prefill: []sim.Chunk{{New: 10, Cached: 5, Last: true}, {New: 20}}}
	type shape struct {
		Name           string
		M, N, K, Count int
	}
	var got []shape
	for _, l := range model(t, "llama-2-70b").LinearLayers(4) {
		got = append(got, shape{l.Name, l.M(step), l.N, l.K, l.Count})
	}
	want := []shape{
		{"qkv", 36, 2560, 8192, 80},
		{"out", 36, 8192, 2048, 80},
		{"gate_up", 36, 14336, 8192, 80},
		{"down", 36, 8192, 7168, 80},
		{"lm_head", 7, 8000, 8192, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rows := map[string]int{}
	for _, l := range model(t, "deepseek-v3").LinearLayers(1) {
		rows[l.Name] = l.M(step)
	}
	if diff := cmp.Diff(map[string]int{"q_a": 36, "q_b": 36, "kv_a": 36, "kv_b": 41, "out": 36,
		"gate_up": 36, "down": 36, "router": 36,
		"expert_gate_up": 288, "expert_down": 288, "shared_gate_up": 36, "shared_down": 36,
		"lm_head": 7}, rows); diff != "" {
		t.Error(diff)
	}
}

// Of a beta distribution with the parameters a and b, E[(1−p)^(m+1)] = E[(1−p)^m]·(b+m)/(a+b+m):
// that part of the experts that m tokens left out is left out by one more. Experts that are not
// equally popular are visited later than equal ones.
func TestDistinctExperts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 512).Draw(t, "experts")
		k := rapid.IntRange(1, n-1).Draw(t, "active")
		m := rapid.IntRange(0, 2000).Draw(t, "tokens")
		spread := rapid.Float64Range(0.1, 1.9).Draw(t, "spread")
		got, next := expectedExperts(n, k, m, spread), expectedExperts(n, k, m+1, spread)
		rest, sum := popularities(n, k, spread)
		want := float64(n) - (float64(n)-got)*(rest+float64(m))/(sum+float64(m))
		// Differences of logarithms of the gamma function leave 1e-11 of all experts.
		near := 1e-9 * float64(n)
		if math.Abs(next-want) > near || next > float64(n) || (m == 0 && got != 0) {
			t.Fatalf("%d tokens visit %g experts, one more %g, want %g", m, got, next, want)
		}
		equal := float64(n) * (1 - math.Pow(1-float64(k)/float64(n), float64(m)))
		if got > equal+near {
			t.Fatalf("%d tokens visit %g of %d experts, more than the %g of equally popular ones",
				m, got, n, equal)
		}
		if rounded := distinctExperts(n, k, m, spread); math.Abs(rounded-got) > 1e-6 {
			t.Fatalf("%d tokens visit %g experts, rounded %g", m, got, rounded)
		}
		if level := expectedExperts(n, k, m, 0); math.Abs(level-equal) > near {
			t.Fatalf("%d tokens visit %g of %d equally popular experts, want %g", m,
				level, n, equal)
		}
		if wider := expectedExperts(n, k, m, 1.05*spread); wider > got+near {
			t.Fatalf("a wider spread than %g has %g visited experts after %g", spread, wider, got)
		}
		if m > 0 {
			if few := expectedExperts(n, k, m, 1e9); math.Abs(few-float64(k)) > 1e-3*float64(k) {
				t.Fatalf("%d tokens that all choose the same %d experts visit %g", m, k, few)
			}
		}
	})
}

// A token of Llama-2-7B moves 32·(2·4·4096 + 2·(32+32)·128 + 3·11008) activations and those of the
// last norm and the embedding; on four GPUs the norms and the embedding stay, the rest is a
// quarter.
func TestElementwiseKernels(t *testing.T) {
	moved := func(tp int) (n int64) {
		for _, k := range model(t, "llama-2-7b").ElementwiseKernels(tp) {
			n += int64(k.Count) * k.Elements
		}
		return n
	}
	const kept, shared = 32*2*4*4096 + 4*4096 + 2*4096, 32 * (2*64*128 + 3*11008)
	if got := moved(1); got != kept+shared {
		t.Errorf("%d elements a token, want %d", got, kept+shared)
	}
	if got := moved(4); got != kept+shared/4 {
		t.Errorf("%d elements a token on one of four GPUs, want %d", got, kept+shared/4)
	}
}
