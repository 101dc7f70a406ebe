package compare

import (
	"testing"

	"github.com/llmsim/llmsim/scenarios"

	"pgregory.net/rapid"
)

// Two kept runs are judged the other way round if they are swapped; a run is the same as itself;
// ranges that overlap leave a difference unsure, and without ranges it is of one run.
func TestBetweenIsAntisymmetric(t *testing.T) {
	mirror := map[string]string{"better": "worse", "worse": "better", "unsure": "unsure",
		"one run": "one run", "the same": "the same", "as offered": "as offered"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Kept {
			k := Kept{Figures: map[string]float64{}, Ranges: map[string]scenarios.Range{},
				KeepsUp: rapid.Bool().Draw(t, name+" keeps up")}
			ranges := rapid.Bool().Draw(t, name+" ranges")
			for _, metric := range []string{"mean_ttft_ms", "output_throughput",
				"cost_per_million_output_tokens"} {
				v := rapid.Float64Range(1, 1000).Draw(t, name+" "+metric)
				k.Figures[metric] = v
				if ranges {
					k.Ranges[metric] = scenarios.Range{Low: 0.9 * v, High: 1.1 * v}
				}
			}
			return k
		}
		a, b := draw("a"), draw("b")
		there, back := Between(a, b, "$"), Between(b, a, "$")
		if len(there) != 3 {
			t.Fatalf("%d lines, want 3", len(there))
		}
		for i, line := range there {
			if mirror[line.Verdict] == "" || mirror[line.Verdict] != back[i].Verdict {
				t.Errorf("%+v, and swapped %+v", line, back[i])
			}
		}
		for _, line := range Between(a, a, "$") {
			if line.Verdict != "the same" {
				t.Errorf("a run against itself: %+v", line)
			}
		}
		for i, metric := range []string{"mean_ttft_ms", "output_throughput"} {
			ra, known := a.Ranges[metric]
			rb, too := b.Ranges[metric]
			overlap := ra.Low <= rb.High && rb.Low <= ra.High
			v := there[i].Verdict
			judged := v != "as offered" && v != "the same"
			if judged && (v == "unsure") != (known && too && overlap) {
				t.Errorf("%s: %+v with the ranges %v and %v", metric, there[i], ra, rb)
			}
		}
	})
}
