package validation

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

func TestNamesOfTables(t *testing.T) {
	c, err := loadCatalogs()
	testkit.OK(t, err)
	for name, want := range map[string]string{
		"H100": "h100-sxm", "h100_sxm": "h100-sxm", "h100-80gb": "h100-sxm",
		"H100-SXM5-80GB": "h100-sxm", "NVIDIA H100 80GB HBM3": "h100-sxm",
		"H100 PCIe": "h100-pcie", "A100-80GB": "a100-80gb-sxm", "a100-80gb-sxm": "a100-80gb-sxm",
		"NVIDIA A100-SXM4-80GB": "a100-80gb-sxm",
		"A100-SXM-40GB":         "a100-40gb-sxm", "A100-40GB": "a100-40gb-sxm", "L40S": "l40s",
		"l40s-48gb": "l40s", "H200_141GB": "h200-sxm",
		"V100-SXM2-32GB": "v100-32gb-sxm2", "RTX_PRO_6000": "rtx-pro-6000", "b200_sxm": "b200-sxm",
		"Tesla V100-SXM2-16GB": "v100-16gb-sxm2", "NVIDIA GeForce RTX 4090": "rtx-4090",
		"Tesla T4": "t4", "NVIDIA A10": "a10", "NVIDIA H100-NVL-94GB": "h100-nvl",
		"NVIDIA H200-NVL-141GB": "h200-nvl", "NVIDIA B300-SXM-288GB": "b300-sxm",
		"AMD Instinct MI325X 256GB HBM3E": "mi325x", "GH200 144GB": "gh200-144gb",
		"NVIDIA GH200 96GB": "gh200", "rtx-3080-10gb": "rtx-3080", "rtx-3080-ti": "rtx-3080-ti",
		"apple-m1-max-24core": "m1-max-24core", "apple-m1-max-32core": "m1-max",
		"NVIDIA RTX PRO 6000 Blackwell Server Edition 96GB": "rtx-pro-6000",
		"Z9000": "", "H100-999GB": "", "H100-40GB": "", "": "",
	} {
		a, err := c.accelerator(name)
		if a.Name != want || (err == nil) != (want != "") {
			t.Errorf("the GPU %q is %q (%v), want %q", name, a.Name, err, want)
		}
	}
	for name, want := range map[string]string{
		"meta-llama/Llama-2-7b-hf": "llama-2-7b", "Llama2-70b": "llama-2-70b",
		"llama2-70b-chat": "llama-2-70b", "Mixtral-8x7B": "mixtral-8x7b",
		"mistralai/Mixtral-8x22B-Instruct-v0.1": "mixtral-8x22b",
		"nvidia/Llama-3.1-70B-Instruct-FP8":     "llama-3.1-70b", "Qwen/Qwen3-32B-FP8": "qwen3-32b",
		"Mistral-7B": "mistral-7b-v0.3", "mistralai/Mistral-7B-Instruct-v0.2": "mistral-7b-v0.2",
		"Qwen/Qwen3-30B-A3B-Instruct-2507":          "qwen3-30b-a3b",
		"Qwen/Qwen3-235B-A22B-Thinking-2507-FP8":    "qwen3-235b-a22b",
		"deepseek-ai/DeepSeek-R1-0528":              "deepseek-v3",
		"deepseek-ai/DeepSeek-V3.1-Terminus":        "deepseek-v3",
		"deepseek-ai/DeepSeek-R1-Distill-Llama-70B": "llama-3.3-70b", "Qwen/QwQ-32B": "qwen2.5-32b",
		"no-such-model": "", "llama-3.1-70c": "", "-Instruct": "", "": "",
	} {
		m, err := c.model(name)
		got := ""
		if err == nil {
			got = m.Name
		}
		if got != want {
			t.Errorf("the model %q is %q (%v), want %q", name, got, err, want)
		}
	}
}
