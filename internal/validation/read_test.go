package validation

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
)

// compareFolder reads the tables of a folder and predicts them.
func compareFolder(t *testing.T, folder string) *accuracy.Report {
	t.Helper()
	data, err := Read(os.DirFS(folder))
	testkit.OK(t, err)
	report, err := data.Compare(context.Background(), accuracy.Physics{})
	testkit.OK(t, err)
	return report
}

// The sample has a table of every kind, with the spellings of names that tables have.
func TestEveryKindIsRead(t *testing.T) {
	report := compareFolder(t, "testdata/sample")
	if len(report.Ignored) > 0 {
		t.Errorf("not read: %q", report.Ignored)
	}
	read := map[string]*accuracy.Table{}
	for i := range report.Tables {
		read[report.Tables[i].Name] = &report.Tables[i]
	}
	for _, k := range kinds() {
		table := read[k.Name]
		if table == nil {
			t.Errorf("%s: the sample has no such table, or it was not read", k.Name)
			continue
		}
		if len(table.Rows) == 0 || len(table.Problems) > 0 {
			t.Errorf("%s: %d comparisons, malformed: %q", k.Name, len(table.Rows), table.Problems)
		}
		for i := range table.Rows {
			if c := &table.Rows[i]; !(c.Predicted > 0 && c.Measured > 0) || c.File == "" ||
				c.Line < 2 || c.GPU == "" || c.TP < 1 || c.Case == "" {
				t.Errorf("%s: an incomplete comparison: %+v", k.Name, *c)
			}
		}
	}
	left := map[string]int{"overloaded: requests were cut off at 300 s": 1,
		"TTFT of TensorRT-LLM, which falls where load grows: noise":                    1,
		"launched by the host, not from a graph":                                       1,
		"weights in 8 bits beside products in 16, where there is arithmetic in 8 bits": 1,
		"another submission of the same system did better":                             1,
		"scenario Server, whose limits on latency set the result":                      1}
	for _, table := range report.Tables {
		for reason, rows := range table.Skipped {
			if left[reason] != rows {
				t.Errorf("%s: %d rows left out: %s", table.Name, rows, reason)
			}
			delete(left, reason)
		}
	}
	if len(left) > 0 {
		t.Errorf("not left out: %v", left)
	}
}

// What is wrong is named with file and line; rows about things that the catalogues do not know are
// counted by reason.
func TestBrokenTablesAreNamed(t *testing.T) {
	report := compareFolder(t, "testdata/broken")
	var problems []string
	skipped := map[string]int{}
	rows := 0
	for _, table := range report.Tables {
		problems = append(problems, table.Problems...)
		rows += len(table.Rows)
		for reason, n := range table.Skipped {
			reason, _, _ = strings.Cut(reason, " does not fit")
			skipped[reason] += n
		}
	}
	want := []string{
		`kv_blocks.csv:2: tensor_parallel: found "one", want a number of 0 or more`,
		`kv_blocks.csv:3: found 6 fields, want 7 as in the header`,
		`kv_blocks.csv:4: memory.utilization: found 1.90; must be at most 1`,
		`static_batch_a100_fp16.csv:2: batch: found 0, want a whole number from 1`,
		`static_batch_a100_fp16.csv:3: extraneous or missing " in quoted-field`,
		`vllm_0.19_requests__rtx-pro-6000__llama-3.1-8b.csv:2: times go backwards: arrival 1 s, first token 0.5 s, last token 2 s`,
	}
	slices.Sort(problems)
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("malformed rows (-want +got):\n%s", diff)
	}
	wantSkipped := map[string]int{
		`model "No-Such-Model-9b" is not known`: 1, `GPU "Z9000" is not known`: 2,
		`number format "fp7" is not known`: 1,
		"llama-3.1-70b on 1 × h100-sxm:":   1,
	}
	if diff := cmp.Diff(wantSkipped, skipped); diff != "" {
		t.Errorf("rows left out (-want +got):\n%s", diff)
	}
	wantIgnored := []string{
		"closed_loop_concurrency.csv: looks like closed_loop, but lacks dtype, tensor_parallel, " +
			"isl, osl, concurrency; it has backend, model, gpu",
		"iteration_empty.csv: is empty",
		"notes.txt: not a table (.csv)",
		"weather.csv: no table of that name is known",
	}
	if diff := cmp.Diff(wantIgnored, report.Ignored); diff != "" {
		t.Errorf("files not read (-want +got):\n%s", diff)
	}
	if rows != 1 {
		t.Errorf("%d comparisons, want that of the one good row", rows)
	}
}

// Of two steps whose outputs were handled together neither has a
// time of its own.
func TestStepsHandledTogetherAreLeftOut(t *testing.T) {
	prompt := &sim.Step{Prefill: []sim.Chunk{{New: 100, Last: true}}}
	decode := &sim.Step{Decodes: 1, DecodeTokens: 1}
	list := []timedStep{{2, prompt, 60}, {3, prompt, 80}, {4, prompt, 1.5}, {5, decode, 3},
		{7, decode, 4}, {9, prompt, 2}}
	var lines []int
	for _, x := range apart(list) {
		lines = append(lines, x.line)
	}
	if want := []int{2, 5, 7}; !slices.Equal(lines, want) {
		t.Errorf("steps of lines %d are left, want %d", lines, want)
	}
}

// The tables of kinds, of figures and of readers name the same kinds, and a figure that a kind has
// is in a column once.
func TestKindsFiguresAndReadersAgree(t *testing.T) {
	known := map[string]bool{}
	for _, k := range kinds() {
		known[k.Name] = true
		if readers()[k.Name] == nil {
			t.Errorf("%s: nothing reads it", k.Name)
		}
		columns := map[string]bool{}
		for _, f := range k.figures {
			if columns[f.Column] || !(f.Scale > 0) {
				t.Errorf("%s: column %s twice, or without a scale", k.Name, f.Column)
			}
			columns[f.Column] = true
		}
	}
	for name := range readers() {
		if !known[name] {
			t.Errorf("kinds.csv has no %s", name)
		}
	}
	for _, f := range figureRows() {
		for name := range strings.FieldsSeq(f.Tables) {
			if !known[name] {
				t.Errorf("figures.csv: kinds.csv has no %s", name)
			}
		}
	}
}
