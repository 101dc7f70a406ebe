package fit

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A factor that is refused inside its bounds is said to be near its bound, in the table and in the
// refusal, and not to be at it.
func TestARefusalSaysWhereAFactorIs(t *testing.T) {
	for _, near := range []bool{false, true} {
		r := &Result{problem: &problem{free: []bool{true}}, Factors: []FittedFactor{{
			Name: "prompts", Of: "a step", Value: 1.98, Deviation: 0.1, Learnt: true, Bound: true,
			Near: near}}}
		var b strings.Builder
		testkit.OK(t, r.WriteText(&b))
		table, refusal, _ := strings.Cut(b.String(), "\nrefused: ")
		for words, is := range map[string]bool{"is at its bound": !near,
			"is within its deviation of its bound": near} {
			if strings.Contains(table, "("+words+")") != is ||
				strings.Contains(refusal, "which "+words) != is {
				t.Errorf("%q is said: %v\n%s", words, !is, b.String())
			}
		}
		if strings.HasSuffix(strings.TrimSpace(refusal), "2.12, by more than its deviation") !=
			near {
			t.Errorf("near %v: %s", near, refusal)
		}
	}
}
