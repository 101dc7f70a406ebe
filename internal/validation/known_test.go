package validation

import (
	"flag"
	"fmt"
	"math"
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

// Of servers that were left out of the fit, 75 to 85 of 100 values lie in ranges of 80 % that their
// own kind had no part in, over all, and for each engine as many give or take two standard
// deviations of what as few servers hold by chance.
func TestRangesHoldServersLeftOut(t *testing.T) {
	for _, quantity := range []string{"TPOT", "TTFT"} {
		inside, all := map[string]float64{}, map[string]float64{}
		for _, e := range evidence.LeftOut() {
			if e.Quantity != quantity {
				continue
			}
			around := evidence.Unmeasured(e.Key, quantity)
			engine, _, _ := strings.Cut(e.Engine, "-")
			for _, x := range e.Off.Points() {
				for _, of := range []string{"", engine} {
					all[of]++
					if around.Holds(x, evidence.Width80) {
						inside[of]++
					}
				}
			}
		}
		for engine, n := range all {
			chance := 2 * math.Sqrt(0.8*0.2/(n/5))
			share, least, most := inside[engine]/n, 0.8-chance, 0.8+chance
			if engine == "" {
				least, most = 0.75, 0.85
			}
			if n >= 100 && (share < least || share > most) {
				t.Errorf("%s of %d servers under %q: ranges of 80 %% hold %.1f %%, "+
					"want %.0f to %.0f", quantity, int(n/5), engine, 100*share, 100*least, 100*most)
			}
		}
	}
}

// Of servers that were measured, 75 to 85 of 100 values lie in ranges of 80 % that rest on other
// shapes and releases of the same server, and on the servers around it.
func TestRangesHoldOtherLoadsOfAServer(t *testing.T) {
	order, of := serversOf(measuredReport(t).served(false))
	inside, all := 0.0, 0.0
	for _, s := range order {
		shapes := map[string][]served{}
		for _, row := range of[s] {
			shapes[row.shape()] = append(shapes[row.shape()], row)
		}
		if len(shapes) < 2 {
			continue
		}
		held := 0.0
		for shape, rows := range shapes {
			var others []served
			for _, row := range of[s] {
				if row.shape() != shape {
					others = append(others, row)
				}
			}
			off := given(evidence.Unmeasured(s.key, s.quantity), others)
			for _, row := range rows {
				if off.Holds(row.deviation, evidence.Width80) {
					held++
				}
			}
		}
		inside += held / float64(len(of[s]))
		all++
	}
	if share := inside / all; all < 30 || !calibrated(share) {
		t.Errorf("%.0f servers of several shapes: ranges of 80 %% hold %.1f %% of shapes left "+
			"out, want 75 to 85 of 30 servers and more", all, 100*share)
	}
}
