package scenarios

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// openings notes which files are opened.
type openings struct {
	files.Disk
	opened []string
}

// Open opens a file of the disk.
func (o *openings) Open(name string) (fs.File, error) {
	file, err := o.Disk.Open(name)
	if err == nil {
		o.opened = append(o.opened, filepath.Clean(name))
	}
	return file, err
}

// Whatever building opens is among Files: that is what results depend on, and what workers are
// sent.
func TestFilesCoverWhatIsOpened(t *testing.T) {
	dir := t.TempDir()
	const mine = `{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
		"num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000,
		"max_position_embeddings": 4096, "torch_dtype": "float16",
		"architectures": ["LlamaForCausalLM"]}`
	for name, text := range map[string]string{
		"model/config.json":             mine,
		"model/hf_quant_config.json":    `{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": null}}`,
		"all/mine_config.json":          mine,
		"all/mine_hf_quant_config.json": `{"quantization": {"quant_algo": "FP8"}}`,
		"trace.csv":                     "arrival_s,prompt_tokens,output_tokens\n0,100,10\n",
		"lengths.csv":                   "100\n200\n",
		"own.yaml":                      "accelerators: {mine: {like: h100-sxm}}\n",
		"deployment.yaml": "model: mine\naccelerator: h100-sxm\nengine: vllm-v1\n" +
			"factors: {step: 1.1}\nerrors: {tpot: 0.02}\n",
	} {
		path := filepath.Join(dir, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	for _, text := range []string{
		"model: model\nhardware: {accelerator: mine, file: own.yaml}\nworkload: {trace: " +
			"trace.csv}\n",
		"model: all/mine_config.json\nhardware: h100-sxm\nworkload: {trace: trace.csv}\n",
		"model: model/config.json\nhardware: h100-sxm\nworkload: {prompt: {distribution: " +
			"empirical, file: lengths.csv}}\n",
		"model: model\nhardware: h100-sxm\nengine: {deployment: deployment.yaml}\n" +
			"workload: {trace: trace.csv}\n",
	} {
		f, err := Parse(filepath.Join(dir, "a.yaml"), []byte(text))
		testkit.OK(t, err)
		seen := &openings{}
		f.FS = seen
		s, err := f.Build(policies.Default())
		testkit.OK(t, err)
		s.Source.Close()
		if got := s.Scenario.Engine.Weights; got != "fp8" {
			t.Errorf("%s: weights in %s, want fp8 as the file beside the config says", text, got)
		}
		listed := f.Files()
		for _, name := range seen.opened {
			if !slices.Contains(listed, name) {
				t.Errorf("%s is opened, and not among the files %v", name, listed)
			}
		}
		if len(seen.opened) < 3 {
			t.Errorf("opened %v", seen.opened)
		}
	}
}
