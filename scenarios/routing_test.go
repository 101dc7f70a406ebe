package scenarios

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// Of a family whose routers choose experts less evenly, a batch visits fewer of them, so that a
// step is shorter; other families and dense models do not change. Random tokens count where the
// workload has them alone.
func TestRoutingIsOfTheFamily(t *testing.T) {
	step := func(model, tokens string, change func(list []models.Routing)) sim.Time {
		t.Helper()
		f, err := Parse("t.yaml", []byte("model: "+model+"\nhardware: h100-sxm\nparallelism: 2\n"+
			"workload: {tokens: "+tokens+"}\n"))
		testkit.OK(t, err)
		list := models.Routings()
		change(list)
		f.Physics = &Physics{Routing: list}
		s, err := f.Server(policies.Default())
		testkit.OK(t, err)
		return s.Clock.Duration(&sim.Step{Decodes: 16, DecodeTokens: 16, Context: 16000})
	}
	asShipped := func([]models.Routing) {}
	qwen := func(list []models.Routing) {
		for i := range list {
			if list[i].Name == "qwen3" {
				list[i].Spread *= 1.5
			}
		}
	}
	random := func(list []models.Routing) { list[0].Random *= 1.5 }
	for model, changes := range map[string]bool{"qwen3-30b-a3b": true, "gpt-oss-20b": false,
		"qwen3-8b": false} {
		before, after := step(model, "text", asShipped), step(model, "text", qwen)
		if changes && after >= before || !changes && after != before {
			t.Errorf("a step of %s takes %v, with uneven routers of Qwen3 %v", model, before, after)
		}
		if step(model, "text", random) != before {
			t.Errorf("a step of %s with text changes with what random tokens do", model)
		}
	}
	// Random tokens are as a router whose spread is theirs.
	shipped := models.Routings()[0].Random
	same := step("qwen3-30b-a3b", "text", func(list []models.Routing) {
		for i := range list {
			list[i].Spread *= 1.5 * shipped
		}
	})
	if got := step("qwen3-30b-a3b", "random", random); got != same {
		t.Errorf("a step takes %v with random tokens of spread 1.5, %v with a router of 1.5", got,
			same)
	}
}
