package validation

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/scenarios/accuracy"
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

// known returns the errors of served latencies: by engine, accelerator and model, and over all models of an engine on an accelerator.
func known(r *Report) []accuracy.Error {
	errors := map[accuracy.Error][]float64{}
	for _, c := range r.rows(func(c *Comparison) bool {
		return c.Engine != "" && c.Table != "silicon_apart" && latency(c.Quantity) != ""
	}) {
		e := accuracy.Error{Engine: c.Engine, GPU: c.GPU, Quantity: latency(c.Quantity)}
		errors[e] = append(errors[e], math.Abs(c.Error()))
		e.Model = c.Model
		errors[e] = append(errors[e], math.Abs(c.Error()))
	}
	list := slices.SortedFunc(maps.Keys(errors), func(a, b accuracy.Error) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Quantity, b.Quantity))
	})
	for i := range list {
		values := errors[list[i]]
		slices.Sort(values)
		list[i].Rows, list[i].Median = len(values), quantile(values, 0.5)
	}
	return list
}

// knownCSV writes errors as the table of package accuracy.
func knownCSV(list []accuracy.Error) string {
	var b strings.Builder
	fmt.Fprintln(&b, accuracy.Header)
	for _, e := range list {
		fmt.Fprintf(&b, "%s,%s,%s,%s,%d,%.3f\n", e.Engine, e.GPU, e.Model, e.Quantity, e.Rows, e.Median)
	}
	return b.String()
}
