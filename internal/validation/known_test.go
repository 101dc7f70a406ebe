package validation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

var update = flag.Bool("update", false,
	"write what scenarios tell of their accuracy, and docs/coverage.md")

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
		must.OK(t, os.WriteFile(file, []byte(text), 0o666))
	}
	was := must.Read(t, file)
	if text != string(was) {
		t.Errorf("%s is out of date: go test ./internal/validation -run %s -update", file, t.Name())
	}
}

// The factors by which ranges of servers that were not measured are widened come out here.
func TestRangesAreWidenedAsServersLeftOutAsk(t *testing.T) {
	lines := []string{evidence.SpreadHeader}
	for _, quantity := range []string{"TPOT", "TTFT"} {
		factor, servers := Factor(evidence.LeftOut(), quantity)
		lines = append(lines, fmt.Sprintf("%s,%d,%.3f", quantity, servers, factor))
	}
	got := strings.Join(lines, "\n") + "\n"
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "spread.csv"), got)
}

// Of servers that were left out of the fit, 75 to 85 of 100 values lie in the ranges of results of
// which their own kind had no part, for each latency; and by engine, by grade and by in how
// much the nearest server differs, as many give or take what few servers hold by chance.
func TestRangesHoldServersLeftOut(t *testing.T) {
	groups := map[string][]graded{}
	for _, g := range (&Report{}).grades() {
		engine, _, _ := strings.Cut(g.key.Engine, "-")
		without := evidence.Without(g.key)
		far := fmt.Sprintf("%d differences to the nearest", len(without.Differs))
		for _, of := range []string{"", engine, string(g.grade), far} {
			groups[g.quantity+" "+of] = append(groups[g.quantity+" "+of], g)
		}
	}
	for name, list := range groups {
		share, servers := heldBy(list, evidence.Width80, func(*graded) bool { return true })
		ok := byChance(share, servers)
		if strings.HasSuffix(name, " ") {
			ok = calibrated(share)
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
	tables := map[string][]graded{}
	for _, g := range report.grades() {
		if g.leftOut {
			tables[g.table+" "+g.quantity] = append(tables[g.table+" "+g.quantity], g)
		}
	}
	for name, list := range tables {
		share, servers := heldBy(list, evidence.Width80, func(*graded) bool { return true })
		if !byChance(share, servers) {
			t.Errorf("%s of %d servers: ranges of 80 %% hold %.1f %%", name, servers, 100*share)
		}
	}
}

// Of servers that were measured, 75 to 85 of 100 values lie in ranges of 80 % that rest on other
// shapes and releases of the same server, and on the servers around it.
func TestRangesHoldOtherLoadsOfAServer(t *testing.T) {
	if share, n := measuredReport(t).heldByOtherShapes(); n < 30 || !calibrated(share) {
		t.Errorf("%d servers of several shapes: ranges of 80 %% hold %.1f %% of shapes left "+
			"out, want 75 to 85 of 30 servers and more", n, 100*share)
	}
}
