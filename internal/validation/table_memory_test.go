package validation

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// The caches of an engine's servers are as large as they logged when they started: within 3 % for
// half of the starts, and within 10 % for nine of ten. No server that ran is refused.
func TestCachesAreAsServersLogged(t *testing.T) {
	data, err := Read(os.DirFS(testkit.Shared(t, "measured_2026_11")))
	testkit.OK(t, err)
	data = data.Where(func(table string, _ accuracy.Group) bool { return table == "kv_capacity" })
	report, err := data.Compare(context.Background(), accuracy.Physics{})
	testkit.OK(t, err)
	off, logged := map[string][]float64{}, 0
	for _, row := range report.Tables[0].Rows {
		engine, _, _ := strings.Cut(row.Group.Engine, "-")
		off[engine] = append(off[engine], max(row.Error(), -row.Error()))
		if row.Quantity == "KV contexts" {
			logged++
		}
	}
	for why := range report.Tables[0].Skipped {
		if strings.Contains(why, "does not fit") {
			t.Errorf("a server that ran: %s", why)
		}
	}
	if logged < 45 {
		t.Errorf("contexts that fit at once are compared of %d starts", logged)
	}
	for engine, least := range map[string]int{"vllm": 125, "sglang": 20, "trtllm": 1} {
		errors := off[engine]
		slices.Sort(errors)
		if n := len(errors); n < least || n > 1 && errors[n/2] > 0.03 || errors[n*9/10] > 0.1 {
			t.Errorf("%s, %d figures: %.3f", engine, n, errors)
		}
	}
}
