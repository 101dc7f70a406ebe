package models

import (
	"math"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Each model has exactly the parameters that its publisher states, where all digits are stated, and
// says where all figures are from.
func TestCatalogAgainstPublishedCounts(t *testing.T) {
	c := mustLoad(t)
	files, err := catalogFiles.ReadDir("catalog")
	testkit.OK(t, err)
	exact := 0
	for _, f := range files {
		data, err := catalogFiles.ReadFile(path.Join("catalog", f.Name()))
		testkit.OK(t, err)
		entries, err := parseEntries(data)
		testkit.OK(t, err)
		for _, e := range entries {
			a, err := c.Lookup(e.Name)
			testkit.OK(t, err)
			p := e.Published
			if e.Source == "" || p.Source == "" || (p.Beyond == 0) != (p.Because == "") {
				t.Errorf("%s: a figure has no source", e.Name)
			}
			got := a.Parameters().Total() + p.Beyond
			if p.Digits == 0 {
				exact++
			} else {
				unit := math.Pow10(len(strconv.FormatInt(got, 10)) - p.Digits)
				got = int64(math.Round(float64(got)/unit) * unit)
			}
			if got != p.Parameters {
				t.Errorf("%s: %d parameters (%+v), published %d", e.Name, got, a.Parameters(),
					p.Parameters)
			}
		}
	}
	if exact < 60 {
		t.Errorf("only %d models are checked to the last digit", exact)
	}
}

// Catalogue files are read without warnings: nothing in them is assumed.
func TestCatalogLeavesNothingToAssume(t *testing.T) {
	for _, a := range mustLoad(t).All() {
		if err := a.Validate(); err != nil || a.DType == "" || a.Source == "" {
			t.Errorf("%s: %v, dtype %q, source %q", a.Name, err, a.DType, a.Source)
		}
	}
}

func TestLookup(t *testing.T) {
	c := mustLoad(t)
	for name, want := range map[string]string{
		"llama-2-70b":                          "llama-2-70b",
		" LLAMA-2-70B ":                        "llama-2-70b",
		"Llama2-70b":                           "llama-2-70b",
		"meta-llama/Llama-2-70b-hf":            "llama-2-70b",
		"NousResearch/Llama-2-70b-hf":          "llama-2-70b",
		"Llama 3.1 8B":                         "llama-3.1-8b",
		"meta-llama/Llama-3.1-8B-Instruct":     "llama-3.1-8b",
		"Qwen/Qwen3-32B":                       "qwen3-32b",
		"mistralai/Mixtral-8x7B-v0.1":          "mixtral-8x7b",
		"mistralai/Mistral-Nemo-Instruct-2407": "mistral-nemo-12b",
		"codellama/CodeLlama-34b-Instruct-hf":  "codellama-34b",
		"gpt2":                                 "gpt-2-124m",
		"deepseek-ai/DeepSeek-R1":              "deepseek-v3",
		"deepseek-ai/DeepSeek-R1-0528":         "deepseek-v3",
		"deepseek-ai/DeepSeek-V3.2-Exp":        "deepseek-v3.2",
	} {
		if a, err := c.Lookup(name); err != nil || a.Name != want {
			t.Errorf("%q: found %v, %v, want %s", name, a, err, want)
		}
	}
	for name, want := range map[string]string{
		"lama-2-70b":  `unknown model "lama-2-70b"; did you mean llama-2-70b or `,
		"qwen3-33b":   "did you mean qwen3-32b or ",
		"llama-3.1":   "did you mean llama-3.1-8b or llama-3.1-70b or llama-3.1-405b?",
		"transformer": `unknown model "transformer"; llmsim list models has the `,
		"":            "config.json",
	} {
		if _, err := c.Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

// A broken catalogue is named with its place.
func TestCatalogMistakes(t *testing.T) {
	if _, err := parseEntries([]byte("[\n{\"nam\": \"x\"}]")); err == nil ||
		!strings.Contains(err.Error(), `line 2: json: unknown field "nam"`) {
		t.Error(err)
	}
	c := mustLoad(t)
	twice := entry{Name: "mine", Aliases: []string{"LLAMA2-70b"}, Config: []byte("{" + llama + "}")}
	if err := c.add(twice); err == nil ||
		err.Error() != `mine: the name "LLAMA2-70b" belongs to llama-2-70b` {
		t.Error(err)
	}
}
