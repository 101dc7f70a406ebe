package capacity

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
)

// More effort after the first answer never gives a dearer one, and the answer says what was left
// out.
func TestMoreEffortIsNeverDearer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := "model: llama-3.1-8b\nslo: {ttft: 1s, tpot: " +
			rapid.SampledFrom([]string{"12ms", "20ms", "40ms"}).Draw(t, "tpot") +
			"}\nworkload: {rate: " + rapid.SampledFrom([]string{"8/s", "30/s"}).Draw(t, "rate") +
			", prompt: " + rapid.SampledFrom([]string{"500", "4000"}).Draw(t, "prompt") +
			", output: 100}\nmenu: {hardware: [l40s, a100-80gb-sxm, h100-sxm], tensor: [1]}\n" +
			"effort: {requests: 100, most-requests: 200}\n"
		short := rapid.Bool().Draw(t, "short")
		solve := func(set ...string) (hourly float64, undone bool, page string) {
			f, err := asked.Parse("effort.yaml", []byte(text), set...)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Solve(t.Context(), f, Options{Short: short})
			if err != nil {
				t.Fatal(err)
			}
			a := all.Models[0]
			undone = strings.Contains(strings.Join(a.Warnings, "\n"), "(effort.refine)")
			if undone && (a.Sensitivity != nil || a.Measurements != nil) {
				t.Fatal("more was tried than is said")
			}
			var out strings.Builder
			if err := all.Write(&out, answer.Whole); err != nil {
				t.Fatal(err)
			}
			if hourly = math.Inf(1); a.Chosen != nil {
				hourly = a.Chosen.Hourly
			}
			return hourly, undone, out.String()
		}
		before, _, _ := solve("effort.level=first")
		_, _, all := solve()
		for k, refine := range []string{"1", "1000", "5000", "20000", "1000000000"} {
			now, undone, page := solve("effort.refine=" + refine)
			if now > before*(1+samePrice) || k == 4 && undone ||
				!undone && page != all {
				t.Fatalf("%s requests: $%g, undone %v; with fewer $%g", refine, now, undone, before)
			}
			before = now
		}
	})
}
