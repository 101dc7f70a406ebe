package scenarios

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// What a scenario means follows from what was written alone, which stays as it is: resolving it
// again gives the same, also after a simulation was put together from it.
func TestResolvingChangesNothing(t *testing.T) {
	keepCatalogues(t)
	registry := policies.Default()
	scenarios := [][]string{
		{"workload={prefix: {groups: 2, tokens: {distribution: exponential, mean: 50}}}"},
		{"workload={sessions: {turns: {distribution: zipf, exponent: 1, max: 9}}, classes: " +
			"[{name: a}, {name: b}]}"},
		{"workload.rate={pattern: wave, average: 2/s, swing: 0.5}",
			"speculation={method: eagle, acceptance: 0.7, tree: {width: 2}}"},
		{"workload.trace=" + writeTrace(t),
			"fleet.pools=[{replicas: 1}, {name: b, replicas: 2, scaling: queue}]"},
	}
	for _, e := range slices.Concat(workloadExamples(t), policyExamples(registry)) {
		if _, err := Parse("test.yaml", []byte("{}"), e.overrides...); err == nil {
			scenarios = append(scenarios, e.overrides)
		}
	}
	resolves := 0
	for _, overrides := range scenarios {
		file, written := parsed(t, overrides), parsed(t, overrides).Scenario
		first, err := resolve(file, registry)
		if err != nil {
			continue
		}
		resolves++
		meant := first.scenario()
		first.assemble()
		again, err := resolve(file, registry)
		if err != nil {
			t.Fatalf("%v: %v", overrides, err)
		}
		for what, d := range map[string]string{
			"what was written":         cmp.Diff(written, file.Scenario),
			"what it means":            cmp.Diff(meant, again.scenario()),
			"what the first one means": cmp.Diff(meant, first.scenario()),
		} {
			if d != "" {
				t.Errorf("%v: resolving changed %s: %s", overrides, what, d)
			}
		}
	}
	if resolves < len(scenarios)/3 {
		t.Errorf("%d of %d scenarios resolve; want a third at least", resolves, len(scenarios))
	}
}

// parsed reads a small scenario with overrides.
func parsed(t *testing.T, overrides []string) *File {
	t.Helper()
	file, err := Parse("test.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"),
		overrides...)
	testkit.OK(t, err)
	return file
}
