package engines_test

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/manifests"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	registry "github.com/llmsim/llmsim/models/engines"
)

// started returns the server that starts a checkpoint under a version of an engine, and the notes
// beside it.
func started(t *testing.T, e *engines.Engine, v registry.Version, settings ...string) (
	manifests.Server, string) {
	t.Helper()
	release, err := registry.Find(e.Name, v.String())
	testkit.OK(t, err)
	all := append([]string{"hardware=b300-sxm", "parallelism.tensor=8",
		"engine.preset=" + release.Preset, "engine.version=" + v.String(),
		"engine.max-model-len=8192"}, settings...)
	s, err := build(all)
	for _, shape := range []string{"parallelism.expert=8", "parallelism.tensor=2"} {
		if err != nil { // shards may be too narrow
			s, err = build(append(all, shape))
		}
	}
	if err != nil {
		t.Fatalf("%s %s, %q: %v", e.Name, v, settings, err)
	}
	b, err := launch.NewBundle(s, e.Name)
	testkit.OK(t, err)
	return b.Servers[0], strings.Join(b.Notes, "\n")
}

// repositories returns the checkpoints of the catalogue that a pattern names.
func repositories(t *testing.T, pattern string) (list []string) {
	t.Helper()
	catalogue, err := models.Load()
	testkit.OK(t, err)
	for _, model := range catalogue.All() {
		for _, alias := range model.Aliases {
			if is, err := path.Match(strings.ToLower(pattern), strings.ToLower(alias)); err != nil {
				t.Fatalf("%s: %v", pattern, err)
			} else if is {
				list = append(list, alias)
			}
		}
	}
	if _, err := catalogue.Lookup(pattern); err == nil && len(list) == 0 {
		list = []string{pattern}
	}
	return list
}

// Each row of how checkpoints start has a source, names checkpoints of the catalogue, and is in the
// command of these, which parses by the options that the engine publishes and sets no size. Files
// for a release before the row's say so, and have no parser that it lacks.
func TestCheckpointsStartAsTheirSourcesSay(t *testing.T) {
	for _, row := range engines.Starts() {
		e, err := engines.Find(row.Engine)
		testkit.OK(t, err)
		v := e.Table.Version
		if !row.Has(v) {
			v = row.From
		}
		if row.Source == "" || !row.Has(v) {
			t.Errorf("%v under %s %s: source %q", row.Checkpoints, e.Name, row.Range, row.Source)
			continue
		}
		for _, pattern := range row.Checkpoints {
			names := repositories(t, pattern)
			if len(names) == 0 {
				t.Errorf("%s names no checkpoint of the catalogue", pattern)
				continue
			}
			s, notes := started(t, e, v, "model="+names[0])
			words := s.Command[e.Starts(s.Command):]
			if !strings.Contains(s.Asks, row.Note) || row.Note == "" && s.Asks != "" ||
				strings.Contains(notes, "known to start") {
				t.Errorf("%s asks %q, notes %s", names[0], s.Asks, notes)
			}
			checkFlags(t, e, &row, words)
			before := e.Table.Version
			covered := slices.ContainsFunc(engines.Starts(), func(s engines.Start) bool {
				return s.Engine == e.Name && slices.Contains(s.Checkpoints, pattern) &&
					s.Has(before)
			})
			if covered {
				continue
			}
			s, notes = started(t, e, before, "model="+names[0])
			if slices.Contains(s.Command, cmp.Or(row.Tools, row.Reasoning)) ||
				!strings.Contains(notes, row.From.String()) {
				t.Errorf("%s under %s %s, before %s: %q, notes %s", names[0], e.Name, before,
					row.From, s.Command, notes)
			}
		}
	}
}

// checkFlags fails where words of a command lack what a row says, or mean something in a scenario.
func checkFlags(t *testing.T, e *engines.Engine, row *engines.Start, words []string) {
	t.Helper()
	spelt := func(flag string) string {
		if e.Name == "trtllm" {
			flag = strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")
			return "--" + strings.Replace(flag, "tool_call_", "tool_", 1)
		}
		return flag
	}
	for flag, value := range map[string]string{"--tool-call-parser": row.Tools,
		"--reasoning-parser": row.Reasoning, "--tokenizer-mode": row.Tokenizer,
		"--config-format": row.Format, "--load-format": row.Format} {
		at := slices.Index(words, spelt(flag))
		if got := ""; at >= 0 {
			got = words[at+1]
			if got != value {
				t.Errorf("%q: %s %q, want %q", words, flag, got, value)
			}
		} else if value != "" {
			t.Errorf("%q lacks %s %s", words, flag, value)
		}
	}
	for flag, has := range map[string]bool{spelt("--trust-remote-code"): row.Trust,
		"--enable-auto-tool-choice": e.Name == "vllm" && row.Tools != ""} {
		if slices.Contains(words, flag) != has {
			t.Errorf("%q: %s, want %t", words, flag, has)
		}
	}
	published := words
	if e.Name != "sglang" {
		published = words[1:] // the model
	}
	testkit.OK(t, e.Table.Check(published, options.Server))
	read, err := e.Table.Read(&options.Command{Words: words,
		File: func(string) (string, bool) { return "", false }})
	testkit.OK(t, err)
	for term := range read.Terms {
		if strings.HasSuffix(term, "parser") || strings.HasSuffix(term, "-format") ||
			term == "trust" || term == "auto-tools" || term == "tokenizer-mode" {
			t.Errorf("%s of %q is read as a setting", term, words)
		}
	}
}

// A form of a checkpoint with quantised weights starts as the checkpoint does, and what ModelOpt
// made is for no accelerator of AMD.
func TestFormsStartAsTheirCheckpoint(t *testing.T) {
	e, err := engines.Find("vllm")
	testkit.OK(t, err)
	s, _ := started(t, e, e.Table.Version, "model=moonshotai/Kimi-K2.5", "engine.weights=fp4")
	if s.Model != "nvidia/Kimi-K2.5-NVFP4" || !slices.Contains(s.Command, "kimi_k2") ||
		!slices.Contains(s.Command, "--trust-remote-code") {
		t.Errorf("%q", s.Command)
	}
	for accelerator, want := range map[string]string{
		"h100-sxm": "nvidia/Llama-3.3-70B-Instruct-FP8",
		"mi300x":   "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"} {
		s, _ := started(t, e, e.Table.Version, "model=llama-3.3-70b", "engine.weights=fp8",
			"hardware="+accelerator)
		if s.Model != want {
			t.Errorf("on %s: %s, want %s", accelerator, s.Model, want)
		}
	}
}

// Between pools, vLLM keeps the caches of layers with windows small only if it is told to, which
// its releases can be from 0.19 on; the files for older ones say what they lack. A command without
// that is read with the cache of all tokens.
func TestPoolsKeepHybridCaches(t *testing.T) {
	const flag = "--no-disable-hybrid-kv-cache-manager"
	e, err := engines.Find("vllm")
	testkit.OK(t, err)
	pools := "fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]"
	for version, tells := range map[string]bool{"0.15.1": false, "0.19.0": true, "0.25.0": true} {
		v, err := registry.ParseVersion(version)
		testkit.OK(t, err)
		s, notes := started(t, e, v, "model=gpt-oss-120b", pools)
		if slices.Contains(s.Command, flag) != tells || strings.Contains(notes, flag) == tells {
			t.Errorf("%s: %q, notes %s", version, s.Command, notes)
		}
		if s, _ := started(t, e, v, "model=llama-3.1-8b", pools); slices.Contains(s.Command, flag) {
			t.Errorf("%s: %q, without layers with windows", version, s.Command)
		}
	}
	const command = `docker run vllm/vllm-openai:VERSION --model openai/gpt-oss-120b ` +
		`--kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' `
	for version, halved := range map[string]bool{"v0.19.0": true, "v0.20.0": true,
		"v0.25.0": false, "v0.19.0 " + flag: false, "v0.25.0 --disable": true} {
		version, told, _ := strings.Cut(version, " ")
		told = strings.Replace(told, "--disable", "--disable-hybrid-kv-cache-manager", 1)
		told = strings.Replace(told, "-hybrid-kv-cache-manager-hybrid", "-hybrid", 1)
		r, err := launch.Read(strings.Replace(command, "VERSION", version, 1) + told)
		testkit.OK(t, err)
		if slices.Contains(r.Settings, "memory.policy=prefix-cache") != halved {
			t.Errorf("%s %s: %q", version, told, r.Settings)
		}
	}
}
