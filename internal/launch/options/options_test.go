package options

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

func names() []string { return []string{"vllm", "sglang", "trtllm"} }

// Each flag of a table is one that an engine publishes, or did in other versions, and takes a value
// where the engine says so.
func TestFlagsThatAreReadArePublished(t *testing.T) {
	others := []string{"--tp", "--pp", "--dp", // which argparse completes
		"--model",                                         // of the module that vllm serve replaced
		"--speculative-model", "--num-speculative-tokens", // vLLM up to 0.8
		"--enable-deepep-moe", "--enable-ep-moe", // SGLang up to 0.4.9
		"--enable-nsa-prefill-context-parallel", "--enable-prefill-context-parallel", // and 0.5
		"-O", "--optimization-level", // vLLM, one before and one since v0.15
		"--swap-space", "--disable-log-requests", "--cuda-graph-sizes", // vLLM before v0.12
		"--rope-scaling",                                                  // vLLM before v0.11
		"--enable-log-requests", "--moe-backend", "--language-model-only", // vLLM since
		"--linear-backend",
		"--prefill-schedule-interval",
		"--uvicorn-log-level", "--disable-uvicorn-access-log",
		"--mamba-ssm-cache-dtype", // vLLM, vllm/config/cache.py
		"--config"}                // of SGLang, sglang/srt/server_args_config_parser.py
	all := map[string]values{}
	for _, name := range append(names(), "dynamo") {
		maps.Copy(all, publishedBy(name))
	}
	for _, name := range names() {
		own := publishedBy(name)
		for flag, o := range Load(name).known {
			v, known := own[flag]
			_, elsewhere := all[flag]
			if strings.HasPrefix(flag, "-") && !known && !elsewhere &&
				!slices.Contains(others, flag) {
				t.Errorf("%s: %s is not published", name, flag)
			}
			if known && o.isSwitch() != (v == none) {
				t.Errorf("%s: %s is a switch here: %t", name, flag, o.isSwitch())
			}
			if o.Kind != "" {
				kindOf(o.Kind) // which panics for a kind that there is not
			}
		}
	}
}

// What is written for a term is read as that term, in both forms, by flags and by files.
func TestTermsAreReadAsTheyWereWritten(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			table := Load(name)
			rapid.Check(t, func(t *rapid.T) {
				form := rapid.SampledFrom([]Form{Server, Worker}).Draw(t, "form")
				terms := drawTerms(t, table)
				w := table.Write(terms, table.Version, 1, form)
				words := w.Words
				var once map[string]any // which has no key twice
				testkit.OK(t, yaml.Unmarshal([]byte(w.Config), &once))
				if w.Config != "" {
					words = append(words, "--config", "c")
				}
				r, err := table.Read(&Command{Words: words,
					File: func(string) (string, bool) { return w.Config, true }})
				if err != nil {
					t.Fatalf("%q: %v", words, err)
				}
				for term, value := range terms {
					got := r.Terms[term]
					connector := term == "pool" && got == "mixed" // vLLM's does not say which
					if got != value && !connector && !slices.Contains(w.Left, term) {
						t.Fatalf("%s=%s is written %q, %s, and read as %q", term, value, words,
							w.Config, got)
					}
				}
			})
		})
	}
}

// What is written parses by the options that are published for its form. It no longer does with a
// value too few or too many, an option twice, one that nobody has, or one of the other form.
func TestCheck(t *testing.T) {
	for _, name := range names() {
		table := Load(name)
		rapid.Check(t, func(t *rapid.T) {
			form := rapid.SampledFrom([]Form{Server, Worker}).Draw(t, "form")
			terms := drawTerms(t, table)
			list := optionsOf(table.Write(terms, table.Version, 1, form).Words)
			if len(list) > 0 && !strings.HasPrefix(list[0][0], "-") {
				list = list[1:] // the model
			}
			check := func(list ...[]string) error {
				return table.Check(slices.Concat(list...), form)
			}
			if err := check(list...); err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			if len(list) == 0 {
				return
			}
			i := rapid.IntRange(0, len(list)-1).Draw(t, "option")
			before, one, after := list[:i], list[i], list[i+1:]
			rest := slices.Concat(before, after)
			for why, changed := range map[string][][]string{
				"is there twice":     slices.Concat(list, [][]string{one}),
				one[0] + "-":         slices.Concat(rest, [][]string{{one[0] + "-", "v"}}),
				one[0]:               slices.Concat(rest, [][]string{{one[0]}}),
				"v is not published": slices.Concat(rest, [][]string{one, {"v"}}),
				"--no-zzzz":          slices.Concat(list, [][]string{{"--no-zzzz"}}),
				"no-" + one[0][2:]: slices.Concat(rest, [][]string{{"--no-" + one[0][2:],
					"v"}}),
				"--no-max-num-seqs is": slices.Concat(list, [][]string{{"--no-max-num-seqs", "v"}}),
			} {
				valued := len(one) > 1
				if takes := table.published[one[0]]; why == one[0] && !valued ||
					strings.HasPrefix(why, "no-") && !valued || strings.HasPrefix(why, "v is") &&
					takes == several {
					continue // which is as good
				}
				if err := check(changed...); err == nil || !strings.Contains(err.Error(), why) {
					t.Fatalf("%q: %v, want an error with %q", changed, err, why)
				}
			}
		})
	}
	if err := Load("trtllm").Check([]string{"--tp_size", "2"}, Worker); err == nil {
		t.Error("Dynamo's worker takes --tp_size")
	}
}

// Flags of one command that set a term to two values are refused; one that repeats another is not,
// nor one that overrides a file.
func TestContradictions(t *testing.T) {
	for text, good := range map[string]bool{
		"--max-num-seqs 64 --max-num-seqs=128":               false,
		"--async-scheduling --no-async-scheduling":           false,
		"--enable-prefix-caching --no-enable-prefix-caching": false,
		"--max-num-seqs 64 --max-num-seqs 64":                true,
		"--config c --max-num-seqs 64":                       true,
	} {
		_, err := Load("vllm").Read(&Command{Words: append(strings.Fields(text), "m"),
			File: func(string) (string, bool) { return "max-num-seqs: 32", true }})
		if (err == nil) != good || !good && !strings.Contains(err.Error(), "contradicts --") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The tag of an image says the version, and options that the version has not are named.
func TestVersions(t *testing.T) {
	for image, want := range map[string]string{
		"vllm/vllm-openai:v0.15.1": "0.15.1", "vllm/vllm-openai:latest": "", "vllm": "",
		"localhost:5000/vllm/vllm-openai:v0.9": "0.9", "localhost:5000/vllm": "",
		"lmsysorg/sglang:v0.5.7-rocm700-mi30x":            "0.5.7",
		"nvcr.io/nvidia/tensorrt-llm/release:1.0.0":       "1.0.0",
		"nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc11":   "1.3.0rc11",
		"rocm/vllm:rocm7.0.0_vllm_0.11.2_20251210":        "0.11.2",
		"vllm/vllm-openai:v0.23.0@sha256:0123456789abcde": "0.23.0",
	} {
		if got := VersionOf(image).String(); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
	for _, c := range []struct {
		flag, version string
		noted         bool
	}{
		{"--swap-space=4", "0.11.2", false}, {"--swap-space=4", "0.12.0", true},
		{"--max-cudagraph-capture-size=8", "0.9.1", true},
		{"--max-cudagraph-capture-size=8", "0.15.1", false},
		{"--max-cudagraph-capture-size=8", "", false},
	} {
		r, err := Load("vllm").Read(&Command{Words: []string{c.flag},
			Version: VersionOf("vllm/vllm-openai:v" + c.version)})
		testkit.OK(t, err)
		notes := strings.Join(r.Notes, "\n")
		if got := strings.Contains(notes, "and the image has"); got != c.noted {
			t.Errorf("%s under %q: notes %q", c.flag, c.version, r.Notes)
		}
	}
}
