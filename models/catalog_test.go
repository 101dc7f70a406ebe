package models

import (
	"math"
	"path"
	"regexp"
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
			if p.Parameters == 0 && strings.HasPrefix(p.Source, "unverified") {
				continue
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

// mixture is the size of a model with experts in its name: all parameters and those at work.
var mixture = regexp.MustCompile(`-(\d+(?:\.\d+)?)b-a(\d+(?:\.\d+)?)b`)

// unlikeNames are the models whose parameters are not what their names say, and why.
var unlikeNames = map[string]string{
	"gemma-4-26b-a4b":         "26 B with the vision tower",
	"kimi-linear-48b-a3b":     "49.1 B are counted",
	"nemotron-3-nano-30b-a3b": "31.6 B by its technical report",
}

// The parameters of a model, and those at work on a token, are what its name says: within 2 %, or
// rounded or cut to its digits.
func TestNamesSayTheParameters(t *testing.T) {
	seen := 0
	for _, a := range mustLoad(t).All() {
		found := mixture.FindStringSubmatch(a.Name)
		if found == nil || unlikeNames[a.Name] != "" {
			continue
		}
		seen++
		for i, got := range []float64{float64(a.Parameters().Total()) / 1e9,
			float64(a.ActiveParameters().Total()) / 1e9} {
			says, err := strconv.ParseFloat(found[i+1], 64)
			testkit.OK(t, err)
			off := got - says
			if math.Abs(off) > max(0.02*says, 0.5) && !(off > 0 && off < 1) {
				t.Errorf("%s: %.2f B, its name says %g B", a.Name, got, says)
			}
		}
	}
	if seen < 12 {
		t.Errorf("saw %d names with two sizes", seen)
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
