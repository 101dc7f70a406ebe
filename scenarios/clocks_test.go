package scenarios_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Sharing clocks changes no result, in whatever order scenarios are built.
func TestSharedClocksChangeNothing(t *testing.T) {
	clocks := scenarios.NewClocks()
	for round := range 2 {
		for _, override := range []string{"parallelism.tensor=2", "parallelism.tensor=4",
			"engine.weights=fp8", "hardware=h100-sxm", "engine=ideal", "workload.rate=3/s",
			"workload.prompt.mean=300", "workload.prompt.max=900", "engine.max-model-len=2000",
			"workload.prompt={distribution: lognormal, mean: 500, cv: 0.4}"} {
			var results [2][]byte
			for i, shared := range []*scenarios.Clocks{nil, clocks} {
				f, err := scenarios.Load("llama2-70b", "workload.requests=50", override)
				testkit.OK(t, err)
				f.Clocks = shared
				r, err := f.Run(context.Background(), policies.Default())
				testkit.OK(t, err)
				if results[i], err = json.Marshal(r); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(results[0], results[1]) {
				t.Error(fmt.Sprint("round ", round, ": ", override,
					" gives other results with shared clocks"))
			}
		}
	}
}

// A fingerprint depends on what the result depends on, and on nothing else.
func TestFingerprints(t *testing.T) {
	print := func(text string, overrides ...string) string {
		t.Helper()
		f, err := scenarios.Parse("a.yaml", []byte(text), overrides...)
		testkit.OK(t, err)
		fingerprint, err := f.Fingerprint(scenarios.HashFile)
		testkit.OK(t, err)
		return fingerprint
	}
	const text = "model: llama-3.1-8b\nhardware: h100-sxm\nworkload: {rate: 2/s}\n"
	same := print(text)
	if print("# a comment\nname: other\nhardware: {accelerator: h100-sxm}\nworkload:\n  rate: "+
		"120/min\nmodel: llama-3.1-8b\n") != same {
		t.Error("layout, order, units or name make a difference")
	}
	seen := map[string]string{same: "none"}
	for _, o := range []string{"seed=1", "workload.rate=3/s", "hardware.price=$9/h",
		"memory.utilization=0.5", "batching.token-budget=512", "slo.ttft=1s"} {
		other := print(text, o)
		if before, taken := seen[other]; taken {
			t.Errorf("%s has the fingerprint of %s", o, before)
		}
		seen[other] = o
	}
}
