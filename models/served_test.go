package models

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// leastServed is the share of the published names of language models that must be known.
const leastServed = 0.81

// TestServedNames says how many of the names that engines served in 2024 to 2026 are known, and of
// the others why not. Names of drafts, and of models that make or hear pictures and sound alone,
// are of no language model.
func TestServedNames(t *testing.T) {
	file, err := os.Open(testkit.Shared(t, "engines", "models_served.csv"))
	testkit.OK(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	testkit.OK(t, err)
	c := mustLoad(t)
	all, known, drafts := 0, 0, 0
	reasons := map[string][]string{}
	for _, r := range rows[1:] {
		name, family, format, task := r[0], r[1], r[4], r[13]
		if readName(name).draft != "" {
			if _, _, err := c.Named(name); err == nil || !strings.Contains(err.Error(), "draft") {
				t.Errorf("%s: %v", name, err)
			}
			drafts++
			continue
		}
		if format == "draft" {
			t.Errorf("%s: want it read as a draft", name)
		}
		if noLanguageModel(name, family, task) {
			continue
		}
		all++
		a, notes, err := c.Named(name)
		switch {
		case err == nil && len(notes) > 0:
			t.Logf("%s", notes[0])
			fallthrough
		case err == nil:
			known++
			checkFormat(t, name, format, a)
		case strings.Contains(err.Error(), "not modelled"):
			reasons["format"] = append(reasons["format"], name)
		default:
			reasons["name"] = append(reasons["name"], name)
		}
	}
	for why, names := range reasons {
		t.Logf("%d of unknown %s:\n\t%s", len(names), why, strings.Join(names, "\n\t"))
	}
	share := float64(known) / float64(all)
	t.Logf("%d of %d names are known (%.1f %%), and %d are of drafts", known, all, 100*share,
		drafts)
	if share < leastServed {
		t.Errorf("%.3f of the names are known, want %.3f", share, leastServed)
	}
}

// checkFormat holds the weights of a model against the format of its checkpoint.
func checkFormat(t *testing.T, name, format string, a *Architecture) {
	t.Helper()
	want := map[string][]hardware.DType{
		"bf16": {hardware.BF16, hardware.FP16}, "fp8": {hardware.FP8, hardware.FP8Block},
		"nvfp4": {hardware.FP4}, "fp4": {hardware.FP4}, "mxfp4": {hardware.MXFP4},
		"int4": {hardware.INT4}, "awq": {hardware.INT4}, "gptq": {hardware.INT4},
		"int8": {hardware.INT8}, "mxfp8": {hardware.FP8},
	}[format]
	if strings.Contains(name, "DeepSeek-V4-") && format == "fp8" {
		want = append(want, hardware.MXFP4) // that of its experts, the rest has FP8
	}
	if name == "deepseek-ai/DeepSeek-Math-V2" || name == "XiaomiMiMo/MiMo-MiMo-V2-Flash" {
		return // published in FP8: SGLang's cookbook, and the config.json of MiMo-V2-Flash
	}
	if want != nil && !slices.Contains(want, a.DType) {
		t.Errorf("%s is served in %s, and read in %s", name, format, a.DType)
	}
}

// noLanguageModel reports whether a name is of no model that reads text and writes it.
func noLanguageModel(name, family, task string) bool {
	return strings.Contains(task, "omni") || strings.Contains(task, "embedding") ||
		slices.Contains([]string{"flux", "wan", "whisper", "nvfp4", "moss"}, family) ||
		strings.Contains(name, "Qwen-Image") || strings.Contains(name, "-ASR-") ||
		strings.HasSuffix(name, "-lora")
}
