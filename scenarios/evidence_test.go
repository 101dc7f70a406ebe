package scenarios_test

import (
	"context"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// A run states the measured error of servers like its own, and nothing where anything differs from
// what was measured.
func TestAccuracyIsOfWhatRuns(t *testing.T) {
	for _, c := range []struct {
		override string
		told     bool
	}{
		{"seed=1", true},
		{"engine.step=9ms", false},
		{"engine=ideal", false},
		{"engine.slowdown=1.1", true},
		{"engine.weights=fp8", false},
		{"engine.kv-cache=fp8", false},
		{"model=llama-2-13b", false},
		{"parallelism=2", false},
		{"parallelism={pipeline: 2}", false},
		{"batching=static", false},
		{"memory=contiguous", false},
		{"memory=paged", true},
		{"batching.max-sequences=64", true},
		{"speculation={method: n-gram, acceptance: 0.5, baseline: skip}", false},
		{"fleet.pools=[{role: prefill, replicas: 1}, {role: decode, replicas: 1}]", false},
		{"replicas=2", true},
		{"hardware.host=2", true},
		{"hardware=desktop-50gbs", false},
		{"steps={prefill: {step: 10ms}, decode: {step: 10ms}}", false},
	} {
		file, err := scenarios.Parse("test",
			[]byte("model: llama-2-7b\nhardware: {accelerator: h100-sxm}\nworkload: {rate: 5/s, "+
				"requests: 20}\n"), c.override)
		testkit.OK(t, err)
		s, err := file.Build(policies.Default())
		if err != nil {
			t.Fatalf("%s: %v", c.override, err)
		}
		r, err := s.Run(context.Background())
		testkit.OK(t, err)
		if told := r.Evidence.Grade == evidence.Measured; told != c.told || told &&
			!strings.Contains(strings.Join(diagnosis.Of(r), " "), "Compared with") {
			t.Errorf("%s: called measured: %t, want %t; %+v", c.override, told, c.told, r.Evidence)
		}
	}
}
