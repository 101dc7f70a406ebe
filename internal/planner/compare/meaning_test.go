package compare

import (
	"fmt"
	"testing"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// built returns a trial of a scenario as it is after its run, but for the figures, and its text
// with all defaults filled in.
func built(t *testing.T, f *scenarios.File) (*trial, []byte) {
	t.Helper()
	s, err := f.Build(policies.Default())
	testkit.OK(t, err)
	defer s.Source.Close()
	meant, err := strict.Plain(s.Scenario)
	testkit.OK(t, err)
	written, err := treeOf(f)
	testkit.OK(t, err)
	text, err := s.Explain()
	testkit.OK(t, err)
	return &trial{tree: written, runs: []*planner.Observation{
		{Result: &scenarios.Result{Scenario: meant}}}}, text
}

// A scenario with its defaults written out differs in nothing from the scenario that leaves them
// out, and a key that is changed there is the only change.
func TestDefaultsAreNoChange(t *testing.T) {
	for _, listing := range []string{"chat", "llama2-70b", "disaggregated", "tenants"} {
		f, err := scenarios.Load(listing)
		testkit.OK(t, err)
		plain, text := built(t, f)
		for set, want := range map[string]string{
			"seed=3": "[]", "slo.tpot=7ms": "slo.tpot", "workload.requests=77": "workload.requests",
		} {
			again, err := scenarios.Parse(listing+".yaml", text, set)
			testkit.OK(t, err)
			explained, _ := built(t, again)
			for _, pair := range [][2]*trial{{plain, explained}, {explained, plain}} {
				list := changesOf(pair[0], pair[1])
				if got := fmt.Sprint(list); want == "[]" && got != want ||
					want != "[]" && (len(list) != 1 || list[0].Key != want) {
					t.Errorf("%s with %s: changes %v", listing, set, list)
				}
			}
		}
	}
}
