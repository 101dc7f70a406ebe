package validation

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

var (
	update = flag.Bool("update", false,
		"write what scenarios tell of their accuracy, and coverage.md")
	refit = flag.Bool("kernels", false, "with -update, fit the kernels of ranges again")
)

// What scenarios tell about their own accuracy is what comes out here.
func TestScenariosTellTheirAccuracy(t *testing.T) {
	stored(t, "../../scenarios/evidence/errors.csv", measuredReport(t).Known())
}

// stored fails the test where a table that it can write holds other rows. With -update it writes
// them.
func stored[T any](t *testing.T, file string, rows []T) {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, files.WriteTable(&b, rows))
	upToDate(t, filepath.FromSlash(file), b.String())
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

// How often computed chances come true is what comes out here, for scenarios and as a page. Of what
// is said above 98 %, 93 of 100 come true and more, of each kind.
func TestForecastsAreVerified(t *testing.T) {
	report := measuredReport(t)
	all := report.Forecasts(report.Judged())
	stored(t, "../../scenarios/evidence/forecasts.csv", verification(all))
	table := []string{chancesHeader}
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
	upToDate(t, "chances.md", strings.Join(table, "\n")+"\n")
}

// verification returns the lines of the table of forecasts, by which evidence knows how often
// computed chances come true.
func verification(list []accuracy.Forecast) (lines []evidence.ForecastOf) {
	for _, of := range []evidence.ForecastOf{{Evidence: evidence.Measured},
		{Evidence: evidence.Measured, Quantile: 0.99}, {Evidence: evidence.LeftOutOfFit},
		{Evidence: evidence.OutsideOfFit}} {
		for _, band := range accuracy.Bands() {
			of.From, of.Cases, of.Kept = band[0], 0, 0
			for k := range list {
				f := &list[k]
				if f.Kind() != of.Evidence || f.High != evidence.High(of.Quantile) ||
					f.Chance < band[0] || f.Chance >= band[1] {
					continue
				}
				of.Cases++
				if f.Kept {
					of.Kept++
				}
			}
			lines = append(lines, of)
		}
	}
	return lines
}

const chancesHeader = `# How often chances come true

For each measured latency of a server, six limits are set, of 0.8 to 1.5 times the predicted value,
as if an SLO asked for them. "Said" is the chance that llmsim tells, which it lowers to the share in
which such computed chances came true; "came true" says how often the server kept the limit. Latencies of requests that arrive at a rate
are simulated with faster and slower steps too, since near capacity they grow by much more than
steps. The Brier score is the mean square of what was said less what came, 1 or 0; saying the mean
share each time has the score share·(1 − share).

| SLOs of servers | said, % | cases | mean, % | came true, % | Brier score |
|---|---|---|---|---|---|`

// What 99th percentiles are off by beside means comes out here, and their ranges hold four in five.
func TestPercentilesAreOffBesideMeans(t *testing.T) {
	report := measuredReport(t)
	var list []evidence.Percentile
	for _, latency := range []string{evidence.TTFT, evidence.TPOT, evidence.E2E} {
		beside, rows := besideMeans(report, latency)
		list = append(list, evidence.Percentile{Quantity: latency, Rows: rows,
			ErrorRange: beside})
	}
	stored(t, "../../scenarios/evidence/percentiles.csv", list)
}

// besideMeans returns by how much 99th percentiles of a latency are off beside the means of the
// same rows, and the number of rows: four in five are off by Bias ± Within more than the mean.
func besideMeans(r *accuracy.Report, latency string) (beside evidence.ErrorRange, rows int) {
	type place struct {
		file string
		line int
	}
	means := map[place]float64{}
	deviation := func(c *accuracy.Comparison) float64 { return math.Log(c.Measured / c.Predicted) }
	named := func(statistic string) []accuracy.Comparison {
		return r.Rows(func(c *accuracy.Comparison) bool {
			return c.Quantity == latency+statistic && c.Measured > 0 && c.Predicted > 0
		})
	}
	for _, c := range named(" mean") {
		means[place{c.File, c.Line}] = deviation(&c)
	}
	var list []float64
	for _, c := range named(" p99") {
		if mean, known := means[place{c.File, c.Line}]; known {
			list = append(list, deviation(&c)-mean)
		}
	}
	if len(list) == 0 {
		return beside, 0
	}
	slices.Sort(list)
	low, high := accuracy.Quantile(list, 0.1), accuracy.Quantile(list, 0.9)
	return evidence.ErrorRange{Bias: (low + high) / 2, Within: (high - low) / 2}, len(list)
}

// What ranges are made of comes out here, by the rows left out of the fit. With -update -kernels
// the kernels of the process are fitted again, too.
func TestRangesAreWhatRowsLeftOutAsk(t *testing.T) {
	report := measuredReport(t)
	kernels := evidence.Calibrated().Kernels
	if *update && *refit {
		kernels = report.FitKernels(kernels)
	}
	text, err := files.EncodeYAML(accuracy.Calibrate(report.Samples(kernels), kernels))
	testkit.OK(t, err)
	upToDate(t, filepath.Join("..", "..", "scenarios", "evidence", "ranges.yaml"), string(text))
}

// Ranges whose constants come from other groups hold 75 to 85 of 100 values of rows that were left
// out of the fit, each server counting the same, and by engine as many give or take what few
// servers hold by chance. Their interval score is that of the best single width or better where the
// other half of a server's rows is known, and about as good elsewhere, since nothing that is known
// of a server that was never measured says how far off it is.
func TestRangesHoldRowsLeftOut(t *testing.T) {
	list := measuredReport(t).Judged()
	most := map[evidence.Class]map[string]float64{
		evidence.Same: {evidence.TPOT: 0.85, evidence.TTFT: 0.85, evidence.Rate: 0.85},
		evidence.Other: {evidence.TPOT: mostSingle[evidence.TPOT],
			evidence.TTFT: mostSingle[evidence.TTFT], evidence.Rate: mostSingle[evidence.Rate]},
		evidence.Outside: {evidence.TPOT: 0.99, evidence.TTFT: 1.02, evidence.Rate: 0.98},
	}
	for class, scores := range most {
		for metric, score := range scores {
			chooses := func(s *accuracy.Sample) bool {
				return s.Class == class && s.Quantity == metric
			}
			if share := accuracy.Inside(list, chooses); !accuracy.Calibrated(share) {
				t.Errorf("%s of class %q: ranges of 80 %% hold %.1f %%", metric, class, 100*share)
			}
			if got := accuracy.Score(list, chooses); got > score {
				t.Errorf("%s of class %q: the score is %.3f times that of the best single width, "+
					"want %.3g at most", metric, class, got, score)
			}
		}
	}
}

// Ranges of small models, whose steps wait for a host that nobody measured, hold as many servers
// that were not measured as those of others do. README.md says how many.
func TestRangesHoldUnknownHosts(t *testing.T) {
	known, err := models.Load()
	testkit.OK(t, err)
	list := measuredReport(t).Judged()
	inside := func(metric string, small bool) float64 {
		share := accuracy.Inside(list, func(s *accuracy.Sample) bool {
			if s.Class != evidence.Other || s.Quantity != metric {
				return false
			}
			m, err := known.Lookup(s.Key.Model)
			return err == nil &&
				(float64(m.ActiveParameters().Total()) < 2e9*float64(s.Key.Tensor)) == small
		})
		least := 0.75
		if small {
			least = 0.745 // which rounds to what README.md says
		}
		if share < least {
			t.Errorf("%s, small models %t: ranges hold %.3f", metric, small, share)
		}
		return share
	}
	said := fmt.Sprintf("%.0f of 100 of their servers in TPOT, %.0f in TTFT and %.0f in rates",
		100*inside(evidence.TPOT, true), 100*inside(evidence.TTFT, true),
		100*inside(evidence.Rate, true))
	if !strings.Contains(string(testkit.Read(t, "README.md")), said) {
		t.Errorf("README.md does not say that ranges hold %s", said)
	}
	for _, metric := range evidence.Metrics() {
		inside(metric, false)
	}
}

// docs/validation.md can be read in one go, and says of which engine something is tuned by hand.
func TestPageOfValidation(t *testing.T) {
	page, words := string(testkit.Read(t, "../../docs/validation.md")), 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "    ") { // commands
			words += len(strings.Fields(line))
		}
	}
	if words > 1200 {
		t.Errorf("docs/validation.md has %d words, allowed: 1200", words)
	}
	for _, e := range steptime.Engines() {
		if strings.Contains(e.Source, "by hand") && !strings.Contains(page, "`"+e.Name+"`") {
			t.Errorf("docs/validation.md does not say what is tuned by hand in %s", e.Name)
		}
	}
}

// mostSingle are the largest scores of ranges of servers that were not measured.
var mostSingle = map[string]float64{evidence.TPOT: 0.975, evidence.TTFT: 0.98, evidence.Rate: 0.98}

// aimedScore are the scores that ranges of such servers should come down to. missed-goals.md lists
// the scores that are not reached.
var aimedScore = map[string]float64{evidence.TPOT: 0.96, evidence.TTFT: 1, evidence.Rate: 0.95}
