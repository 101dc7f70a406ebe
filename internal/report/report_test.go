package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// testScenario has two classes, and requests that are too long for the model.
const testScenario = `
model: llama-2-7b
hardware: a100-80gb-sxm
workload:
  rate: 5/s
  requests: 3000
  classes:
    - {name: short, share: 9, prompt: {distribution: uniform, min: 1, max: 900}, output: 30}
    - {name: long, prompt: {distribution: uniform, min: 3000, max: 4090}, output: {distribution: uniform, min: 1, max: 100}}
`

// record runs the test scenario into dir.
func record(t *testing.T, dir string) *scenarios.Result {
	t.Helper()
	file, err := scenarios.Parse("test.yaml", []byte(testScenario))
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	recorder, err := NewRecorder(dir)
	testkit.OK(t, err)
	result, err := simulation.Run(context.Background(), recorder)
	testkit.OK(t, err)
	testkit.OK(t, recorder.Finish(result, simulation.Steps()))
	return result
}

func readCSV(t *testing.T, path string) (header []string, rows [][]string) {
	t.Helper()
	file, err := os.Open(path)
	testkit.OK(t, err)
	defer file.Close()
	rows, err = csv.NewReader(file).ReadAll()
	testkit.OK(t, err)
	return rows[0], rows[1:]
}

// The rows of requests.csv add up to the summary: requests, tokens, rejections and the mean
// latencies.
func TestRequestsAddUpToTheSummary(t *testing.T) {
	dir := t.TempDir()
	result := record(t, dir)
	header, rows := readCSV(t, filepath.Join(dir, "requests.csv"))
	column := map[string]int{}
	for i, name := range header {
		column[name] = i
	}
	sum := map[string]float64{}
	var rejected int64
	for _, row := range rows {
		if row[column["status"]] != "completed" {
			rejected++
			continue
		}
		for name, i := range column {
			if x, err := strconv.ParseFloat(row[i], 64); err == nil {
				sum[name] += x
			}
		}
	}
	completed := int64(len(rows)) - rejected
	if completed != result.Completed || rejected != result.Rejected || rejected == 0 {
		t.Errorf("%d completed and %d rejected rows, the summary says %d and %d", completed,
			rejected, result.Completed, result.Rejected)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"prompt tokens", sum["prompt_tokens"], float64(result.TotalInputTokens)},
		{"output tokens", sum["output_tokens"], float64(result.TotalOutputTokens)},
		{"TTFT", sum["ttft_ms"] / float64(completed), result.MeanTTFT},
		{"E2E", sum["e2el_ms"] / float64(completed), result.MeanE2EL},
		{"queueing", sum["queue_ms"] / float64(completed), result.MeanQueue},
	} {
		if diff := c.got/c.want - 1; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s: the rows give %v, the summary %v", c.name, c.got, c.want)
		}
	}
}

// The summary file is the JSON of the result, under the names that vLLM's serving benchmark uses.
func TestSummaryKeys(t *testing.T) {
	dir := t.TempDir()
	result := record(t, dir)
	data := testkit.Read(t, filepath.Join(dir, "summary.json"))
	var printed bytes.Buffer
	if err := JSON(&printed, diagnosis.NewDocument(result)); err != nil ||
		!bytes.Equal(printed.Bytes(), data) {
		t.Errorf("summary.json is not what is printed (%v)", err)
	}
	var keys map[string]any
	testkit.OK(t, json.Unmarshal(data, &keys))
	want := []string{"completed", "total_input_tokens", "total_output_tokens", "duration",
		"request_throughput", "output_throughput",
		"total_token_throughput", "goodput", "preemptions", "kv_usage", "mfu", "mbu", "cost",
		"energy", "warnings", "scenario", "seed", "version"}
	for _, latency := range []string{"ttft", "tpot", "itl", "e2el"} {
		for _, statistic := range []string{"mean", "median", "std", "p90", "p95", "p99"} {
			want = append(want, statistic+"_"+latency+"_ms")
		}
	}
	for _, key := range want {
		if _, ok := keys[key]; !ok {
			t.Errorf("no key %q", key)
		}
	}
}

// A recorder that is thrown away leaves nothing, and what was there before stays.
func TestDiscardLeavesNothing(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		name   string
		before []string
	}{{"new", nil}, {"used", []string{"summary.json"}}} {
		dir := filepath.Join(root, c.name)
		for _, name := range c.before {
			testkit.OK(t, os.MkdirAll(dir, 0o777))
			testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("earlier"), 0o666))
		}
		recorder, err := NewRecorder(dir)
		testkit.OK(t, err)
		testkit.OK(t, recorder.Discard())
		entries, err := os.ReadDir(dir)
		if len(c.before) == 0 && !os.IsNotExist(err) {
			t.Errorf("%s: the folder is still there, with %v", c.name, entries)
		}
		if len(entries) != len(c.before) {
			t.Errorf("%s: found %v, want %v", c.name, entries, c.before)
		}
	}
}

// The table fits 80 columns and has colour only where it was asked for.
func TestTable(t *testing.T) {
	result := record(t, t.TempDir())
	for _, colour := range []bool{false, true} {
		out := string(diagnosis.Summary(result).Terminal(colour))
		if got := strings.Contains(out, "\x1b["); got != colour {
			t.Errorf("colour: %v, want %v", got, colour)
		}
		for _, line := range strings.Split(doc.Plain(out), "\n") {
			if utf8.RuneCountInString(line) > doc.Columns {
				t.Errorf("more than %d columns: %s", doc.Columns, line)
			}
		}
		for _, words := range []string{"short", "long", "turned away", "Note: "} {
			if !strings.Contains(out, words) {
				t.Errorf("the table lacks %q:\n%s", words, out)
			}
		}
	}
}

// A writer that fails is reported.
func TestPrintReturnsTheError(t *testing.T) {
	reader, writer := io.Pipe()
	reader.Close()
	list := Shipped("scenario", []scenarios.Listing{{Name: "a", Title: "b"}})
	if doc.Print(writer, list) == nil {
		t.Error("no error from a closed pipe")
	}
}

func TestNumbersForPeople(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.004321: "0.43%", 0.0567: "5.7%",
		0.1234: "12%", 0.99: "99%", 0.99999: "99.99%", 1: "100%", 1.62: "162%"} {
		if got := units.Percent(share); got != want {
			t.Errorf("units.Percent(%v) = %s, want %s", share, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		words := units.Count(n)
		if got := strings.ReplaceAll(words, ",", ""); got != strconv.FormatInt(n, 10) {
			t.Fatalf("units.Count(%d) = %s", n, words)
		}
		for i, group := range strings.Split(strings.TrimPrefix(words, "-"), ",") {
			if len(group) != 3 && (i > 0 || len(group) > 3) {
				t.Fatalf("units.Count(%d) = %s: groups are not of three digits", n, words)
			}
		}
	})
}
