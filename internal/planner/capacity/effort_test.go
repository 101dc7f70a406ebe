package capacity

import (
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
)

// More effort after the first answer never gives a dearer one, and the answer says what was left
// out. With effort for everything it is the answer without a limit.
func TestMoreEffortIsNeverDearer(t *testing.T) {
	type load struct{ tpot, workload string }
	var loads []load
	for _, tpot := range []string{"12ms", "20ms", "40ms"} {
		for _, rate := range []string{"rate: 8/s", "rate: 30/s"} {
			for _, prompt := range []string{"prompt: 500", "prompt: 4000"} {
				loads = append(loads, load{tpot, rate + ", " + prompt})
			}
		}
	}
	for _, l := range testkit.DrawCases(t, testkit.Cases(len(loads)), loads) {
		for _, short := range []bool{false, true} {
			effortIsNeverDearer(t, "model: llama-3.1-8b\nslo: {ttft: 1s, tpot: "+l.tpot+
				"}\nworkload: {"+l.workload+", output: 100}\n"+
				"menu: {hardware: [l40s, a100-80gb-sxm, h100-sxm], tensor: [1]}\n"+
				"effort: {requests: 100, most-requests: 200}\n", short)
		}
	}
}

// effortIsNeverDearer answers a plan with more and more effort.
func effortIsNeverDearer(t *testing.T, text string, short bool) {
	solve := func(set ...string) (hourly float64, undone bool, page string) {
		f, err := asked.Parse("effort.yaml", []byte(text), set...)
		testkit.OK(t, err)
		all, err := Solve(t.Context(), f, Options{Short: short})
		testkit.OK(t, err)
		a := all.Models[0]
		undone = strings.Contains(strings.Join(a.Warnings, "\n"), "(effort.refine)")
		if undone && (a.Sensitivity != nil || a.Measurements != nil) {
			t.Fatal("more was tried than is said")
		}
		var out strings.Builder
		testkit.OK(t, all.Write(&out, answer.Whole))
		if hourly = math.Inf(1); a.Chosen != nil {
			hourly = a.Chosen.Hourly
		}
		return hourly, undone, out.String()
	}
	before, _, _ := solve("effort.level=first")
	_, _, all := solve()
	const everything = "1000000000"
	for _, refine := range []string{"1", "1000", "5000", everything} {
		now, undone, page := solve("effort.refine=" + refine)
		if now > before*(1+samePrice) || refine == everything && undone || !undone && page != all {
			t.Fatalf("%s\n%s requests: $%g, undone %v; with fewer $%g", text, refine, now, undone,
				before)
		}
		before = now
	}
}
