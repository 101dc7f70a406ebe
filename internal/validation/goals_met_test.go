package validation

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// sharedTables returns the measured tables, which lie beside the repository.
func sharedTables(t *testing.T) []fs.FS {
	return []fs.FS{os.DirFS(testkit.Shared(t, "measured")),
		os.DirFS(testkit.Shared(t, "measured_2026_11"))}
}

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
		data, err := Read(tables...)
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
	known := []string{"README.md:", "requests/README.md:", "kernels:", "steps/README.md:",
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
	"the drafter's memory is not", "a build of no release", "does not name the",
	"a fork of the engine",
	"the server did not start", "other programs had most", "in 16 bits than its name says",
	"fair between tenants", "nobody recorded when they were sent", "a client over the internet",
	"in a table of served rows again", "whose cache has the prompts", "without Marlin's kernels",
	"where there is arithmetic in 8 bits", "a size that is not recorded",
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
			// The sample has too few requests for p99, which comes with the mean.
			return c.Table == target.Table &&
				c.Quantity == strings.Replace(target.Quantity, "p99", "mean", 1)
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

// Missed goals stay on a page of their own, with by how much and the measurement that would tell
// why; a goal that is reached needs none.
func TestMissedGoalsAreTold(t *testing.T) {
	report := measuredReport(t)
	goals := report.Goals()
	for _, g := range goals {
		if told := g.Settles != ""; told == g.Reached {
			t.Errorf("goals.csv: %s, %s: the error is %.1f %% and the goal %g %%, settled by %q",
				g.Name, g.Quantity, g.Median, g.AtMost, g.Settles)
		}
	}
	var missed, leftOut []string
	for i := range goals {
		g, left := &goals[i], "–"
		if g.LeftOut != nil && g.LeftOutBias != nil {
			left = fmt.Sprintf("%.1f %% %+.1f %%", *g.LeftOut, *g.LeftOutBias)
		}
		of := fmt.Sprintf("| %s | %s | %d | %.1f %% |", g.Name, g.Quantity, g.N, g.Median)
		switch {
		case !g.Reached:
			missed = append(missed, fmt.Sprintf("%s %+.1f %% | %s | %g %% | %s |", of, g.Bias, left,
				g.AtMost, g.Settles))
		case g.LeftOut != nil && *g.LeftOut > g.AtMost:
			leftOut = append(leftOut, fmt.Sprintf("%s %s | %g %% |", of, left, g.AtMost))
		}
	}
	table := slices.Concat([]string{missedHeader}, missed, []string{missedLeftOut}, leftOut,
		[]string{missedWhole}, missedOfWhole(report))
	upToDate(t, "missed-goals.md", strings.Join(table, "\n")+"\n")
}

// missedOfWhole are the lines of the goals of the report as a whole that are not reached.
func missedOfWhole(report *accuracy.Report) (lines []string) {
	add := func(met bool, goal, got, aim, settles string) {
		if !met {
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", goal, got, aim, settles))
		}
	}
	const most, least = 15, 0.72 // groups that are far off, and the share of servers in ranges
	groups, far := report.GroupErrors(), 0
	for i := range groups {
		if groups[i].Median > largeError {
			far++
		}
	}
	add(far <= most, fmt.Sprintf("servers of one engine, release, GPU, model and format, by "+
		"quantity: above %d %%", largeError), fmt.Sprintf("%d of %d", far, len(groups)),
		fmt.Sprintf("at most %d", most), "What known-gaps.md names for each")
	judged := report.Judged()
	for _, metric := range evidence.Metrics() {
		left := func(s *accuracy.Sample) bool {
			return s.Class == evidence.Other && s.Quantity == metric
		}
		inside := accuracy.Inside(judged, func(s *accuracy.Sample) bool {
			return left(s) && s.Table == "served"
		})
		add(inside >= least, metric+" of new servers (table served) left out: inside 80 % ranges",
			fmt.Sprintf("%.0f %%", 100*inside), fmt.Sprintf("at least %.0f %%", 100*least),
			"The time of a step of a 0.5B model on each machine, which says its host")
		score := accuracy.Score(judged, left)
		add(score <= aimedScore[metric], metric+" of servers left out: interval score of ranges, "+
			"over that of the best single width", fmt.Sprintf("%.2f", score),
			fmt.Sprintf("at most %.2f", aimedScore[metric]),
			"Servers of further sources for the same GPU and engine")
	}
	return lines
}

const missedHeader = `# Goals that are missed

Median absolute errors of the shipped constants on all rows that they were fitted to, of the goals
in accuracy/goals.csv that are not reached. "Left out" is the median absolute error and the median
error of the same rows under constants fitted without any row of their engine, GPU and model. The
test of this page writes it: ` + "`go test ./internal/validation -run MissedGoals -update`" + `.

| rows | quantity | n | error | bias | left out | goal | what would settle it |
|---|---|---|---|---|---|---|---|`

const missedLeftOut = `
## Reached in the fit, missed left out

For these, constants describe the servers that were measured more than the machines and engines.
What would settle each is a second source for the same GPU and engine, which would say how much of
the error is one client's or one machine's.

| rows | quantity | n | error | left out | goal |
|---|---|---|---|---|---|`

const missedWhole = `
## Of all servers

| goal | reached | aimed at | what would settle it |
|---|---|---|---|`
