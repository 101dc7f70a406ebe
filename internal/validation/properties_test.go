package validation

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

func TestQuantileIsInterpolatedBetweenRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 50).Draw(t, "values")
		slices.Sort(values)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		v := accuracy.Quantile(values, q)
		// NumPy's definition: the value at position q·(n−1), straight between its neighbours.
		position := q * float64(len(values)-1)
		low, high := values[int(math.Floor(position))], values[int(math.Ceil(position))]
		if v < low || v > high {
			t.Fatalf("the %g-quantile of %v is %g, want it in [%g, %g]", q, values, v, low, high)
		}
	})
	if v := accuracy.Quantile([]float64{1, 2, 4}, 0.75); v != 3 {
		t.Errorf("the upper quartile of 1, 2, 4 is %g, want 3", v)
	}
}

// If every prediction is off by the same factor, every statistic is that error, in any order of
// rows.
func TestStatisticsOfAConstantError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(0.01, 10).Draw(t, "factor")
		measured := rapid.SliceOfN(rapid.Float64Range(1e-3, 1e6), 1, 30).Draw(t, "measured")
		rows := make([]accuracy.Comparison, len(measured))
		for i, m := range measured {
			rows[i] = accuracy.Comparison{Quantity: "TTFT", Unit: "ms", Measured: m,
				Predicted: m * factor}
		}
		s := accuracy.SumUp(rows)
		want := 100 * (factor - 1)
		for name, got := range map[string]float64{"median": s.Median, "mean": s.Mean,
			"|bias|": math.Abs(s.Bias), "|worst|": math.Abs(s.Worst.Error)} {
			if math.Abs(got-math.Abs(want)) > 1e-6 {
				t.Fatalf("%s is %g %%, want %g %%", name, got, math.Abs(want))
			}
		}
		if math.Signbit(s.Bias) != math.Signbit(want) && math.Abs(want) > 1e-6 {
			t.Fatalf("bias is %g %%, want %g %%", s.Bias, want)
		}
	})
}

// A run sends what its stages say: the number of requests of each, in order
// of time, cycling through the prompts.
func TestRunsSendTheirStages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &vllmRun{}
		for i := range rapid.IntRange(1, 3).Draw(t, "stages") {
			s := vllmStage{number: i, rate: rapid.Float64Range(0.5, 50).Draw(t, "rate"),
				length: rapid.Float64Range(5, 60).Draw(t, "length"), output: 5}
			s.prompt = rapid.IntRange(1, 2000).Draw(t, "prompt")
			s.system = rapid.IntRange(0, s.prompt).Draw(t, "system")
			run.stages = append(run.stages, s)
		}
		load, parts := run.load(), run.trial().parts
		sent := 0
		for i, s := range run.stages {
			n := 0
			for _, r := range load {
				if parts[i].counts(r.Arrival) {
					n++
					tokens := 0
					for _, c := range r.Content {
						tokens += c.Tokens
					}
					if tokens != s.prompt || r.Prompt != s.prompt {
						t.Fatalf("a prompt of %d tokens has content of %d, want %d", r.Prompt,
							tokens, s.prompt)
					}
				}
			}
			if want := int(math.Round(s.rate * s.length)); n != want {
				t.Fatalf("stage %d has %d requests, want %d", i, n, want)
			}
			sent += n
		}
		if sent != len(load) || !slices.IsSortedFunc(load, byArrival) {
			t.Fatalf("%d requests, of which %d in stages, in order of time: %v", len(load),
				sent, slices.IsSortedFunc(load, byArrival))
		}
	})
}

// A table that begins with a later stage has a warm cache: no request pays for
// a whole prompt.
func TestLaterStagesAreWarm(t *testing.T) {
	header := "run,model,gpu,tensor_parallel,dtype,profile,stage,rate_rps,stage_s," +
		"prompt_tokens_mean,output_tokens,ttft_p99_ms\n"
	slowest := func(stage string) float64 {
		tables := fstest.MapFS{
			"vllm_runs.csv": {
				Data: []byte(header + "a,llama-2-70b,h100,4,fp16,reasoning," + stage +
					",2,60,2000,8,100\n")}}
		data, err := Read(tables)
		testkit.OK(t, err)
		report, err := data.Compare(context.Background(), accuracy.Physics{})
		testkit.OK(t, err)
		return report.Tables[0].Rows[0].Predicted
	}
	if cold, warm := slowest("0"), slowest("1"); warm > 0.75*cold {
		t.Errorf("the 99th percentile of TTFT is %.1f ms where the cache is cold and %.1f ms "+
			"where it is warm", cold, warm)
	}
}

func TestTheSameTwice(t *testing.T) {
	first, second := compareFolder(t, "testdata/sample"), compareFolder(t, "testdata/sample")
	if diff := cmp.Diff(first, second,
		cmpopts.IgnoreFields(accuracy.Comparison{}, "Rehearsal")); diff != "" {
		t.Errorf("two comparisons of the same tables differ:\n%s", diff)
	}
}

func TestRowsAreWrittenWithTheirErrors(t *testing.T) {
	report := compareFolder(t, "testdata/sample")
	var b bytes.Buffer
	testkit.OK(t, report.WriteCSV(&b))
	records, err := csv.NewReader(&b).ReadAll()
	testkit.OK(t, err)
	want := 0
	for i := range report.Tables {
		want += len(report.Tables[i].Rows)
	}
	if len(records)-1 != want {
		t.Errorf("%d rows, want %d", len(records)-1, want)
	}
}

// Whoever looks at a cited figure can look it up.
func TestCitedFiguresHaveSources(t *testing.T) {
	err := fs.WalkDir(Cited(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		f, err := Cited().Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		table, err := readTable(name, f)
		if err != nil {
			return err
		}
		for i := range table.rows {
			if source := table.rows[i].text("source"); source == "" || i == 0 &&
				source == "as above" {
				t.Errorf("%s:%d has no source", name, table.rows[i].line)
			}
		}
		return nil
	})
	testkit.OK(t, err)
	data, err := Read(Cited())
	testkit.OK(t, err)
	report, err := data.Compare(context.Background(), accuracy.Physics{})
	testkit.OK(t, err)
	for _, table := range report.Tables {
		if len(table.Problems)+len(table.Skipped) > 0 || len(table.Rows) == 0 {
			t.Errorf("%s: %d comparisons; malformed %q; left out %v", table.Name, len(table.Rows),
				table.Problems, table.Skipped)
		}
	}
	if len(report.Ignored) > 0 {
		t.Errorf("not read: %q", report.Ignored)
	}
}

// Nothing that stands in a table makes the reader panic, or a simulation without bounds.
func FuzzTables(f *testing.F) {
	err := fs.WalkDir(os.DirFS("testdata/sample"), ".",
		func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path.Join("testdata/sample", name))
			f.Add(path.Base(name), string(data))
			return err
		})
	testkit.OK(f, err)
	f.Fuzz(func(t *testing.T, name, content string) {
		if !fs.ValidPath(name) || strings.Contains(name, "/") {
			return
		}
		data, err := Read(fstest.MapFS{name: {Data: []byte(content)}})
		testkit.OK(t, err)
		report, err := data.Compare(context.Background(), accuracy.Physics{})
		testkit.OK(t, err)
		summary := report.Summary()
		testkit.OK(t, summary.WriteText(io.Discard))
	})
}

// Any column of any table may hold anything: rows are compared, left out or named, and no
// simulation goes on without bounds.
func TestExtremeValues(t *testing.T) {
	sample := os.DirFS("testdata/sample")
	err := fs.WalkDir(sample, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := fs.ReadFile(sample, name)
		if err != nil {
			return err
		}
		records, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		if err != nil {
			return err
		}
		for column := range records[0] {
			if testing.Short() && column%4 != 0 {
				continue
			}
			t.Run(path.Base(name)+"/"+records[0][column], func(t *testing.T) {
				var b bytes.Buffer
				w := csv.NewWriter(&b)
				w.Write(records[0])
				for _, extreme := range []string{"", "0", "-1", "65536", "68719476736", "1e308",
					"NaN"} {
					record := slices.Clone(records[1])
					record[column] = extreme
					w.Write(record)
				}
				w.Flush()
				data, err := Read(fstest.MapFS{name: {Data: b.Bytes()}})
				testkit.OK(t, err)
				if _, err := data.Compare(t.Context(), accuracy.Physics{}); err != nil {
					t.Fatal(err)
				}
			})
		}
		return nil
	})
	testkit.OK(t, err)
}
