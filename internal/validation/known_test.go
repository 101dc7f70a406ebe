package validation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

var update = flag.Bool("update", false,
	"write what scenarios tell of their accuracy, and coverage.md")

// What scenarios tell about their own accuracy is what comes out here.
func TestScenariosTellTheirAccuracy(t *testing.T) {
	report := measuredReport(t)
	lines := []string{evidence.Header}
	for _, e := range report.Known() {
		lines = append(lines, e.Record())
	}
	got := strings.Join(lines, "\n") + "\n"
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "errors.csv"), got)
}

// upToDate fails the test where a file that it can write holds another text. With -update it writes
// the file.
func upToDate(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		testkit.OK(t, os.WriteFile(file, []byte(text), 0o666))
	}
	was := testkit.Read(t, file)
	if text != string(was) {
		t.Errorf("%s is out of date: go test ./internal/validation -run %s -update", file, t.Name())
	}
}

// The factors by which ranges of servers that were not measured are widened come out here.
func TestRangesAreWidenedAsServersLeftOutAsk(t *testing.T) {
	lines := []string{evidence.SpreadHeader}
	for _, quantity := range []string{"TPOT", "TTFT"} {
		factor, servers := accuracy.Factor(evidence.LeftOut(), quantity)
		lines = append(lines, fmt.Sprintf("%s,%d,%.3f", quantity, servers, factor))
	}
	got := strings.Join(lines, "\n") + "\n"
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "spread.csv"), got)
}

// How often computed chances come true is what comes out here, and what the page of validation says
// of them. Of what is said above 98 %, 93 of 100 come true and more, of each kind.
func TestForecastsAreVerified(t *testing.T) {
	lines, all := []string{evidence.ForecastsHeader}, measuredReport(t).Forecasts()
	for _, f := range accuracy.Verification(all) {
		lines = append(lines, fmt.Sprintf("%s,%g,%d,%d", f.Evidence, f.From, f.Cases, f.Kept))
	}
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "forecasts.csv"),
		strings.Join(lines, "\n")+"\n")
	table := []string{chancesHeader, "|---|---|---|---|---|---|"}
	for _, v := range accuracy.Chances(all) {
		if v.All() {
			table = append(table, fmt.Sprintf("| %s | all | %d | %.0f | %.0f | %.3f |", v.Of,
				v.Cases, 100*v.Said, 100*v.Kept, v.Brier))
			continue
		}
		table = append(table, fmt.Sprintf("|  | %g–%g | %d | %.0f | %.0f |  |", 100*v.From,
			100*min(1, v.To), v.Cases, 100*v.Said, 100*v.Kept))
		if v.From >= 0.98 && v.Kept < 0.93 {
			t.Errorf("%s: of %d SLOs said to be kept in more than 98 %% of cases, %.0f %% were",
				v.Of, v.Cases, 100*v.Kept)
		}
	}
	page := filepath.Join("..", "..", "docs", "validation.md")
	before, rest, found := strings.Cut(string(testkit.Read(t, page)), chancesHeader)
	if _, after, ends := strings.Cut(rest, "\n\n"); !found || !ends {
		t.Error("the page of validation has no table of chances")
	} else {
		upToDate(t, page, before+strings.Join(table, "\n")+"\n\n"+after)
	}
}

const chancesHeader = "| SLOs of servers | said, % | cases | mean, % | came true, % | Brier score |"

// What 99th percentiles are off by beside means comes out here, and their ranges hold four in five.
func TestPercentilesAreOffBesideMeans(t *testing.T) {
	report := measuredReport(t)
	lines := []string{evidence.PercentilesHeader}
	for _, latency := range []string{evidence.TTFT, evidence.TPOT, evidence.E2E} {
		beside, rows := report.BesideMeans(latency)
		lines = append(lines, fmt.Sprintf("%s,%d,%.3f,%.3f", latency, rows, beside.Bias,
			beside.Within))
	}
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "percentiles.csv"),
		strings.Join(lines, "\n")+"\n")
}

// Of servers that were left out of the fit, 75 to 85 of 100 values lie in the ranges of results of
// which their own kind had no part, for each latency; and by engine, by grade and by in how
// much the nearest server differs, as many give or take what few servers hold by chance.
func TestRangesHoldServersLeftOut(t *testing.T) {
	groups := map[string][]accuracy.Graded{}
	for _, g := range (&accuracy.Report{}).Grades() {
		engine, _, _ := strings.Cut(g.Key.Engine, "-")
		without := evidence.Without(g.Key)
		far := fmt.Sprintf("%d differences to the nearest", len(without.Differs))
		for _, of := range []string{"", engine, string(g.Grade), far} {
			groups[g.Quantity+" "+of] = append(groups[g.Quantity+" "+of], g)
		}
	}
	for name, list := range groups {
		share, servers := accuracy.HeldBy(list, evidence.Width80,
			func(*accuracy.Graded) bool { return true })
		ok := accuracy.ByChance(share, servers)
		if strings.HasSuffix(name, " ") {
			ok = accuracy.Calibrated(share)
		}
		if !ok {
			t.Errorf("%s of %d servers: ranges of 80 %% hold %.1f %%", name, servers, 100*share)
		}
	}
}

// Ranges hold the servers of each table that were left out of the fit as often as they are to, give
// or take what few servers hold by chance.
func TestRangesHoldEachTableLeftOut(t *testing.T) {
	report := measuredReport(t)
	tables := map[string][]accuracy.Graded{}
	for _, g := range report.Grades() {
		if g.LeftOut {
			tables[g.Table+" "+g.Quantity] = append(tables[g.Table+" "+g.Quantity], g)
		}
	}
	for name, list := range tables {
		share, servers := accuracy.HeldBy(list, evidence.Width80,
			func(*accuracy.Graded) bool { return true })
		if !accuracy.ByChance(share, servers) {
			t.Errorf("%s of %d servers: ranges of 80 %% hold %.1f %%", name, servers, 100*share)
		}
	}
}

// Of servers that were measured, 75 to 85 of 100 values lie in ranges of 80 % that rest on other
// shapes and releases of the same server, and on the servers around it.
func TestRangesHoldOtherLoadsOfAServer(t *testing.T) {
	if share, n := measuredReport(t).HeldByOtherShapes(); n < 30 || !accuracy.Calibrated(share) {
		t.Errorf("%d servers of several shapes: ranges of 80 %% hold %.1f %% of shapes left "+
			"out, want 75 to 85 of 30 servers and more", n, 100*share)
	}
}
