package capacity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

const cascaded = `
models:
  - {name: small, model: llama-3.1-8b, workload: {rate: 20/s, prompt: 500, output: 60}}
  - {name: large, model: llama-3.1-70b, SECOND}
menu: {hardware: [h100-sxm], tensor: [2, 4], tune: none}
effort: {requests: 100, most-requests: 200}
`

// A model that gets all requests of another is planned as if users sent them, and one that gets a
// quarter as if a quarter of the users did: its fleet, price and tokens are the same, and the first
// model's do not change.
func TestCascadesArePlanned(t *testing.T) {
	testkit.Dear(t)
	for escalated, workload := range map[string]string{
		"escalated: {from: small, share: 1}":    "workload: {rate: 20/s, prompt: 500, output: 60}",
		"escalated: {from: small, share: 0.25}": "workload: {rate: 5/s, prompt: 500, output: 60}",
	} {
		if testing.Short() && strings.Contains(escalated, "share: 1") {
			continue
		}
		got, want := planned(t, escalated), planned(t, workload)
		if got.Models[1].SentOn == "" {
			t.Errorf("%s: the answer does not say where requests come from", escalated)
		}
		got.Models[1].SentOn = ""
		if got.Hourly != want.Hourly || got.Accelerators != want.Accelerators {
			t.Errorf("%s: $%g for %d accelerators, want $%g for %d", escalated, got.Hourly,
				got.Accelerators, want.Hourly, want.Accelerators)
		}
		for k := range want.Models {
			a, b := got.Models[k].Chosen, want.Models[k].Chosen
			a.Bundle, b.Bundle = nil, nil
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%s: %s", escalated, diff)
			}
		}
	}
}

func planned(t *testing.T, second string) *answer.Answers {
	t.Helper()
	f, err := asked.Parse("cascade.yaml", []byte(strings.Replace(cascaded, "SECOND", second, 1)))
	testkit.OK(t, err)
	a, err := Solve(t.Context(), f, Options{})
	testkit.OK(t, err)
	return a
}

// A cascade that cannot be planned is refused, with the reason.
func TestCascadesThatAreNotPlanned(t *testing.T) {
	for second, want := range map[string]string{
		"escalated: {from: smal, share: 1}":                         "did you mean small",
		"escalated: {from: small, share: 0}":                        "leave this model out",
		"escalated: {from: small, share: 2}":                        "share",
		"escalated: {from: small, share: 1}, workload: {rate: 1/s}": "leave one of the two out",
		"workload: {rate: 1/s, classes: [{name: a}, " +
			"{name: b, escalated: {from: a, share: 1}}]}": "list it in models",
	} {
		_, err := asked.Parse("cascade.yaml", []byte(strings.Replace(cascaded, "SECOND", second,
			1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", second, err, want)
		}
	}
}
