package page

import (
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// drawResult draws the figures that cards show, some of them without latencies.
func drawResult(t *rapid.T) *scenarios.Result {
	r := &scenarios.Result{Diagnosis: &scenarios.Diagnosis{}, Accelerators: 8}
	figure := rapid.SampledFrom([]float64{0, 1.5, 40, 251.234})
	share := rapid.SampledFrom([]float64{0, 0.25, 0.5})
	r.Completed, r.Lost = rapid.Int64Range(0, 2000).Draw(t, "completed"), rapid.Int64Range(0,
		2).Draw(t, "lost")
	r.Cut = rapid.Int64Range(0, 2).Draw(t, "cut")
	r.Duration, r.OfferedRate = figure.Draw(t, "duration"), figure.Draw(t, "rate")
	r.MedianTTFT, r.P99TTFT = figure.Draw(t, "ttft"), figure.Draw(t, "p99 ttft")
	r.MedianE2EL, r.P99E2EL = 100, 200
	r.RequestThroughput, r.Goodput, r.OutputThroughput = 2.4567, 1.2345, 123.456
	r.MeanDecodeBatch, r.PeakBatch = 3.4567, 9
	r.KVUsage, r.PeakKVUsage = share.Draw(t, "kv"), 0.75
	r.Cost, r.CostPerMillion, r.PricedOver = figure.Draw(t, "cost"), figure.Draw(t, "price"),
		"at it"
	r.EnergyPerMillion = figure.Draw(t, "energy")
	if rapid.Bool().Draw(t, "sold") {
		r.Sold = &scenarios.TokenRevenue{Hourly: 12.3456}
	}
	r.SLOMet, r.Attainment = rapid.Bool().Draw(t, "met"), metrics.Attainment{All: 0.875,
		Target: 0.9}
	r.SLO.TTFT.Request = scenarios.Span(rapid.SampledFrom([]sim.Time{0, sim.Second}).Draw(t,
		"limit"))
	if rapid.Bool().Draw(t, "by class") {
		r.ClassSLOs = map[string]scenarios.SLO{"a": {Percentile: 5}}
	}
	if rapid.Bool().Draw(t, "ranges") {
		r.Intervals = &scenarios.Intervals{Level: 0.75, Of: map[string]scenarios.Range{
			"goodput": {Low: 1.2342, High: 2.3456}, "request_throughput": {Low: 2.4567,
				High: 2.4567},
			"median_ttft_ms": {Low: 10, High: 20}}}
	}
	r.Phases = &metrics.Phases{MeanQueue: 10 * share.Draw(t, "queue"), MeanPrefill: 20,
		MeanFrontEnd: 5,
		MeanDecode:   100}
	r.TotalOutputTokens = 112345 * r.Completed / 10_000
	return r
}

// plainText is the text of a part of a page, with one space between words.
func plainText(page string) string {
	page = regexp.MustCompile("</?span[^>]*>").ReplaceAllString(page, "")
	page = regexp.MustCompile("<[^>]*>").ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

// saysAll checks that a page says what the text says of a run: the same words of each entry and
// each sentence, and each row of a table, in the same order.
func saysAll(t rapid.TB, run Run) {
	t.Helper()
	var page strings.Builder
	testkit.OK(t, Write(&page, run))
	_, rest, _ := strings.Cut(page.String(), `<section class="run">`)
	rest, _, _ = strings.Cut(rest, "</section>")
	terminal := string(diagnosis.Summary(run.Result).Terminal(false))
	onPage, inText := plainText(rest), strings.Join(strings.Fields(terminal), " ")
	cut := func(where string, rest *string, words string) {
		words = strings.Join(strings.Fields(doc.Plain(words)), " ")
		_, after, found := strings.Cut(*rest, words)
		if !found {
			t.Fatalf("%q is not where it belongs in the %s:\n%s", words, where, *rest)
		}
		*rest = after
	}
	for _, b := range diagnosis.Outcome(run.Result) {
		switch b.Kind {
		case doc.Chart:
			cut("text", &inText, b.Words)
		case doc.Table:
			for _, row := range append([][]string{b.Header}, b.Rows...) {
				cut("page", &onPage, strings.Join(row, " "))
				for i, cell := range row {
					if !slices.Contains(b.Wide, i) && !strings.Contains(terminal, cell) {
						t.Errorf("%q of the page is not in the text:\n%s", cell, terminal)
					}
				}
			}
		default:
			cut("page", &onPage, b.Name+" "+b.Words)
			cut("text", &inText, b.Name+" "+b.Words)
		}
	}
}

// The page says of a run what the text says, whatever its figures are, and whatever the scenario.
func TestPageSaysWhatTheTextSays(t *testing.T) {
	file, err := scenarios.Describe("llama-3.1-8b", "h100")
	testkit.OK(t, err)
	steps, err := file.Steps(policies.Default())
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		saysAll(t, Run{Result: drawResult(t), Sample: NewSample(1), Steps: steps})
	})
	rng := rand.New(rand.NewPCG(3, 5))
	draw := func(list ...string) string { return list[rng.IntN(len(list))] }
	for range 12 {
		file, err := scenarios.Load(draw("chat", "tenants", "mixed-gpus", "disaggregated"),
			"workload.requests="+draw("1", "30", "200"),
			"hardware.accelerator="+draw("h200", "h100"),
			fmt.Sprint("seed=", rng.IntN(100)))
		testkit.OK(t, err)
		s, err := file.Build(policies.Default())
		testkit.OK(t, err)
		sample := NewSample(5)
		result, err := s.Run(t.Context(), sample)
		testkit.OK(t, err)
		saysAll(t, Run{Result: result, Sample: sample, Steps: s.Steps()})
	}
}

// The parts of a mean request make up all of it.
func TestPartsOfAMeanRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawResult(t)
		w, sum := newWaterfall(r), 0.0
		total := r.MeanQueue + 25 + 100
		for i, time := range []float64{r.MeanQueue, 20, 5, 100} {
			p := w.Parts[i]
			if sum += p.Share; math.Abs(p.Share*total-time) > 1e-9 ||
				p.Time != units.FormatDuration(time/1000) {
				t.Errorf("%+v, want %g ms of %g", p, time, total)
			}
		}
		after := units.Significant(float64(r.TotalOutputTokens)/float64(max(1, r.Completed))-1, 4)
		if math.Abs(sum-1) > 1e-12 || !strings.Contains(w.Words, "here "+
			units.FormatDuration((r.MeanQueue+25)/1000)+".") || !strings.Contains(w.Words,
			"100 ms more for the "+after+" that follow") {
			t.Errorf("%g in all: %s", sum, w.Words)
		}
		if r.Phases = nil; newWaterfall(r) != nil {
			t.Error("phases that are not known are shown")
		}
	})
}

// Tables have the state of each run at moments from its first on, evenly apart, twelve at most, and
// the parts of its steps, under its name where there are several.
func TestTablesOfCharts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Run
		rows, parts := 0, 0
		runs := rapid.IntRange(1, 3).Draw(t, "runs")
		for i := range runs {
			r := &Data{Parts: []PartTime{{Batch: 4, Name: "part", Time: 2500, Fits: i == 0}}}
			n := rapid.IntRange(0, 40).Draw(t, "points")
			for k := range n {
				r.Series = append(r.Series, Point{At: float64(k), Running: k, Waiting: 2 * k,
					KV: float64(k) / 100, Up: 1 + k/39})
			}
			if scales := Scales(r.Series); scales != (n == 40) {
				t.Errorf("%d points change: %v", n, scales)
			}
			rows, parts = rows+min(n, 12), parts+1
			list = append(list, Run{Name: fmt.Sprint("run ", i), data: r})
		}
		series, steps := seriesTable(list), partsTable(list)
		if len(series.Rows) != rows || len(steps.Rows) != parts {
			t.Fatalf("%d and %d rows, want %d and %d", len(series.Rows), len(steps.Rows), rows,
				parts)
		}
		before := map[string]int{}
		for _, row := range series.Rows {
			run, _, several := strings.Cut(row[0], ", ")
			k := 0
			_, err := fmt.Sscan(row[1], &k)
			testkit.OK(t, err)
			last, begun := before[run]
			if several != (runs > 1) || row[2] != fmt.Sprint(2*k) || !strings.HasSuffix(row[0],
				units.FormatDuration(float64(k))) || row[3] != units.Significant(float64(k),
				2)+"%" ||
				several && (!begun && k != 0 || begun && (k <= last || k > last+4)) {
				t.Errorf("row %q after %d", row, last)
			}
			before[run] = k
		}
		for i, row := range steps.Rows {
			if row[1] != "4" || row[2] != "2.5 s" || (row[3] == "yes") != (i == 0) ||
				strings.HasPrefix(row[0], "run ") != (runs > 1) {
				t.Errorf("row %q", row)
			}
		}
	})
}

// A sample has all requests as long as there is room, and is an even one of more: each request is
// as likely in it as any other.
func TestSampleIsEven(t *testing.T) {
	s, sum := NewSample(1000), 0.0
	for i := range 20_000 {
		q := &sim.Sequence{LastToken: 2 * sim.Second, FirstToken: sim.Second}
		q.ID, q.Prompt, q.Output = int64(i), 3, 5
		if s.Finished(q); len(s.Requests()) != min(i+1, 1000) {
			t.Fatalf("%d of %d requests", len(s.Requests()), i+1)
		}
	}
	for _, r := range s.Requests() {
		sum += float64(r.ID) / 1000
		if r.Prompt != 3 || r.Output != 5 || r.TTFT != 1 || r.E2E != 2 || r.TPOT != 0.25 {
			t.Errorf("%+v", r)
		}
	}
	if far := 5 * 20_000 / math.Sqrt(12*1000); math.Abs(sum-10_000) > far {
		t.Errorf("a mean number of %g, want 10,000 within %g", sum, far)
	}
}

// The words of charts have the figures of their runs, each under its name where there are several.
func TestWordsOfCharts(t *testing.T) {
	file, err := scenarios.Load("chat", "workload.requests=20")
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	sample := NewSample(5)
	r, err := s.Run(t.Context(), sample)
	testkit.OK(t, err)
	run := Run{Result: r, Sample: sample, Steps: s.Steps()}
	for _, runs := range [][]Run{{run}, {run, {Name: "other", Result: r, Sample: sample,
		Steps: s.Steps()}}} {
		for i := range runs {
			runs[i].outcome, runs[i].data = diagnosis.Outcome(r), NewData(&runs[i])
		}
		d := runs[0].data
		all := charts(runs)
		sums := map[int]float64{}
		for _, p := range d.Parts {
			sums[p.Batch] += p.Time
			if Rank(p.Name) != p.Rank || !p.Fits {
				t.Errorf("%+v", p)
			}
		}
		want := map[string]string{
			"timeline": "batch up to " + units.Figure(float64(r.PeakRunning)) + " in ",
			"memory":   "KV cache up to " + units.Percent(r.PeakKVUsage),
			"ttft":     "to p99 " + units.FormatDuration(r.P99TTFT/1000),
			"operators": fmt.Sprintf("A step of 1 takes %s, of 256 %s.",
				units.FormatDuration(sums[1]/1000),
				units.FormatDuration(sums[256]/1000))}
		for _, c := range all {
			if words, is := want[c.ID]; is && (len(c.Words) != len(runs) ||
				!strings.Contains(c.Words[len(runs)-1], words) ||
				strings.HasPrefix(c.Words[len(runs)-1], "other: ") != (len(runs) > 1)) {
				t.Errorf("%s says %q, want %q", c.ID, c.Words, words)
			}
			delete(want, c.ID)
		}
		var text strings.Builder
		if len(runs) == 1 {
			testkit.OK(t, Write(&text, run))
		} else {
			testkit.OK(t, WriteComparison(&text, "two", nil, runs))
		}
		if n := strings.Count(text.String(), "llama-3.1-8b&#34;"); n < len(runs) {
			t.Errorf("the scenario is told %d times", n)
		}
		if named := strings.Contains(text.String(), ">other<"); named != (len(runs) > 1) {
			t.Errorf("the second run is named: %v", named)
		}
		if len(want) > 0 || len(d.Series) != len(r.Series) || len(d.Requests) != 5 {
			t.Errorf("no charts of %v", want)
		}
	}
}

// A step has parts that take time, and these alone: without drafts there is no drafting. The words
// compare the smallest batch with the largest for which there is room, and say where there is
// none for some.
func TestPartsOfStepsTakeTime(t *testing.T) {
	file, err := scenarios.Describe("llama-3.1-8b", "a100-40gb-pcie")
	testkit.OK(t, err)
	steps, err := file.Steps(policies.Default())
	testkit.OK(t, err)
	rooms := map[int]bool{}
	for _, context := range []int{100, 2000, 20_000, 1_000_000} {
		r := &scenarios.Result{Decode: &scenarios.Phenomenon{Batch: 2,
			Context: 2 * int64(context)}}
		sums, fits := map[int]float64{}, []int{}
		for _, p := range StepParts(steps, r) {
			if p.Time <= 0 || p.Rank != Rank(p.Name) || p.Name == steptime.Drafting.String() ||
				p.Fits != (p.Batch <= steps.Room(context)) {
				t.Errorf("context %d: %+v", context, p)
			}
			if sums[p.Batch] += p.Time; p.Fits && !slices.Contains(fits, p.Batch) {
				fits = append(fits, p.Batch)
			}
		}
		rooms[len(fits)] = true
		want := "The KV memory has no room for these batches."
		if n := len(fits); n > 0 {
			want = fmt.Sprintf("A step of 1 takes %s, of %d %s.", units.FormatDuration(
				sums[1]/1000), fits[n-1], units.FormatDuration(sums[fits[n-1]]/1000))
			if n < StepBatches {
				want += " The KV memory has no room for the pale ones."
			}
		}
		if got := stepWords(&Run{data: &Data{Parts: StepParts(steps, r)}}); got != want {
			t.Errorf("context %d: %q, want %q", context, got, want)
		}
	}
	if !rooms[0] || len(rooms) < 3 {
		t.Errorf("room for %v sizes", rooms)
	}
}

// A point is a sample of the run: the same moment to the microsecond, the same counts, and the
// share of the memory to four decimals, rounded down.
func TestPointsAreTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := metrics.Point{At: sim.Time(rapid.Int64Range(0, 1e15).Draw(t, "at")),
			Running: rapid.IntRange(0, 9).Draw(t, "running"), Up: rapid.IntRange(0, 9).Draw(t,
				"up"), Waiting: rapid.IntRange(0, 9).Draw(t, "waiting"),
			KVUsage: rapid.Float64Range(0, 1).Draw(t, "kv")}
		points := Points(&scenarios.Result{Series: []metrics.Point{m}})
		p := points[0]
		if late, over := m.At.Seconds()-p.At, m.KVUsage-p.KV; len(points) != 1 || late < -1e-9 ||
			late > 1.001e-6 || over < -1e-12 || over > 1.001e-4 || p.Running != m.Running ||
			p.Waiting != m.Waiting || p.Up != m.Up {
			t.Errorf("%+v is shown as %+v", m, p)
		}
	})
}
