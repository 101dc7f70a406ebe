package models

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
)

func TestKVBytesPerToken(t *testing.T) {
	for _, c := range []struct {
		model, source string
		dtype         hardware.DType
		want          int64
	}{
		{"llama-2-70b", "2·80 layers·8 KV heads·128·2 bytes", hardware.FP16, 327_680},
		{"llama-2-7b", "NVIDIA, Mastering LLM Techniques, 2023", hardware.FP16, 524_288},
		{"opt-13b", "vLLM, arXiv:2309.06180, section 3", hardware.FP16, 819_200},
		{"llama-3-70b", "Scaling book (Google DeepMind, 2025), chapter 8: int8", hardware.INT8,
			163_840},
		{"falcon-7b", "multi-query: one head of 64", hardware.BF16, 8192},
		{"deepseek-v3", "61·(512+64)·2 bytes, arXiv:2412.19437, section 4.2", hardware.BF16,
			70_272},
		{"qwen3-32b", "2·64 layers·8 KV heads·128·2 bytes", hardware.BF16, 262_144},
	} {
		if got := model(t, c.model).KVBytesPerToken(c.dtype); got != c.want {
			t.Errorf("%s (%s): %d bytes, want %d", c.model, c.source, got, c.want)
		}
	}
	if got := kipply52B().KVBytesPerToken(hardware.FP16); got != 2_097_152 {
		t.Errorf("kipply's 52 B: %d bytes", got)
	}
}

// Published rooms for KV in GiB, and the tokens that they hold.
func TestKVCapacity(t *testing.T) {
	for _, c := range []struct {
		model, source string
		gib, tokens   float64
	}{
		{"opt-13b", "vLLM, table 1", 12, 15_700},
		{"opt-66b", "vLLM, table 1", 21, 9_700},
		{"opt-175b", "vLLM, table 1", 264, 60_100},
	} {
		perToken := float64(model(t, c.model).KVBytesPerToken(hardware.FP16))
		near(t, c.model+" ("+c.source+")", c.gib*(1<<30)/perToken, c.tokens, 0.02)
	}
	near(t, "kipply: 56 GB", 56e9/float64(kipply52B().KVBytesPerToken(hardware.FP16)), 26_703,
		0.0001)
	long := model(t, "llama-2-13b").KVBytesOfSequence(8192, hardware.BF16, 1)
	near(t, "scaling book: GB of 8,192 tokens of Llama-2-13B", float64(long)/1e9, 6.7, 0.01)
	if got := model(t, "llama-2-7b").KVBytesOfSequence(4096, hardware.FP16,
		1); got != 2_147_483_648 {
		t.Errorf("NVIDIA: 4,096 tokens of Llama-2-7B: %d bytes", got)
	}
}

// Groups of query heads that share a KV head shrink the cache by the size of the group.
func TestGQARatio(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, m := anArchitecture(t), &Softmax{KVHeads: 1 << rapid.IntRange(0, 4).Draw(t, "kv heads"),
			HeadDim: 64}
		m.Heads = m.KVHeads * rapid.IntRange(1, 8).Draw(t, "group")
		a.Groups = Uniform(rapid.IntRange(1, 20).Draw(t, "layers"), m, nil)
		heads, all := a.MultiHead(hardware.FP16)
		if want := a.KVBytesPerToken(hardware.FP16) * int64(m.Heads/m.KVHeads); heads != m.Heads ||
			int64(all) != want {
			t.Fatalf("%g bytes without groups, want %d", all, want)
		}
	})
}

// GPUs share the KV heads while there are enough of them, then hold one each; all hold MLA's
// latent.
func TestKVBytesPerTokenPerGPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, mixer := anArchitecture(t), aMixer(t)
		a.Groups = Uniform(rapid.IntRange(1, 20).Draw(t, "layers"), mixer, nil)
		tp := 1 << rapid.IntRange(0, 7).Draw(t, "tp")
		all, share := a.KVBytesPerToken(hardware.FP16), a.KVBytesPerTokenPerGPU(hardware.FP16, tp)
		want := all
		if m, heads := mixer.(*Softmax); heads {
			want /= int64(min(tp, m.KVHeads))
		}
		if share != want {
			t.Fatalf("%d of %d bytes on each of %d GPUs, want %d", share, all, tp, want)
		}
	})
}

// A sequence's bytes never fall as it grows; they grow by the bytes of a token, less the layers
// whose window is full.
func TestKVBytesOfSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anArchitecture(t)
		tp := 1 << rapid.IntRange(0, 3).Draw(t, "tp")
		n := rapid.IntRange(0, 600).Draw(t, "tokens")
		grown := a.KVBytesOfSequence(n+1, hardware.BF16, tp) - a.KVBytesOfSequence(n, hardware.BF16,
			tp)
		want := a.KVBytesPerTokenPerGPU(hardware.BF16, tp)
		for _, s := range a.States(tp, hardware.BF16) {
			if s.Window > 0 && n >= s.Window {
				want -= int64(s.Layers) * s.TokenBits / 8
			}
		}
		if grown != want {
			t.Fatalf("token %d adds %d bytes, want %d", n+1, grown, want)
		}
	})
}

// What a sequence of 131,072 tokens keeps with a 16-bit cache, worked out from the papers' and
// configs' figures: the table of docs/models.md.
func TestStateOfLongContexts(t *testing.T) {
	const n = 131_072
	for name, want := range map[string]int64{
		"llama-3.1-70b":     n * 2 * 80 * 8 * 128 * 2,
		"gemma-3-27b":       (n*10 + 1024*52) * 2 * 16 * 128 * 2,
		"deepseek-v3.2":     n * 61 * (512 + 64 + 128) * 2,
		"kimi-k2.5":         n * 61 * (512 + 64) * 2,
		"gpt-oss-120b":      (n*18 + 128*18) * 2 * 8 * 64 * 2,
		"qwen3.5-397b-a17b": n*15*2*2*256*2 + 45*(64*128*128*4+3*(2*16*128+64*128)*2),
		"nemotron-3-super-120b-a12b": n*8*2*2*128*2 +
			40*(128*64*128*4+3*(2*8*128+128*64)*2),
	} {
		if got := model(t, name).KVBytesOfSequence(n, hardware.BF16, 1); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
	}
}
