package validation

import (
	"context"
	"encoding/csv"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// deviation is a known error: rows whose median absolute error lies between from and to, in
// percent. deviations.md says why, under its name.
type deviation struct {
	name string
	// tables is "measured" for those of ../shared/measured, "cited" for the project's own.
	tables, table, engine, gpu, model, dtype, tp, quantity string
	from, to                                               float64
}

// chooses reports whether a comparison is one that deviates. What is empty chooses all.
func (d *deviation) chooses(c *accuracy.Comparison) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return c.Table == d.table && c.Quantity == d.quantity && is(d.engine, c.Engine) &&
		is(d.gpu, c.GPU) && is(d.model, c.Model) && is(d.dtype, c.DType) &&
		is(d.tp, strconv.Itoa(c.TP))
}

func readDeviations(t *testing.T) []deviation {
	t.Helper()
	f, err := os.Open("deviations.csv")
	testkit.OK(t, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	testkit.OK(t, err)
	var list []deviation
	for _, r := range records[1:] {
		from, err1 := strconv.ParseFloat(r[9], 64)
		to, err2 := strconv.ParseFloat(r[10], 64)
		if err1 != nil || err2 != nil || !(from < to) {
			t.Fatalf("deviations.csv: %s is between %q and %q", r[0], r[9], r[10])
		}
		list = append(list, deviation{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], from,
			to})
	}
	return list
}

// sharedTables returns the measured tables, which lie beside the repository.
func sharedTables(t *testing.T) fs.FS { return os.DirFS(testkit.Shared(t, "measured")) }

// measured is the report on the measured tables, which measuredReport makes once for all tests.
var measured struct {
	once   sync.Once
	report *accuracy.Report
	err    error
}

// measuredReport returns the report on the measured tables.
func measuredReport(t *testing.T) *accuracy.Report {
	t.Helper()
	if testing.Short() {
		t.Skip("simulates every measured row")
	}
	tables := sharedTables(t)
	measured.once.Do(func() {
		data, err := Read(tables)
		if err == nil {
			measured.report, err = data.Compare(context.Background(), accuracy.Physics{})
		}
		measured.err = err
	})
	testkit.OK(t, measured.err)
	return measured.report
}

func citedReport(t *testing.T) *accuracy.Report {
	t.Helper()
	data, err := Read(Cited())
	testkit.OK(t, err)
	report, err := data.Compare(t.Context(), accuracy.Physics{})
	testkit.OK(t, err)
	return report
}

// headline returns the percentages in the first words of a section of deviations.md, the same twice
// where there is one; false where the words have none.
func headline(page, name string) (from, to float64, ok bool) {
	_, section, _ := strings.Cut(page, "## "+name+"\n\n*")
	words, _, _ := strings.Cut(section, "*")
	found := regexp.MustCompile(`([0-9]+)(?:–([0-9]+))? %`).FindStringSubmatch(words)
	if found == nil {
		return 0, 0, false
	}
	from, _ = strconv.ParseFloat(found[1], 64)
	to, err := strconv.ParseFloat(found[2], 64)
	if err != nil {
		to = from
	}
	return from, to, true
}

// checkDeviations fails where a known deviation has closed, so that the page is kept up to date,
// where one has grown, and where the figure at the head of its section is a point off.
func checkDeviations(t *testing.T, tables string, report *accuracy.Report) {
	page := testkit.Read(t, "deviations.md")
	for _, d := range readDeviations(t) {
		if d.tables != tables {
			continue
		}
		rows := report.Rows(d.chooses)
		if len(rows) == 0 {
			t.Errorf("%s: no rows of %s are such", d.name, d.table)
			continue
		}
		s := accuracy.SumUp(rows)
		if from, to, ok := headline(string(page), d.name); ok &&
			(s.Median < from-1 || s.Median > to+1) {
			t.Errorf("%s: deviations.md says %g to %g %%, the median error of %d rows is %.1f %%",
				d.name, from, to, s.N, s.Median)
		}
		switch {
		case s.Median < d.from:
			t.Errorf("%s has closed: the median error of %d rows is %.1f %%, known is %g to %g "+
				"%%. Take it off deviations.csv and deviations.md, or narrow it", d.name, s.N,
				s.Median, d.from, d.to)
		case s.Median > d.to:
			t.Errorf("%s has grown: the median error of %d rows is %.1f %%, known is %g to %g %%",
				d.name, s.N, s.Median, d.from, d.to)
		}
	}
}

func TestKnownDeviationsOfMeasuredTables(t *testing.T) {
	checkDeviations(t, "measured", measuredReport(t))
}

func TestKnownDeviationsOfCitedFigures(t *testing.T) { checkDeviations(t, "cited", citedReport(t)) }

// Every known deviation is explained, and nothing is explained that is not one.
func TestDeviationsAreExplained(t *testing.T) {
	page := testkit.Read(t, "deviations.md")
	known := map[string]bool{}
	for _, d := range readDeviations(t) {
		known[d.name] = true
	}
	for _, line := range strings.Split(string(page), "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			if !known[name] {
				t.Errorf("deviations.md explains %q, which deviations.csv does not have", name)
			}
			delete(known, name)
		}
	}
	for name := range known {
		t.Errorf("deviations.md does not explain %q", name)
	}
}

// The medians stay within the targets: with the physics as it is, all of them are met.
func TestTargetsAreMet(t *testing.T) {
	report := measuredReport(t)
	for _, r := range report.Targets() {
		if !r.Met {
			t.Errorf("%s, %s: the median error of %d rows is %.1f %%, the target %g %%", r.Table,
				r.Subject(), r.N, r.Median, r.AtMost)
		}
	}
}

// Every file of the measured tables is read whole: nothing is malformed, and what is left out is
// left out for a known reason.
func TestMeasuredTablesAreReadWhole(t *testing.T) {
	report := measuredReport(t)
	known := []string{"README.md:", "kernels:", "steps/README.md:",
		"steps/runs.csv: no table", // file names have what distinguishes the runs
		"steps/kernel_timeline__", "pd_vs_replicas_llmd.csv:"}
	for _, why := range report.Ignored {
		if !slices.ContainsFunc(known, func(begin string) bool {
			return strings.HasPrefix(why, begin)
		}) {
			t.Errorf("not read: %s", why)
		}
	}
	for _, table := range report.Tables {
		if len(table.Problems) > 0 {
			t.Errorf("%s: malformed: %q", table.Name, table.Problems)
		}
		for reason, rows := range table.Skipped {
			if !slices.ContainsFunc(leftOutFor,
				func(part string) bool { return strings.Contains(reason, part) }) {
				t.Errorf("%s: %d rows left out: %s", table.Name, rows, reason)
			}
		}
	}
}

// leftOutFor are parts of the reasons for which rows of the measured tables are left out.
var leftOutFor = []string{"up to twice as slow as the same server on each of the next three days",

	"is not known", "does not fit", "parallelism", "are longer than",
	"requests were cut off at 300 s", "noise", "launched by the host",
	"another collective of the same size",
	"tp above 16 is", "experts are spread over another", "the server capped its batch",
	"multi-token prediction", "a cap on power",
	"erratic", "a fleet under a router", "prompts were cached", "waited for kernels to be compiled",
	"another submission of the same system", "whose limits on latency", "tp and dp are not",
	"in the table again", "configuration published fits", "configurations published fit",
	"long answers take 32 ms", "layout could not be decided",
	"only one of the data-parallel ranks", "a closed loop: the client had",
	"the first ones of which warm the server up", "engine and number format are not known",
	"was not recorded", "the first prompt, which warms up", "whose limits are not known",
	"a stall of a few requests", "no accelerator", "images", "lengths are not published",
}

// Targets name tables and quantities that exist.
func TestTargetsNameWhatThereIs(t *testing.T) {
	sample := compareFolder(t, "testdata/sample")
	names := map[string]bool{}
	for _, k := range kinds() {
		names[k.Name] = true
	}
	for _, target := range accuracy.Targets() {
		if !names[target.Table] {
			t.Errorf("targets.csv: there is no table %q", target.Table)
		}
		found := sample.Rows(func(c *accuracy.Comparison) bool {
			return c.Table == target.Table &&
				c.Quantity == target.Quantity
		})
		if len(found) == 0 {
			t.Errorf("targets.csv: %s has no quantity %q", target.Table, target.Quantity)
		}
	}
	if _, err := fs.Stat(Cited(), "kv_blocks.csv"); err != nil {
		t.Error(err)
	}
}

// Throughput bends where the KV cache binds: from 100 to 250 clients of NIM's page it
// does not grow, and stays near what was measured.
func TestThroughputSaturates(t *testing.T) {
	rate := map[string]accuracy.Comparison{}
	for _, c := range citedReport(t).Rows(func(c *accuracy.Comparison) bool {
		return c.Table == "closed_loop" && c.Quantity == "output rate"
	}) {
		rate[c.Case] = c
	}
	few, many := rate["concurrency 100, 5000 in, 500 out"],
		rate["concurrency 250, 5000 in, 500 out"]
	if many.Predicted > 1.05*few.Predicted || many.Predicted < 0.95*few.Predicted {
		t.Errorf("%.0f tokens/s at 250 clients, %.0f at 100: want about the same", many.Predicted,
			few.Predicted)
	}
	for _, c := range []accuracy.Comparison{few, many} {
		if e := c.Error(); e < -0.1 || e > 0.1 {
			t.Errorf("%s: %.0f tokens/s, measured %.0f", c.Case, c.Predicted, c.Measured)
		}
	}
}
