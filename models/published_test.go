package models

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// unlike are the configs whose count is not within 0.5 % of the published one, nor rounds to it,
// and why.
var unlike = map[string]string{
	"Llama-4-Scout-17B-16E-Instruct": "the config has no vision_config; 109 B counts the tower",
	"Step-3.7-Flash": "198 B counts a vision tower of 1.8 B that the config does " +
		"not describe (Step-3.5-Flash, the same without, is 196 B)",
	"MiniMax-M2":              "published as 230 B, which is rounded to tens",
	"Kimi-K2":                 "published as 1 T, which is rounded to one digit",
	"Kimi-K3":                 "published as 2.8 T, which is rounded to two digits",
	"NVIDIA-Nemotron-3-Nano":  "published as 30 B, of which the model's card says 31.6 B",
	"NVIDIA-Nemotron-3-Super": "published as 120 B, which is rounded to tens",
	"gemma-4-26B-A4B":         "published as 26 B",
}

// Every config that people publish is read, and has the parameters that its publisher states.
func TestPublishedConfigs(t *testing.T) {
	facts := publishedFacts(t)
	compared := 0
	for _, file := range publishedConfigs(t) {
		a, err := readPublished(t, file)
		if err != nil {
			t.Errorf("refused: %v", err)
			continue
		}
		p := a.Parameters()
		total := float64(p.Total()) / 1e9
		t.Logf("%-46s %8.2f B, active %6.2f B, prediction %5.2f B, towers %4.2f B; weights %s; "+
			"KV and state %s", a.Name, total,
			float64(a.ActiveParameters().Total())/1e9, float64(a.PredictorParameters())/1e9,
			float64(p.Towers)/1e9, bytesByFormat(a), stateSizes(a))
		published, ok := facts.find(a.Name)
		if !ok {
			continue
		}
		compared++
		off := total - published.total // some round, some cut digits off
		if math.Abs(off) > max(0.005*published.total, published.unit/2) &&
			!(off > 0 && off < published.unit) && !explained(a.Name) {
			t.Errorf("%s: %.2f B parameters, published %g B", a.Name, total, published.total)
		}
	}
	if compared < 40 {
		t.Errorf("only %d configs are held against published counts", compared)
	}
}

// newer are the parameters that are published of the configs of November 2026, in billions, by
// file: all of the checkpoint, or the text model's where the file has no towers
// (configs_2026_11/README.md, sources.csv and sizes.csv).
var newer = map[string]float64{
	"Qwen--Qwen2.5-VL-7B-Instruct": 8.292166656, "zai-org--GLM-4.5V": 107.710933120,
	"tencent--Hunyuan-A13B-Instruct": 80.393, "tencent--Hy3": 295.034,
	"arcee-ai--Trinity-Mini": 26.124, "MiniMaxAI--MiniMax-M3-MXFP8": 426.839,
	"lmsys--gpt-oss-20b-bf16": 20.914757184, "Qwen--Qwen3.8-27B": 26.895998464,
	"LiquidAI--LFM2-1.2B": 1.170340608, "deepseek-ai--DeepSeek-V4-Flash-0731": 284.332,
	"XiaomiMiMo--MiMo-V2.5": 309.3,
}

// refusedConfigs are the configs that are not read, with what the refusal must say.
var refusedConfigs = map[string]string{
	"openbmb--MiniCPM-V-4.6":    "the key insert_layer_id (found 6) is not understood",
	"thinkingmachines--Inkling": `model_type "inkling_text" is not known`,
}

// The newer configs are read, or refused with what to do.
func TestNewerConfigs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "configs_2026_11"),
		"*_config.json"))
	testkit.OK(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), "_config.json")
		if strings.HasSuffix(name, "_hf_quant") {
			continue
		}
		a, err := readPublished(t, file)
		if want := refusedConfigs[name]; want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		total := float64(a.Parameters().Total()) / 1e9
		t.Logf("%-40s %.3f B, %s", name, total, bytesByFormat(a))
		if want := newer[name]; want > 0 {
			near(t, name+": parameters", total, want, 0.003)
		}
	}
}

// Sizes of checkpoints in GB as their publishers or engines state them, with the layers for
// multi-token prediction where they have such.
func TestPublishedCheckpoints(t *testing.T) {
	for name, want := range map[string]struct {
		gb, within float64
		source     string
	}{
		"moonshotai--Kimi-K2.5": {595, 0.005, "vllm-project/recipes: ~595 GB INT4"},
		"moonshotai--Kimi-K3":   {1560, 0.01, "InferenceX configs: ~1.56 TB"},
		"deepseek-ai--DeepSeek-V4-Flash": {148.66 * 1.073741824, 0.005,
			"vllm-project/recipes: 148.66 GiB loaded"},
		"openai--gpt-oss-120b": {60.8 * 1.073741824, 0.005,
			"openai/gpt-oss model card, table 1: 60.8 GiB"},
		"openai--gpt-oss-20b": {12.8 * 1.073741824, 0.005,
			"openai/gpt-oss model card, table 1: 12.8 GiB"},
		"meta-llama--Meta-Llama-3.1-8B": {
			16.06, 0.001, "Hugging Face, safetensors total of meta-llama/Llama-3.1-8B"},
		"Qwen--Qwen3-235B-A22B": {
			470.2, 0.001, "Hugging Face, safetensors total of Qwen/Qwen3-235B-A22B"},
		"deepseek-ai--DeepSeek-V3": {
			685, 0.005, "Hugging Face: 685B elements, of which most take a byte"},
	} {
		a, err := readPublished(t, testkit.Shared(t, "configs", name+"_config.json"))
		if err != nil {
			t.Error(err)
			continue
		}
		near(t, name+": GB ("+want.source+")", float64(checkpointBytes(a))/1e9, want.gb,
			want.within)
	}
}

// checkpointBytes returns the bytes of the published weights, with the layers for multi-token
// prediction, which are stored as the other layers are.
func checkpointBytes(a *Architecture) int64 {
	if len(a.Predictors) == 0 {
		return a.WeightBytes(a.DType)
	}
	with := *a
	with.Groups = append(slices.Clone(a.Groups), a.Predictors...)
	last := a.Groups[len(a.Groups)-1]
	for i := range a.Predictors {
		with.Groups[len(a.Groups)+i].Formats = last.Formats
	}
	return with.WeightBytes(a.DType)
}

func explained(name string) bool {
	for part := range unlike {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// publishedConfigs returns the shared config.json files.
func publishedConfigs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "configs"), "*_config.json"))
	testkit.OK(t, err)
	var configs []string
	for _, f := range files {
		if !strings.HasSuffix(f, "_hf_quant_config.json") {
			configs = append(configs, f)
		}
	}
	return configs
}

// readPublished reads a config, with hf_quant_config.json where there is one.
func readPublished(t *testing.T, file string) (*Architecture, error) {
	t.Helper()
	config, err := os.Open(file)
	testkit.OK(t, err)
	defer config.Close()
	p := Checkpoint{Config: config}
	if beside, err := os.Open(strings.Replace(file, "_config.json", "_hf_quant_config.json",
		1)); err == nil {
		defer beside.Close()
		p.Quantisation = beside
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), "_config.json"), "--")
	a, _, err := p.Read(name)
	return a, err
}

// facts are published counts of parameters in billions, by the key of a model's name, with the unit
// of the last digit.
type facts map[string]struct{ total, unit float64 }

func publishedFacts(t *testing.T) facts {
	t.Helper()
	file, err := os.Open(testkit.Shared(t, "configs", "model_facts.csv"))
	testkit.OK(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	testkit.OK(t, err)
	f := facts{}
	for _, r := range rows[1:] {
		total, err := strconv.ParseFloat(r[1], 64)
		if err != nil {
			continue
		}
		unit := 1.
		if _, decimals, found := strings.Cut(r[1], "."); found {
			unit = math.Pow10(-len(decimals))
		}
		f[factKey(r[0])] = struct{ total, unit float64 }{total, unit}
	}
	return f
}

// find returns the facts of the model with the longest name that the given one begins with.
func (f facts) find(name string) (found struct{ total, unit float64 }, ok bool) {
	longest := 0
	for key, fact := range f {
		if strings.HasPrefix(factKey(name), key) && len(key) > longest {
			found, longest = fact, len(key)
		}
	}
	return found, longest > 0
}

func factKey(name string) string {
	name = strings.ToLower(name)
	for _, prefix := range []string{"meta-", "nvidia-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

func bytesByFormat(a *Architecture) string {
	var text []string
	for _, s := range a.Storage() {
		text = append(text, string(s.DType)+" "+strconv.FormatFloat(float64(s.Bytes)/1e9, 'f', 1,
			64)+" GB")
	}
	return strings.Join(text, ", ")
}

func stateSizes(a *Architecture) string {
	var text []string
	for _, n := range []int{1 << 10, 32 << 10, 128 << 10} {
		text = append(text, strconv.FormatFloat(
			float64(a.KVBytesOfSequence(n, hardware.BF16, 1))/1e6, 'f', 1, 64))
	}
	return strings.Join(text, " / ") + " MB at 1k / 32k / 128k"
}

// A model of the catalogue is the checkpoint that its publisher has under that name: the number
// formats of its weights and of its cache are those of the config. The catalogue has most
// language models without their towers for images, which have 16 bits.
func TestCatalogIsThePublishedCheckpoint(t *testing.T) {
	known, err := Load()
	testkit.OK(t, err)
	compared := 0
	for _, file := range publishedConfigs(t) {
		name := strings.TrimSuffix(filepath.Base(file), "_config.json")
		byName, err := known.Lookup(strings.Replace(name, "--", "/", 1))
		if err != nil || strings.Contains(name, "Step-3.7") {
			continue // the copy of Step-3.7's config lacks the 96 heads of layers with a window
		}
		published, err := readPublished(t, file)
		if err != nil {
			t.Error(err)
			continue
		}
		compared++
		if byName.DType != published.DType || byName.KV != published.KV {
			t.Errorf("%s has weights in %s and a cache in %q by name, but %s and %q in its "+
				"config", name, byName.DType, byName.KV, published.DType, published.KV)
		}
		near(t, name+": bytes of weights", float64(byName.WeightBytes(byName.DType)),
			float64(published.WeightBytes(published.DType)-
				2*(published.Parameters().Towers-byName.Parameters().Towers)), 0.005)
	}
	if compared < 20 {
		t.Errorf("only %d models of the catalogue are held against their configs", compared)
	}
}
