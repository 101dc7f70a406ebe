package published

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/training"
	"github.com/llmsim/llmsim/models"
)

// gpt returns a model of GPT-2's kind: a KV head for each head, MLPs four times as wide, learned
// positions and tied embeddings (Narayanan et al., arXiv:2104.04473, section 5.1).
func gpt(hidden, layers, heads, vocab, positions int) *models.Architecture {
	if hidden == 0 || layers == 0 || heads == 0 || hidden%heads != 0 {
		return nil
	}
	return &models.Architecture{
		Name: fmt.Sprintf("gpt-%d-%d", hidden, layers), Family: "gpt2", Hidden: hidden,
		Vocab: vocab, MaxContext: positions, TiedEmbeddings: true, LearnedPositions: positions,
		NormBias: true, DType: hardware.FP16,
		Groups: models.Uniform(layers, &models.Softmax{Heads: heads, KVHeads: heads,
			HeadDim: hidden / heads, QKVBias: true, OutBias: true},
			&models.Dense{Intermediate: 4 * hidden, Bias: true}),
	}
}

// mpt returns a model of MPT's sizes (mosaicml/llm-foundry, scripts/train/yamls/pretrain), without
// biases.
func mpt(name string) *models.Architecture {
	sizes := map[string][3]int{"125m": {768, 12, 12}, "350m": {1024, 24, 16},
		"760m": {1536, 24, 12}, "1b": {2048, 24, 16}, "3b": {2560, 32, 20}, "7b": {4096, 32, 32},
		"13b": {5120, 40, 40}, "30b": {7168, 48, 56}, "70b": {8192, 80, 64}}
	s, ok := sizes[name]
	if !ok {
		return nil
	}
	a := gpt(s[0], s[1], s[2], 50368, 0)
	a.NormBias = false
	a.Groups[0].Mixer.(*models.Softmax).QKVBias = false
	a.Groups[0].Mixer.(*models.Softmax).OutBias = false
	a.Groups[0].MLP.(*models.Dense).Bias = false
	return a
}

// catalogued returns the model that tables call name; nil where the catalogue has no such model.
func catalogued(name string) *models.Architecture {
	known := map[string]string{"LLAMA3_70B": "llama-3-70b", "LLAMA3.1_405B": "llama-3.1-405b",
		"LLAMA3_8B": "llama-3-8b", "LLAMA3.1_8B": "llama-3.1-8b",
		"DeepSeekV3": "deepseek-v3", "GPT OSS 120B": "gpt-oss-120b",
		"Qwen3_30B_a3B": "qwen3-30b-a3b", "Qwen3_235B_a22B": "qwen3-235b-a22b",
		"Nemotron_3_Nano": "nemotron-3-nano", "Nemotron_3_Super": "nemotron-3-super",
		"Kimi_K2": "kimi-k2", "LLAMA2_7B": "llama-2-7b", "LLAMA2_13B": "llama-2-13b",
		"LLAMA2_70B": "llama-2-70b", "7b": "llama-2-7b", "13b": "llama-2-13b",
		"34b": "codellama-34b", "70b": "llama-2-70b", "7B": "llama-7b",
		"Llama-3.2-3B": "llama-3.2-3b"}
	return entry(known[name])
}

// entry returns the model of the catalogue of that name; nil where it names no model.
func entry(id string) *models.Architecture {
	catalog, err := models.Load()
	if err != nil {
		return nil
	}
	a, err := catalog.Lookup(id)
	if err != nil {
		return nil
	}
	return a
}

// machine returns the machine that tables call name. Ports is the Gbit/s of the network of one
// accelerator; 0 is the catalogue's.
func machine(name string, ports float64) (training.Machine, bool) {
	catalog, err := hardware.Load()
	if err != nil {
		return training.Machine{}, false
	}
	name = strings.ToLower(strings.NewReplacer("DGX-", "", "_80gb", "-80gb-sxm", "_40gb",
		"-40gb-sxm", "-80GB", "-80gb-sxm", "-40GB", "-40gb-sxm").Replace(name))
	name = strings.Replace(name, "h100-80gb-sxm", "h100-sxm", 1)
	a, err := catalog.Accelerator(name)
	if err != nil {
		return training.Machine{}, false
	}
	var links [2]*hardware.Link
	for i, id := range []string{a.ScaleUp, a.Network} {
		if link, err := catalog.Link(id); err == nil {
			links[i] = &link
		}
	}
	if ports > 0 && links[1] != nil {
		links[1].Bandwidth = ports * 1e9 / 8
	}
	return training.NewMachine(&a, links[0], links[1]), true
}
