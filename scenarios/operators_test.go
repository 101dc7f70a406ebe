package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// measuredKernels writes tables of an accelerator on which every product takes 0.1 ms and attention
// 1 µs for each token of context, and a scenario beside them. It returns the path of the scenario.
func measuredKernels(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	testkit.OK(t, os.Mkdir(filepath.Join(dir, "kernels"), 0o777))
	products := "gemm_dtype,m,n,k,latency\n"
	for _, shape := range []string{"6144,4096", "4096,4096", "28672,4096", "4096,14336",
		"128256,4096"} {
		products += fmt.Sprintf("bfloat16,1,%s,0.1\nbfloat16,64,%s,0.1\n", shape, shape)
	}
	tables := map[string]string{
		"mine__gemm.csv": products,
		"mine__generation_attention.csv": "batch_size,isl,num_heads,num_key_value_heads,head_dim," +
			"attn_dtype,kv_cache_dtype,step,latency\n" +
			"1,10,32,8,128,bfloat16,bfloat16,0,0.010\n1,1000,32,8,128,bfloat16,bfloat16,0,1\n",
	}
	for name, text := range files {
		tables[name] = text
	}
	for name, text := range tables {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "kernels", name), []byte(text),
			0o666))
	}
	scenario := filepath.Join(dir, "mine.yaml")
	text := "model: llama-3.1-8b\nhardware: {accelerator: h100-sxm, operators: " +
		"kernels}\nworkload: {arrivals: at-once, prompt: 100, output: 300, requests: 1}\n"
	testkit.OK(t, os.WriteFile(scenario, []byte(text), 0o666))
	return scenario
}

// With tables of all products and of attention, what a token more of context costs is exactly what
// was measured, in each of 32 layers.
func TestOperatorTablesSetTheStepTime(t *testing.T) {
	f, err := Load(measuredKernels(t, nil))
	r := run(t, build(t, f, err))
	f, err = Load(measuredKernels(t, nil), "workload.output=301")
	longer := run(t, build(t, f, err))
	last := float64(longer.Duration - r.Duration)
	f, err = Load(measuredKernels(t, nil), "workload.output=302")
	next := float64(run(t, build(t, f, err)).Duration - longer.Duration)
	if got, want := (next-last)*1e6, 32.0; math.Abs(got-want) > 0.01 {
		t.Errorf("a token more of context costs %g us a step, measured are %g us", got, want)
	}
	if last < 32*4*0.1e-3+0.4*32e-3 || last > 40e-3 {
		t.Errorf("a step takes %g s, of which products measured as 12.9 ms and attention as "+
			"12.8 ms", last)
	}
}

func TestStepsOutsideOfOperatorTablesAreNamed(t *testing.T) {
	f, err := Load(measuredKernels(t, map[string]string{"mine__new_kernel.csv": "a\n1\n",
		"mine__mla_bmm.csv": "a\n"}), "workload.output=2000")
	warnings := strings.Join(run(t, build(t, f, err)).Warnings, "\n")
	for _, want := range []string{
		"not in the operator tables, so by formula: prefill attention",
		"operator tables that were not read: mine__mla_bmm.csv, mine__new_kernel.csv",
		"gate_up: 100 tokens are not in the operator table",
		"decode attention: 1001 tokens of context are not",
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("warnings lack %q:\n%s", want, warnings)
		}
	}
}

func TestMistakesInOperatorTablesAreNamed(t *testing.T) {
	for want, overrides := range map[string][]string{
		`mine__moe.csv:2: column hidden_size is ""`: nil,
		"which is no folder":                        {"hardware.operators=nowhere"},
	} {
		f, err := Load(measuredKernels(t,
			map[string]string{"mine__moe.csv": "moe_dtype,latency\nfp8,1\n"}), overrides...)
		testkit.OK(t, err)
		if _, err = f.Build(policies.Default()); err == nil ||
			!strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "hardware.operators") {
			t.Errorf("%v, want hardware.operators and %q", err, want)
		}
	}
}

func TestFingerprintSeesOperatorTables(t *testing.T) {
	path := measuredKernels(t, nil)
	f, err := Load(path)
	testkit.OK(t, err)
	if !slices.Contains(f.Files(), filepath.Join(filepath.Dir(path), "kernels", "mine__gemm.csv")) {
		t.Errorf("files are %v", f.Files())
	}
}
