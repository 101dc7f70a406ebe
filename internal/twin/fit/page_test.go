package fit_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
)

var update = flag.Bool("update", false, "write the errors of measured servers into docs/twin.md")

// measured is a server, what of it is fitted to, and what is predicted from that.
type measured struct {
	server, fitted, predicted string
	errors                    func(t *testing.T) []fit.Error
	most                      map[string]float64
}

// bounds are the largest errors of TTFT, TPOT, E2E and the rate; 0 leaves one out.
func bounds(ttft, tpot, e2e, rate float64) map[string]float64 {
	most := map[string]float64{}
	for quantity, bound := range map[string]float64{fit.TTFT: ttft, fit.TPOT: tpot, fit.E2E: e2e,
		fit.Rate: rate} {
		if bound > 0 {
			most[quantity] = bound
		}
	}
	return most
}

// servers lists what is tried. The aim is 5 % for TTFT, 3 % for TPOT, E2E and steps, and 4 % for
// the rate; a wider bound is a miss.
func servers() []measured {
	steps := func(most float64) map[string]float64 { return map[string]float64{fit.Steps: most} }
	return []measured{
		{"vLLM 0.23, Qwen3-14B, one H100", "2 and 8 requests/s", "the last 30 % of the time",
			lowLoads(false), bounds(0.05, 0.03, 0.03, 0)},
		{"the same", "2 and 8 requests/s", "the saturated server", lowLoads(true),
			bounds(0.13, 0.05, 0.05, 0.04)},
		{"vLLM 0.19, Llama-3.1-8B, one RTX PRO 6000", "the first half of the requests",
			"the second half", halfOfTheTime("llama-3.1-8b", "llama-3.1-8b", 1),
			bounds(0.05, 0.03, 0.03, 0)},
		{"vLLM 0.19, Qwen3-32B, two RTX PRO 6000", "the first half of the requests",
			"the second half", halfOfTheTime("qwen3-32b__tp2", "qwen3-32b", 2),
			bounds(0.05, 0.03, 0.03, 0)},
		{"vLLM 0.20, Qwen3-32B, B300 (likely), TP 1, 2, 4", "every second step", "the others",
			everyStep(false), steps(0.03)},
		{"the same", "the first half of the time, with full batches",
			"the second half, with small ones", everyStep(true), steps(0.06)},
		{"vLLM 0.15.1, eight servers (medians)", "the first stage",
			"the second, with more than twice the load", firstStages, bounds(0.05, 0.03, 0.03, 0)},
		{"vLLM 0.11, Llama-3.1-8B, one H100", "1, 43 and 86 requests/s",
			"128 requests/s, and the rate of the saturated server", whatIf,
			bounds(0.05, 0.07, 0.06, 0.1)},
	}
}

// typical returns the error of a quantity before and after, in the order of the largest one after:
// that one for one server, the median for many.
func typical(list []fit.Error, quantity string, many bool) (e fit.Error, known bool) {
	var found []fit.Error
	for _, e := range list {
		if e.Quantity == quantity {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return e, false
	}
	slices.SortFunc(found, func(a, b fit.Error) int {
		return cmp.Compare(math.Abs(a.After), math.Abs(b.After))
	})
	if many {
		e.After = math.Abs(found[len(found)/2].After)
		slices.SortFunc(found, func(a, b fit.Error) int {
			return cmp.Compare(math.Abs(a.Before), math.Abs(b.Before))
		})
		e.Before = math.Abs(found[len(found)/2].Before)
		return e, true
	}
	return found[len(found)-1], true
}

// What a twin has not seen, it predicts within the bounds. The page shows the errors before and
// after; these may lag behind a new fit of the constants, and -update writes them.
func TestMeasuredServers(t *testing.T) {
	testkit.Dear(t)
	testkit.Shared(t, "measured")
	table := "| server | fitted to | predicted | error before → after |\n|---|---|---|---|\n"
	for _, m := range servers() {
		t.Run(m.server+", "+m.predicted, func(t *testing.T) {
			list := m.errors(t)
			for _, e := range list {
				t.Logf("%-44s %-11s measured %.5g, before %+.1f %%, after %+.1f %%", e.Run,
					e.Quantity, e.Measured, 100*e.Before, 100*e.After)
			}
			var cells []string
			for _, quantity := range []string{fit.TTFT, fit.TPOT, fit.E2E, fit.Rate, fit.Steps} {
				e, known := typical(list, quantity, strings.Contains(m.server, "medians"))
				most, wanted := m.most[quantity]
				if !wanted {
					continue
				}
				if !known || math.Abs(e.After) > most {
					t.Errorf("%s: the error is %.1f %% (known: %v), want at most %.0f %%",
						quantity, 100*e.After, known, 100*most)
				}
				cells = append(cells, fmt.Sprintf("%s %+.1f → %+.1f %%", quantity, 100*e.Before,
					100*e.After))
			}
			table += fmt.Sprintf("| %s | %s | %s | %s |\n", m.server, m.fitted, m.predicted,
				strings.Join(cells, ", "))
		})
	}
	showsTable(t, table)
}

// showsTable checks that docs/twin.md has a table, but for the figures of errors.
func showsTable(t *testing.T, table string) {
	t.Helper()
	const page, begin, end = "../../../docs/twin.md", "<!-- measured -->\n", "<!-- end -->\n"
	old := testkit.Read(t, page)
	head, rest, opened := strings.Cut(string(old), begin)
	shown, tail, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no %s", page, strings.TrimSpace(begin))
	}
	if *update {
		testkit.OK(t, os.WriteFile(page, []byte(head+begin+table+end+tail), 0o666))
		return
	}
	figure := regexp.MustCompile(`[+-]\d+\.\d`)
	if figure.ReplaceAllString(shown, "x") != figure.ReplaceAllString(table, "x") {
		t.Errorf("%s shows another table; run: go test ./internal/twin/fit -run Measured -update",
			page)
	}
}
