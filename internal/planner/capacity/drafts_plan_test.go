package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/testkit"
)

// Whatever drafts, and however long: no more requests keep their limit with a replica nearly to
// themselves than the bound says, and no replica sustains more than its bound.
func TestDraftsKeepTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]string{"eagle", "n-gram, match: 0.7", "n-gram",
			"draft-model, draft: llama-3.2-1b", "layer-skip, layers: 8",
			"eagle, tree: {width: 3, nodes: 8}"}).Draw(t, "method")
		law := rapid.SampledFrom([]string{"0.2", "0.7", "0.95",
			"{law: by-position, positions: [0.9, 0.5, 0.2]}",
			"{law: beta, mean: 0.6, std: 0.2}"}).Draw(t, "law")
		length := rapid.SampledFrom([]string{"fixed", "optimal", "adaptive",
			"per-request"}).Draw(t, "length")
		tokens := rapid.IntRange(1, 6).Draw(t, "tokens")
		if method == "eagle, tree: {width: 3, nodes: 8}" {
			length = "fixed"
		}
		text := fmt.Sprintf("model: llama-3.1-8b\nworkload: {rate: 1/s, prompt: 100, output: "+
			"%d}\nslo: {ttft: 200ms, tpot: %dus, percentile: 90}\nmenu: {hardware: [h100-sxm], "+
			"tensor: [1], speculation: [{method: %s, tokens: %d, acceptance: %s, length: %s}]}\n"+
			"effort: {requests: 400, most-requests: 400}",
			rapid.IntRange(2, 60).Draw(t, "output"), rapid.IntRange(2000, 9000).Draw(t, "tpot"),
			method, tokens, law, length)
		f, err := asked.Parse("drafts.yaml", []byte(text))
		testkit.OK(t, err)
		s, err := newSearch(t.Context(), f, nil, Options{})
		testkit.OK(t, err)
		o := s.options[1]
		if o.Unfit() != "" {
			t.Skip(o.Unfit())
		}
		observe := func(rate float64) judge.Trial {
			file, err := f.File(o.Scenario(&f.Plan.Menu, 1, o.Slow), rate, 400)
			testkit.OK(t, err)
			seen, err := judge.Simulate(t.Context(), file, f.Plan.Params())
			testkit.OK(t, err)
			return seen.(judge.Trial)
		}
		light := observe(o.Ceiling * judge.LightLoad / 4)
		noise := 5 * math.Sqrt((o.Alone*(1-o.Alone)+1e-3)/400)
		if light.All > o.Alone+noise {
			t.Errorf("%s\n%g of the requests keep the SLO, the bound is %g", text, light.All,
				o.Alone)
		}
		if over := observe(1.3 * o.Ceiling); over.Met && !over.Growing && !over.Short {
			t.Errorf("%s\nsustains %g/s, the bound is %g/s", text, 1.3*o.Ceiling, o.Ceiling)
		}
	})
}

// The commands that start a replica, and what is said below them, name all settings that were
// simulated, drafts included.
func TestCommandsSayWhatTheyLack(t *testing.T) {
	f, err := asked.Parse("plan.yaml", []byte(`
model: llama-3.1-8b
workload: {rate: 1/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 6ms, percentile: 90}
menu: {hardware: [h100-sxm], tensor: [1], speculation: [{method: eagle, acceptance: 0.8}]}
effort: {requests: 100, most-requests: 200}
`))
	testkit.OK(t, err)
	all, err := Solve(t.Context(), f, Options{})
	testkit.OK(t, err)
	chosen := all.Models[0].Chosen
	notes := chosen.Bundle.(*launch.Bundle).Notes
	if !slices.Equal(chosen.Lacks, notes) {
		t.Errorf("it says that %q is lacking, and the files that %q is", chosen.Lacks, notes)
	}
	for name, level := range map[string]answer.Level{"short": answer.Short,
		"details": answer.Whole} {
		var out strings.Builder
		testkit.OK(t, all.Write(&out, level))
		_, start, found := strings.Cut(out.String(), "To start a replica:")
		if !found || !strings.Contains(start, "speculati") {
			t.Errorf("%s: nothing is said of drafts in %q", name, start)
		}
	}
}
