package fit_test

import (
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
)

// read reads a file of ../shared/measured.
func read(t *testing.T, name ...string) *observed.Observed {
	t.Helper()
	path := testkit.Shared(t, append([]string{"measured"}, name...)...)
	o, err := formats.Read(files.Disk{}, path, formats.Options{})
	testkit.OK(t, err)
	return o
}

// server returns the server of a scenario.
func server(text string) fit.Server {
	return fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("test.yaml", []byte(text), sets...)
	}}
}

const qwen14 = `
model: qwen3-14b
hardware: {accelerator: h100-sxm}
parallelism: {tensor: 1}
engine: {preset: vllm, version: 0.23.0}
batching: {policy: vllm-v1, max-sequences: 256, token-budget: 8192}
workload: {rate: 8/s, prompt: 986, output: 128, requests: 300}
`
