package models

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Words that change no byte, put behind the name of a model, leave the model as it is, and words
// that state a format change the format only: whatever is before and behind them.
func TestWordsBehindAName(t *testing.T) {
	c := mustLoad(t)
	formats := map[string]hardware.DType{
		"-FP8": hardware.FP8, "-FP8-dynamic": hardware.FP8, "-FP8-block": hardware.FP8Block,
		"-NVFP4": hardware.FP4, "-NVFP4-v2": hardware.FP4, "-MXFP4": hardware.MXFP4,
		"-AWQ": hardware.INT4, "-GPTQ-Int4": hardware.INT4, "-GPTQ-Int8": hardware.INT8,
		"-w8a8": hardware.INT8, "-quantized.w4a16": hardware.INT4, "-bf16": hardware.BF16,
		"-Q4_K_M.gguf": hardware.Q4KM, "-GGUF:Q4_0": hardware.Q4_0, "-AWQ-4bit": hardware.INT4,
	}
	plain := []string{"-Instruct", "-Chat", "-it", "-2507", "-0813", "-Base", "@main", "-Preview"}
	for _, a := range c.All() {
		if !strings.ContainsAny(a.Name, "0123456789") {
			continue
		}
		for _, word := range append(plain, "") {
			name := "someone/" + a.Name + word
			if strings.HasSuffix(a.Name, "-fp8") {
				continue // the only checkpoint of the catalogue that is named after its format
			}
			got, notes, err := c.Named(name)
			longer := strings.HasPrefix(a.Family, "qwen3") && word == "-2507" && got != nil &&
				got.MaxContext == 262144
			if err != nil || got != a && !longer || len(notes) > 0 {
				t.Fatalf("%s: found %v, %v, %v, want %s", name, got, notes, err, a.Name)
			}
			base, _, _ := strings.Cut(name, "@")
			for format, want := range formats {
				if c.find(base+format) != nil {
					continue // Llama-3.1-405B-FP8 is an entry of its own
				}
				got, _, err := c.Named(base + format)
				if err != nil || got.DType != want || got.Name != a.Name {
					t.Fatalf("%s%s: found %v, %v, want %s in %s", base, format, got, err, a.Name,
						want)
				}
				if got.Parameters() != a.Parameters() || want != a.DType &&
					got.WeightBytes(want) != plainFormats(a).WeightBytes(want) {
					t.Fatalf("%s%s: the format changes more than bytes", base, format)
				}
			}
		}
	}
}

// plainFormats returns a model whose matrices all follow the deployment.
func plainFormats(a *Architecture) *Architecture {
	b := *a
	b.Groups = nil
	for _, g := range a.Groups {
		g.Formats = nil
		b.Groups = append(b.Groups, g)
	}
	return &b
}

// A word of a tune's name stretches its context, and a model's own word does not.
func TestContextsInNames(t *testing.T) {
	c := mustLoad(t)
	for name, want := range map[string]int{
		"gradientai/Llama-3-8B-Instruct-Gradient-1048k": 1048 << 10,
		"Qwen/Qwen2.5-7B-Instruct-1M":                   1 << 20,
		"01-ai/Yi-34B-200K":                             200000,
		"bigscience/bloom-560m-Instruct":                2048,
		"meta-llama/Llama-3.1-8B-Instruct":              1 << 17,
	} {
		a, _, err := c.Named(name)
		testkit.OK(t, err)
		if a.MaxContext != want {
			t.Errorf("%s: %d tokens, want %d", name, a.MaxContext, want)
		}
	}
}

// Names are as people have them: paths, snapshots, tags, fine-tuned models; and names that stand
// for no model or for an unknown one.
func TestNamed(t *testing.T) {
	c := mustLoad(t)
	for name, want := range map[string]string{
		"/root/hub/models--Qwen--Qwen3-8B/snapshots/b968826d9c46dd6066": "qwen3-8b",
		"/models/Qwen3-8B/":                           "qwen3-8b",
		"s3://bucket/meta-llama/Llama-3.1-8B":         "llama-3.1-8b",
		"hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M":          "qwen3-8b q4_k_m",
		"/m/Qwen3-8B-Q4_K_M-00001-of-00002.gguf":      "qwen3-8b q4_k_m",
		"mistralai/Ministral-3-14B-Instruct-2512":     "ministral-3-14b fp8",
		"mistralai/Ministral-3-14B-Instruct-2512-FP8": "ministral-3-14b fp8",
		"llama3.1:8b":                                "llama-3.1-8b",
		"bartowski/Qwen_Qwen3-14B-GGUF:Q4_K_M":       "qwen3-14b q4_k_m",
		"bartowski/google_gemma-3-270m-it-GGUF:Q4_0": "gemma-3-270m q4_0",
		"unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL":           "qwen3-8b q4_k_m",
		"unsloth/gpt-oss-20b-GGUF:F16":               "gpt-oss-20b",
		"ggml-org/gpt-oss-120b-GGUF":                 "gpt-oss-120b",
		"granite-3-1-8b-instruct-quantized-w4a16":    "granite-3.3-8b int4",
		"ggml-org/Qwen2.5-Coder-3B-Q8_0-GGUF":        "qwen2.5-3b q8_0",
		"/m/Qwen3-8B-Q4_K.gguf":                      "qwen3-8b q4_k_m",
		"deepseek-ai/deepseek-coder-6.7b-instruct":   "deepseek-coder-6.7b",
		"TheBloke/deepseek-llm-7B-chat-AWQ":          "deepseek-llm-7b int4",
		"Qwen/Qwen1.5-72B-Chat-GPTQ-Int4":            "qwen1.5-72b int4",
		"Qwen/Qwen2-VL-7B-Instruct":                  "qwen2-vl-7b",
		"deepseek-ai/DeepSeek-V3.1-Terminus":         "deepseek-v3",
		"nvidia/DeepSeek-R1-0528-NVFP4-v2":           "deepseek-v3 fp4",
		"amd/gpt-oss-120b-w-mxfp4-a-fp8":             "gpt-oss-120b",
		"lmsys/gpt-oss-20b-bf16":                     "gpt-oss-20b bf16",
		"nvidia/Kimi-K2-Thinking-NVFP4":              "kimi-k2.5 fp4",
		"Qwen/Qwen3-30B-A3B-Thinking-2507-FP8":       "qwen3-30b-a3b fp8-block",
		"nvidia/Llama-3.1-8B-Instruct-FP8-KV":        "llama-3.1-8b fp8",
		"XiaoMi/MiniMax-MiniMax-M2":                  "minimax-m2.5",
		"NousResearch/Hermes-3-Llama-3.1-8B":         "llama-3.1-8b noted",
		"x/Hermes-3-Llama-3.1-8B-FP8":                "llama-3.1-8b fp8 noted",
		"Qwen/Qwen2.5-14B-Instruct-1M":               "qwen2.5-14b noted",
		"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B":      "qwen3-8b noted",
	} {
		a, notes, err := c.Named(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := a.Name
		if known, err := c.Lookup(a.Name); err != nil || known.DType != a.DType {
			got += " " + string(a.DType)
		}
		if len(notes) > 0 {
			got += " noted"
		}
		if got != want {
			t.Errorf("%s: found %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"yuhuili/EAGLE3-LLaMA3.1-Instruct-8B":     "is a draft (EAGLE3)",
		"Inferact/MiniMax-M3-EAGLE3":              "is a draft (EAGLE3)",
		"poolside/Laguna-S-2.1-DFlash-FP8":        "is a draft (DFlash)",
		"google/gemma-3-27b-it-draft":             "is a draft (draft)",
		"RedHatAI/gpt-oss-120b-speculator.eagle3": "is a draft (speculator.eagle3)",
		"unsloth/Llama-3.2-1B-Instruct-bnb-4bit":  "not modelled (4bit); the nearest is int4",
		"unsloth/Qwen3-8B-GGUF":                   "not modelled (GGUF); the nearest is q4_k_m",
		"unsloth/Qwen3-8B-GGUF:Q8_K_XL":           "not modelled (Q8_K_XL); the nearest is q8_0",
		"someone/Qwen3-8B-VL":                     "unknown model",
		"someone/Mixtral-2x-Qwen3-8B-14B":         "unknown model",
		"someone/Coder-Qwen-7B-v2":                "unknown model",
		"edbeeching/llama-3.1-8b-lora":            "unknown model",
		"meta-llama/Llama-3.1-9B":                 "did you mean llama-3.1-8b or",
	} {
		if a, _, err := c.Named(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, %v, want %s", name, a, err, want)
		}
	}
}

// Names from outside may be of any length: reading them takes no longer than their bytes do.
func TestLongNames(t *testing.T) {
	c := mustLoad(t)
	for _, part := range []string{"-it", "/", "models--", "-Q4_K_M", "@", ":", "\x00", "-8b"} {
		testkit.Bounded(t, 1<<20, func() {
			if a, _, err := c.Named("qwen3-8b" + strings.Repeat(part, 1<<17)); err == nil &&
				part != "/" && part != "@" {
				t.Errorf("%q: found %s", part, a.Name)
			}
		})
	}
}

// MXFP8 has a scale of 8 bits for 32 weights.
func TestMicroscaledNames(t *testing.T) {
	a, err := mustLoad(t).Lookup("MiniMaxAI/MiniMax-M3-MXFP8")
	testkit.OK(t, err)
	plain := plainFormats(a)
	matrices := plain.WeightBytes(hardware.BF16) - plain.WeightBytes(hardware.FP8)
	if a.DType != hardware.FP8 {
		t.Errorf("found %s", a.DType)
	}
	scales := a.WeightBytes(hardware.FP8) - plain.WeightBytes(hardware.FP8)
	near(t, "bytes of scales", float64(scales), float64(matrices)/32, 1e-6)
}

// Layers with the cache of earlier ones store nothing, and the rest of Gemma 4 E2B stores what its
// kinds of layers do.
func TestSharedCachesStoreNothing(t *testing.T) {
	a, err := mustLoad(t).Lookup("gemma-4-e2b")
	testkit.OK(t, err)
	const long = 1 << 20
	// of the first 15 layers, 3 see all tokens with a head of 512, and 12 the last 512 with one of
	// 256, each of keys and values of 2 bytes
	want := int64(3*long*2*512*2 + 12*512*2*256*2)
	if got := a.KVBytesOfSequence(long, hardware.BF16, 1); got != want {
		t.Errorf("found %d bytes, want %d", got, want)
	}
	rows := a.Parameters().Embedding - a.ActiveParameters().Embedding
	if rows != product(a.Vocab, 35, 256) {
		t.Errorf("embeddings for each layer: found %d parameters", rows)
	}
}

// Files of llama.cpp are as large as they are published: of Llama-3.1-70B in GB, by bartowski on
// Hugging Face, as https://ozeki.chat/p_8590-understanding-ai-model-files.html lists them. Its
// matrices of embeddings are quantised too, so that all parameters count.
func TestFilesOfLlamaCPPAreAsLarge(t *testing.T) {
	model, err := mustLoad(t).Lookup("llama-3.1-70b")
	testkit.OK(t, err)
	for format, want := range map[hardware.DType]float64{hardware.Q4KM: 42.52,
		hardware.Q5KM: 49.95, hardware.Q6K: 57.89, hardware.Q8_0: 74.98} {
		bytes := standardFormat(format).Bytes(model.Parameters().Total())
		near(t, string(format), float64(bytes)/1e9, want, 0.015)
	}
}
