package capacity

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Drafts of EAGLE under vLLM 0.11, which are measured slower than none, do not win by a TPOT that
// is known to be too short, and the shortest page says so; under 0.12, of which nothing is known to
// be off, they win.
func TestKnownToBeSlowerDoesNotWin(t *testing.T) {
	for version, off := range map[string]bool{"0.11": true, "0.12": false} {
		f, err := asked.Parse("drafts.yaml", []byte("model: llama-3.1-8b\nslo: {ttft: 2s, "+
			"tpot: 8ms}\nworkload: {rate: 1/s, prompt: 500, output: 250}\neffort: {level: first}\n"+
			"menu: {hardware: [h100-sxm], tensor: [1], speculation: [{method: eagle, tokens: 3, "+
			"acceptance: 0.75}]}\nengine: {preset: vllm-v1-sync, version: \""+version+"\"}\n"))
		testkit.OK(t, err)
		answers, err := Solve(t.Context(), f, Options{})
		testkit.OK(t, err)
		a := answers.Models[0]
		drafts := a.Chosen != nil && strings.Contains(a.Chosen.Label, "eagle")
		if drafts == off {
			t.Errorf("vLLM %s: %+v", version, a.Chosen)
		}
		var page strings.Builder
		testkit.OK(t, answers.Write(&page, answer.Brief))
		said := strings.Contains(page.String(),
			"Known to be off, of other options: drafts of EAGLE")
		if said != off || slices.ContainsFunc(a.OthersOff, func(words string) bool {
			return !strings.Contains(words, "3.2 times the predicted")
		}) {
			t.Errorf("vLLM %s: %q in\n%s", version, a.OthersOff, page.String())
		}
	}
}
