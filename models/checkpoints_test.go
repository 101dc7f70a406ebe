package models

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Each checkpoint of the table is a form of a model of the catalogue, has a source, and is what Of
// returns for the form that it names or has another before it.
func TestTheTableNamesModelsOfTheCatalogue(t *testing.T) {
	catalogue, err := Load()
	testkit.OK(t, err)
	for _, c := range Releases() {
		model, err := catalogue.Lookup(c.Of)
		if err != nil {
			t.Errorf("%s: %v", c.Repository, err)
			continue
		}
		if c.Source == "" || c.Weights == model.DType {
			t.Errorf("%s: source %q, weights %s as published", c.Repository, c.Source, c.Weights)
		}
		name, known := ReleaseOf(model, c.Of, c.Weights, "hopper")
		form, ok := ReadRelease(name)
		if !known || !ok || form.Of != c.Of || form.Weights != c.Weights {
			t.Errorf("%s in %s is %s, read as %+v", c.Of, c.Weights, name, form)
		}
	}
}

// TestNamesSayWhatConfigsSay say the number format of weights as the config.json of the checkpoint
// does, where it is at hand.
func TestNamesSayWhatConfigsSay(t *testing.T) {
	dir := testkit.Shared(t, "configs")
	names, err := filepath.Glob(filepath.Join(dir, "*_config.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no configs in %s: %v", dir, err)
	}
	seen := 0
	for _, name := range names {
		repository := strings.Replace(strings.TrimSuffix(filepath.Base(name), "_config.json"),
			"--", "/", 1)
		form, ok := ReadRelease(repository)
		if !ok || form.Weights != hardware.FP8 && form.Weights != hardware.FP8Block {
			continue
		}
		data := testkit.Read(t, name)
		seen++
		blocks := strings.Contains(string(data), `"weight_block_size"`)
		if blocks != (form.Weights == hardware.FP8Block) {
			t.Errorf("%s is read as %s; it has blocks: %t", repository, form.Weights, blocks)
		}
	}
	if seen < 5 {
		t.Errorf("saw %d checkpoints in FP8", seen)
	}
}

// The cache of a checkpoint that is named is that of its config.json, where that is at hand.
func TestNamesSayTheCacheOfConfigs(t *testing.T) {
	catalogue, err := Load()
	testkit.OK(t, err)
	dir, seen := testkit.Shared(t, "configs"), map[hardware.DType]int{}
	for _, c := range Releases() {
		name := filepath.Join(dir, strings.Replace(c.Repository, "/", "--", 1)+"_config.json")
		if _, err := os.Stat(name); err != nil {
			continue
		}
		stored, err := readPublished(t, name)
		testkit.OK(t, err)
		named, _, err := catalogue.Named(c.Repository)
		testkit.OK(t, err)
		if seen[stored.KV]++; named.KV != stored.KV || c.Cache != stored.KV {
			t.Errorf("%s: its config.json says a cache in %q, the table %q, its name %q",
				c.Repository, stored.KV, c.Cache, named.KV)
		}
	}
	if seen["fp8"] < 10 || seen[""] < 2 {
		t.Errorf("saw %v", seen)
	}
}

// A name of the catalogue stands for the checkpoint that follows instructions; one that was given
// stays what it is, unless it is asked for in another format that is published.
func TestOf(t *testing.T) {
	catalogue, err := Load()
	testkit.OK(t, err)
	for _, c := range []struct {
		called, weights, on, want string
		known                     bool
	}{
		{"llama-3.1-8b", "bf16", "hopper", "meta-llama/Llama-3.1-8B-Instruct", true},
		{"llama-2-70b", "fp16", "hopper", "meta-llama/Llama-2-70b-chat-hf", true},
		{"meta-llama/Llama-3.1-8B", "bf16", "hopper", "meta-llama/Llama-3.1-8B", true},
		{"llama-3.1-8b", "fp8", "hopper", "nvidia/Llama-3.1-8B-Instruct-FP8", true},
		{"meta-llama/Llama-3.1-8B", "fp8", "hopper", "meta-llama/Llama-3.1-8B", false},
		{"qwen3-235b-a22b", "fp8-block", "hopper", "Qwen/Qwen3-235B-A22B-FP8", true},
		{"qwen3-8b", "int4", "hopper", "Qwen/Qwen3-8B", false},
		{"palm", "fp8", "hopper", "palm", false},
		{"llama-3.1-8b", "fp8", "cdna3", "meta-llama/Llama-3.1-8B-Instruct", false},
		{"llama-3.3-70b", "fp8", "hopper", "nvidia/Llama-3.3-70B-Instruct-FP8", true},
		{"llama-3.3-70b", "fp8", "cdna3", "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", true},
		{"qwen3-235b-a22b", "fp8-block", "cdna4", "Qwen/Qwen3-235B-A22B-FP8", true},
	} {
		model, err := catalogue.Lookup(c.called)
		testkit.OK(t, err)
		got, known := ReleaseOf(model, c.called, hardware.DType(c.weights), c.on)
		if got != c.want || known != c.known {
			t.Errorf("%s in %s on %s is %s, %t; want %s, %t", c.called, c.weights, c.on, got, known,
				c.want, c.known)
		}
	}
}
