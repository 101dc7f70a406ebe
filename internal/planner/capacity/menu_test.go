package capacity

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/testkit"
)

// A list of degrees of expert parallelism that spreads no experts beside data-parallel attention is
// refused, and the error says which degree would.
func TestExpertsAreSpreadBesideData(t *testing.T) {
	const plan = `{model: deepseek-v2-lite, workload: {rate: 1/s}, slo: {ttft: 1s}, ` +
		`menu: {hardware: [h200-sxm], tensor: [1], `
	const apart = `disaggregated: [{prefill: 1, decode: {replicas: 1, `
	for menu, want := range map[string]string{
		"data: [8], expert: [1, 8]":                                   "",
		"data: [16], expert: [1, 8]":                                  "menu.expert: found 1 8",
		"data: [16], expert: [1]":                                     "",
		"data: [16]":                                                  "",
		"expert: [1, 8]":                                              "",
		"expert: [1, 8], " + apart + "data: [8]}}]":                   "",
		"expert: [1, 8], " + apart + "data: [32]}}]":                  "add 32",
		apart + "data: [32], expert: [16]}}]":                         "0.decode.expert",
		apart + "tensor: [2], data: [8, 16], expert: [1, 32]}}]":      "",
		"data: [8], expert: [1, 8], " + apart + "hardware: [h100]}}]": "",
	} {
		_, err := asked.Parse("p.yaml", []byte(plan+menu+"}}"))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", menu, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want one with %q", menu, err, want)
		}
	}
}

// A server whose cache holds no request is no option, and leaves the others.
func TestServersWithTooSmallACacheAreNoOptions(t *testing.T) {
	s, _ := prepared(t, `
model: llama-3.3-70b
workload: {rate: 1/s, prompt: 1000, output: 300}
slo: {ttft: 2s, tpot: 50ms}
menu: {hardware: [a100-40gb-sxm], tensor: [4, 8]}
`)
	for _, o := range s.options {
		tensor := o.Prefill.Asked().Parallelism.Tensor
		if small := strings.Contains(o.Unfit(), "holds 320 tokens"); small != (tensor == 4) {
			t.Errorf("tensor %d: %q", tensor, o.Unfit())
		}
	}
}

// Without a list of degrees, experts are split over the accelerators of a replica and spread over
// them, each once: on one accelerator both are the same, and without experts there is no choice.
func TestExpertsAreSpreadAndSplitByDefault(t *testing.T) {
	for model, want := range map[string][]int{"mixtral-8x7b": {0, 0, 0, 2, 0},
		"llama-3.1-8b": {0, 0, 0, 0}} {
		f, err := asked.Parse("p.yaml", []byte("{model: "+model+", workload: {rate: 1/s}, slo: "+
			"{ttft: 1s}, menu: {hardware: [h200-sxm], tensor: [1, 2], data: [1, 2]}}"))
		testkit.OK(t, err)
		list, err := candidate.Options(f)
		testkit.OK(t, err)
		var got []int
		for _, o := range list {
			s := o.Prefill.Asked()
			got = append(got, s.Parallelism.Expert)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: degrees %v, want %v", model, got, want)
		}
	}
}
