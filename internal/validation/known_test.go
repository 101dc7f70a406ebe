package validation

import (
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/scenarios/accuracy"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
)

var update = flag.Bool("update", false, "write scenarios/accuracy/accuracy.csv")

// What scenarios tell about their own accuracy is what comes out here.
func TestScenariosTellTheirAccuracy(t *testing.T) {
	report := measuredReport(t)
	got := knownCSV(known(report))
	file := filepath.Join("..", "..", "scenarios", "accuracy", "accuracy.csv")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is out of date: go test ./internal/validation -run Accuracy -update", file)
	}
}

// latency returns what scenarios call a measured quantity of a served request, or "".
func latency(quantity string) string {
	switch quantity {
	case "TTFT mean", "first token", "prompt":
		return "TTFT"
	case "TPOT mean", "token p50", "token":
		return "TPOT"
	}
	return ""
}

// known returns the errors of served latencies by server.
func known(r *Report) []accuracy.Error {
	errors := map[accuracy.Error][]float64{}
	for _, c := range r.rows(func(c *Comparison) bool {
		return c.Key != servers.Key{} && c.Table != "silicon_apart" && latency(c.Quantity) != ""
	}) {
		e := accuracy.Error{Key: c.Key, Quantity: latency(c.Quantity)}
		errors[e] = append(errors[e], math.Abs(c.Error()))
	}
	list := slices.Collect(maps.Keys(errors))
	for i := range list {
		values := errors[list[i]]
		slices.Sort(values)
		list[i].Rows, list[i].Median = len(values), quantile(values, 0.5)
	}
	slices.SortFunc(list, func(a, b accuracy.Error) int { return strings.Compare(a.Record(), b.Record()) })
	return list
}

// knownCSV writes errors as the table of package accuracy.
func knownCSV(list []accuracy.Error) string {
	lines := []string{accuracy.Header}
	for i := range list {
		lines = append(lines, list[i].Record())
	}
	return strings.Join(lines, "\n") + "\n"
}
