package scenarios_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

const twinBase = `
model: llama-3.1-8b
hardware: {accelerator: h100-sxm}
parallelism: {tensor: 2}
workload: {rate: 4/s, prompt: 600, output: 20, requests: 50}
`

// explained builds a scenario with overrides, and returns its steps, its evidence's grade and its
// explanation.
func twinned(t *testing.T, sets ...string) (*scenarios.Simulation, []byte) {
	t.Helper()
	f, err := scenarios.Parse("twin.yaml", []byte(twinBase), sets...)
	testkit.OK(t, err)
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	text, err := s.Explain()
	testkit.OK(t, err)
	return s, text
}

// Whatever byte of a deployment is changed, it is refused, or says the same. A file without a seal,
// which people wrote, is read.
func TestAChangedDeploymentIsFound(t *testing.T) {
	d := scenarios.Fitted{Model: "llama-3.1-8b", Accelerator: "h100-sxm", Engine: "vllm",
		Measured: "2026-11-20", Factors: scenarios.Factors{Prompts: 1.21, Step: 0.98},
		Errors: scenarios.Errors{TTFT: 0.05, TPOT: 0.031}}
	text, err := d.Encode()
	testkit.OK(t, err)
	read := func(text []byte) (*scenarios.Fitted, error) {
		return scenarios.ReadFitted(fstest.MapFS{"d.yaml": {Data: text}}, "d.yaml")
	}
	testkit.Changed(t, text, read)
	_, err = read(append(text, "tensor: 2\n"...))
	if want := "d.yaml: found no sum at its end"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("a deployment with a line after its sum: %v, want %s", err, want)
	}
	bare, err := files.LinesSeal().Open(text)
	testkit.OK(t, err)
	got, err := read(bare)
	testkit.OK(t, err)
	if *got != d {
		t.Errorf("without a seal it is read as %v, want %v", *got, d)
	}
}

// Each factor lengthens what it names, and nothing where it is 1.
func TestFactorsMultiplyTheTimesThatTheyName(t *testing.T) {
	steps := map[string]*sim.Step{
		"prompt": {Prefill: []sim.Chunk{{New: 2048, Last: true}}},
		"decode": {Decodes: 32, DecodeTokens: 32, Context: 32 * 1000},
		"mixed": {Prefill: []sim.Chunk{{New: 2048, Last: true}}, Decodes: 32, DecodeTokens: 32,
			Context: 32 * 1000},
	}
	plain, _ := twinned(t)
	for _, c := range []struct {
		factor string
		longer string // the steps that take longer, in the order of names
	}{
		{"prompts", "decode mixed prompt"}, {"memory", "decode mixed prompt"},
		{"cache", "decode mixed"},
		{"exchanges", "decode mixed prompt"}, {"step", "decode mixed prompt"},
		{"sequence", "decode mixed prompt"}, {"request", ""}, {"mixed", "mixed"},
		{"load", "decode mixed"},
	} {
		one, _ := twinned(t, "engine.factors."+c.factor+"=1")
		more, _ := twinned(t, "engine.factors."+c.factor+"=1.5")
		var longer []string
		for _, name := range []string{"decode", "mixed", "prompt"} {
			s := steps[name]
			before, after := plain.Steps().Clock.Duration(s), more.Steps().Clock.Duration(s)
			if same := one.Steps().Clock.Duration(s); same != before {
				t.Errorf("%s: 1 of the %s step: %v, want %v", c.factor, name, same, before)
			}
			if after > before {
				longer = append(longer, name)
			}
			most := before*3/2 + 1
			if c.factor == "load" { // of 32 sequences
				most = sim.Time(float64(before) * math.Pow(1.5, math.Log10(33)))
			}
			if after < before || after > most {
				t.Errorf("%s: 1.5 takes the %s step from %v to %v", c.factor, name, before, after)
			}
			sum := sim.Time(0)
			for _, o := range more.Steps().Clock.Breakdown(s) {
				sum += o.Time
			}
			if sum != after {
				t.Errorf("%s: operators of the %s step take %v together, want %v", c.factor, name,
					sum, after)
			}
		}
		if got := strings.Join(longer, " "); got != c.longer {
			t.Errorf("%s lengthens the steps %q, want %q", c.factor, got, c.longer)
		}
		a, _ := plain.Steps().Clock.RequestLatency()
		b, _ := more.Steps().Clock.RequestLatency()
		if (b > a) != (c.factor == "request") {
			t.Errorf("%s: the latency of requests is %v, before %v", c.factor, b, a)
		}
	}
}

// A deployment's factors apply to the deployment alone, with its evidence.
func TestADeploymentAppliesToItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deployment.yaml")
	fitted := func(accelerator string, tensor int) []byte {
		return fmt.Appendf(nil, "model: llama-3.1-8b\naccelerator: %s\ntensor: %d\n"+
			"engine: vllm-v1\nmeasured: 2026-11-01\nfactors: {prompts: 1.25}\n"+
			"errors: {ttft: 0.03, tpot: 0.01}\n", accelerator, tensor)
	}
	for _, c := range []struct {
		text   []byte
		set    string
		grade  string
		factor float64
		warn   string
	}{
		{text: fitted("h100-sxm", 2), grade: "measured here", factor: 1.25},
		{text: fitted("h100-sxm", 1), grade: "formula only", factor: 1.25, warn: "parallelism 1"},
		// spread over more because of its memory, without a word of the scenario
		{text: fitted("h100-sxm", 1), set: "memory.static-share=0.08 parallelism={}",
			grade: "formula only", factor: 1.25, warn: "parallelism 1"},
		{text: fitted("h200-sxm", 2), factor: 0, warn: "accelerator h200-sxm"},
		{text: fitted("h100-sxm", 2), set: "engine.factors.prompts=1.5", grade: "formula only",
			factor: 1.5},
	} {
		testkit.OK(t, os.WriteFile(path, c.text, 0o600))
		sets := []string{"engine.deployment=" + path}
		if c.set != "" {
			sets = append(sets, strings.Fields(c.set)...)
		}
		s, text := twinned(t, sets...)
		e := s.Evidence()
		if c.grade != "" && string(e.Grade) != c.grade {
			t.Errorf("the grade is %q, want %q", e.Grade, c.grade)
		}
		if got := s.Scenario.Engine.Factors.Prompts; got != c.factor {
			t.Errorf("the factor on prompts is %v, want %v", got, c.factor)
		}
		if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, c.warn) {
			t.Errorf("warnings are %q, want one with %q", all, c.warn)
		}
		if _, again := twinned(t, sets...); !bytes.Equal(text, again) {
			t.Error("the explanation differs between two readings")
		}
		if e.Grade == "measured here" && !strings.Contains(e.Sentence(), "2026-11-01") {
			t.Errorf("the evidence %q does not say when it was measured", e.Sentence())
		}
	}
}
