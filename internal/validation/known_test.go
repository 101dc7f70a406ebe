package validation

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

var update = flag.Bool("update", false,
	"write what scenarios tell of their accuracy, and docs/coverage.md")

// What scenarios tell about their own accuracy is what comes out here.
func TestScenariosTellTheirAccuracy(t *testing.T) {
	report := measuredReport(t)
	got := knownCSV(known(report))
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "errors.csv"), got)
}

// upToDate fails the test where a file that it can write holds another text. With -update it writes
// the file.
func upToDate(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(was) {
		t.Errorf("%s is out of date: go test ./internal/validation -run %s -update", file, t.Name())
	}
}

// The rules by which results say how sure they are come out here: a range of 80 % holds 80 % of
// what was measured, each server counting the same. A grade of which nothing was measured is no
// surer than the one above it.
func TestSpreadsOfGrades(t *testing.T) {
	report := measuredReport(t)
	lines := []string{evidence.SpreadHeader}
	table := report.Rules()
	for i, g := range evidence.Grades() {
		for _, quantity := range []string{"TPOT", "TTFT"} {
			r := table[g][quantity]
			if i > 1 {
				above := table[evidence.Grades()[i-1]][quantity]
				r.Floor = max(r.Floor, above.Floor*above.Times)
				table[g][quantity] = r
			}
			if g == evidence.Formula {
				r.Floor = max(r.Floor, evidence.FormulaFloor)
			}
			lines = append(lines, fmt.Sprintf("%s,%s,%d,%.3f,%.2f", g, quantity, r.Rows, r.Floor,
				r.Times))
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "spread.csv"), got)
}

// Of what was measured, 75 to 85 of 100 values lie in ranges of 80 %: of servers with evidence of
// their own, and of servers whose own rows are left out of it. Where this fails, the ranges are
// calibrated anew: go test ./internal/validation -run 'Accuracy|Spreads|Coverage' -update
func TestRangesHoldFourInFive(t *testing.T) {
	held := measuredReport(t).Held()
	for name, share := range map[string]float64{"measured": held.Measured,
		"left out": held.LeftOut} {
		if share < 0.75 || share > 0.85 {
			t.Errorf("%s: ranges of 80 %% hold %.1f %%, want 75 to 85", name, 100*share)
		}
	}
}

// known returns the errors of served latencies by server.
func known(r *Report) []evidence.Error {
	errors := map[evidence.Error][]float64{}
	for _, c := range r.rows(func(c *Comparison) bool {
		return c.Key != servers.Key{} && c.Table != "silicon_apart" && latency(c.Quantity) != ""
	}) {
		e := evidence.Error{Key: c.Key, Quantity: latency(c.Quantity)}
		errors[e] = append(errors[e], math.Abs(c.Error()))
	}
	list := slices.Collect(maps.Keys(errors))
	for i := range list {
		values := errors[list[i]]
		slices.Sort(values)
		list[i].Rows, list[i].Median = len(values), quantile(values, 0.5)
	}
	slices.SortFunc(list, func(a, b evidence.Error) int {
		return strings.Compare(a.Record(), b.Record())
	})
	return list
}

// knownCSV writes errors as the table of package evidence.
func knownCSV(list []evidence.Error) string {
	lines := []string{evidence.Header}
	for i := range list {
		lines = append(lines, list[i].Record())
	}
	return strings.Join(lines, "\n") + "\n"
}
