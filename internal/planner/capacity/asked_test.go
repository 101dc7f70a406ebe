package capacity

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
)

// What is wrong with a name in a plan is told of the plan's key, on the line where it stands.
func TestNamesAreToldByTheirLine(t *testing.T) {
	const good = `model: llama-3.1-8b
workload: {rate: 2/s}
menu:
  hardware: [h100-sxm]
  tensor: [1]
`
	for text, want := range map[string]string{
		strings.Replace(good, "8b", "9b", 1): `1: model: unknown model "llama-3.1-9b"`,
		strings.Replace(good, "h100-sxm", "h100-smx",
			1): `4: menu.hardware: unknown accelerator "h100-smx"; did you mean h100-sxm`,
		good + "  engines: [vlm]\n": `6: menu.engines: unknown engine "vlm"`,
		good + "  batching: [{policy: sarathy}]\n": "6: menu.batching.policy: unknown " +
			`batching policy "sarathy"; did you mean sarathi?`,
		good + "  batching: [{token-budget: 0}]\n": "6: menu.batching: token-budget is 0",
		good + "  memory: [{policy: pagd}]\n":      "6: menu.memory.policy: unknown memory",
		good + "  routing: [rr, random]\n":         "6: menu.routing.policy: unknown routing",
		good + "  routing: [{policy: prefix-aware, shre: 0.2}]\n": "6: " +
			`menu.routing.shre: unknown parameter "shre"; did you mean share?`,
		good + "  disaggregated: [{prefill: {replicas: 1, hardware: [l40x]}, decode: 1}]\n": "4: " +
			`menu: unknown accelerator "l40x"; did you mean l40s or l40?`,
	} {
		f, err := asked.Parse("plan.yaml", []byte(text))
		if err == nil {
			_, err = Solve(t.Context(), f, Options{})
		}
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), "plan.yaml:"+want) {
			t.Errorf("%s: error %v, want it on line %s", text, err, want)
		}
	}
}
