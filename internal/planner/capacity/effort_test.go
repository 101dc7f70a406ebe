package capacity

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
)

// More effort after the first answer never gives a dearer one; none gives the first answer, and the
// answer says what was left out.
func TestMoreEffortIsNeverDearer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := "model: llama-3.1-8b\nslo: {ttft: 1s, tpot: " +
			rapid.SampledFrom([]string{"12ms", "20ms", "40ms"}).Draw(t, "tpot") +
			"}\nworkload: {rate: " + rapid.SampledFrom([]string{"8/s", "30/s"}).Draw(t, "rate") +
			", prompt: " + rapid.SampledFrom([]string{"500", "4000"}).Draw(t, "prompt") +
			", output: 100}\nmenu: {hardware: [l40s, a100-80gb-sxm, h100-sxm], tensor: [1]}\n" +
			"effort: {requests: 100, most-requests: 200}\n"
		solve := func(set ...string) (hourly float64, undone bool) {
			f, err := asked.Parse("effort.yaml", []byte(text), set...)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Solve(t.Context(), f, Options{Short: true})
			if err != nil {
				t.Fatal(err)
			}
			a := all.Models[0]
			undone = strings.Contains(strings.Join(a.Warnings, "\n"), "(effort.refine)")
			if undone && (a.Sensitivity != nil || a.Measurements != nil) {
				t.Fatal("more was tried than is said")
			}
			if a.Chosen == nil {
				return 1e9, undone
			}
			return a.Chosen.Hourly, undone
		}
		before, _ := solve("effort.level=first")
		for k, refine := range []string{"1", "1000", "5000", "20000", "1000000000"} {
			now, undone := solve("effort.refine=" + refine)
			first, last := k == 0, k == 4
			if now > before*(1+samePrice) || first && now != before || first && !undone ||
				last && undone {
				t.Fatalf("%s requests: $%g, undone %v; with fewer $%g", refine, now, undone, before)
			}
			before = now
		}
	})
}
