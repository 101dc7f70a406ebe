// Package page writes the outcome of runs as one HTML file that needs nothing else: its charts,
// their data and the library that draws them (Vega-Lite) are inside.
package page

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

//go:embed page.html
var layout string

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed vega/vega.min.js
var vega string

//go:embed vega/vega-lite.min.js
var vegaLite string

//go:embed vega/vega-embed.min.js
var vegaEmbed string

// SampleSize is how many requests a page shows, over all its runs: some 400 KB.
const SampleSize = 4000

// Run is one run on a page.
type Run struct {
	// Name distinguishes it from others of a comparison; empty for the scenario's.
	Name   string
	Result *scenarios.Result
	Sample *Sample
	// Steps predicts the steps of the scenario, for the chart of operators.
	Steps *scenarios.Steps
	// outcome is what the text of the run says, data what is drawn of it.
	outcome doc.Blocks
	data    *Data
}

// column is what is said of one run.
type column struct {
	Name, Setup string
	Result      *scenarios.Result
	Outcome     template.HTML
	Waterfall   *waterfall
}

// view is what the template shows.
type view struct {
	Title, Version, Scenario string
	Words                    []string
	Seed                     uint64
	Of                       string // which of several pools the steps are of
	Differences              template.HTML
	Columns                  []column
	Charts                   []chart
	Style                    template.CSS
	Scripts                  []template.JS
	Data                     template.JS
}

// Write writes the page of one run.
func Write(w io.Writer, r Run) error {
	v := view{Title: title(r.Result), Words: []string{r.Result.Setup + ".", r.Result.Load + "."}}
	return v.write(w, []Run{r})
}

// WriteComparison writes the page of several runs, each under its name. Words say how they differ
// from the first, and what the figures rest on.
func WriteComparison(w io.Writer, title string, words doc.Blocks, runs []Run) error {
	v := view{Title: title, Differences: words.HTML()}
	return v.write(w, runs)
}

// write adds what the pages of one run and of several have in common.
func (v *view) write(w io.Writer, runs []Run) error {
	first := runs[0].Result
	v.Version, v.Seed, v.Style = first.Version, first.Seed, template.CSS(doc.Style+style)
	v.Scripts = []template.JS{template.JS(vega), template.JS(vegaLite), template.JS(vegaEmbed),
		template.JS(script)}
	if pools := first.Pools; slices.ContainsFunc(pools, func(p scenarios.PoolResult) bool {
		return p.Hardware != pools[0].Hardware || p.Model != pools[0].Model
	}) {
		v.Of = ", in pool " + pools[0].Name
	}
	var echo strings.Builder
	var list []*Data
	for i := range runs {
		r := &runs[i]
		r.outcome, r.data = diagnosis.Outcome(r.Result), NewData(r)
		list = append(list, r.data)
		c := column{Result: r.Result, Outcome: r.outcome.HTML(), Waterfall: newWaterfall(r.Result)}
		if len(runs) > 1 {
			c.Name, c.Setup = r.name(), r.Result.Setup+". "+r.Result.Load+"."
		}
		v.Columns = append(v.Columns, c)
		text, err := json.MarshalIndent(r.Result.Scenario, "", "  ")
		if err != nil {
			return err
		}
		echo.Write(text)
		echo.WriteByte('\n')
	}
	v.Scenario = echo.String()
	v.Charts = charts(runs)
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	v.Data = template.JS(data) // encoding/json escapes <, > and &
	t, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

// title is the name of a scenario, or what it runs on what.
func title(r *scenarios.Result) string {
	if r.Name != "" {
		return r.Name
	}
	setup, _, _ := strings.Cut(r.Setup, ";")
	return setup
}

// name returns what distinguishes a run from others.
func (r *Run) name() string {
	if r.Name != "" {
		return r.Name
	}
	return title(r.Result)
}

// Data is what is drawn of a run: by the script on the page, and by package plots in files.
type Data struct {
	Name      string     `json:"name"`
	Completed int64      `json:"completed"`
	SLO       *Limits    `json:"slo"`
	Series    []Point    `json:"series"`
	Requests  []Request  `json:"requests"`
	Parts     []PartTime `json:"parts"`
}

// NewData returns what is drawn of a run.
func NewData(r *Run) *Data {
	return &Data{Name: r.name(), SLO: NewLimits(r.Result), Completed: r.Result.Completed,
		Requests: r.Sample.requests, Parts: StepParts(r.Steps, r.Result), Series: Points(r.Result)}
}

// Limits are an SLO's in seconds; 0 without a limit, or where each class has its own.
type Limits struct {
	TTFT float64 `json:"ttft"`
	TPOT float64 `json:"tpot"`
	E2E  float64 `json:"e2e"`
}

// NewLimits returns the limits that hold for all requests.
func NewLimits(r *scenarios.Result) *Limits {
	if r.ByClass() {
		return &Limits{}
	}
	s := &r.SLO
	return &Limits{sim.Time(s.TTFT.Strictest()).Seconds(), sim.Time(s.TPOT.Strictest()).Seconds(),
		sim.Time(s.E2E.Strictest()).Seconds()}
}

// Point is the state of the fleet at a moment: At in seconds, KV the share of its memory in use, Up
// the number of replicas that serve, start or finish what they have.
type Point struct {
	At      float64 `json:"at"`
	Running int     `json:"running"`
	Waiting int     `json:"waiting"`
	KV      float64 `json:"kv"`
	Up      int     `json:"up"`
}

// Points returns the state of the fleet over time, with no more digits than a chart shows.
func Points(r *scenarios.Result) []Point {
	points := make([]Point, len(r.Series))
	for i, p := range r.Series {
		points[i] = Point{At: short(p.At), Running: p.Running, Waiting: p.Waiting, Up: p.Up,
			KV: float64(int(1e4*p.KVUsage)) / 1e4}
	}
	return points
}

// Sample is a sim.Observer that keeps an even sample of the finished requests, of bounded size
// (Vitter, "Random sampling with a reservoir", 1985, algorithm R). The same run gives the same
// sample.
type Sample struct {
	sim.NopObserver
	limit    int
	seen     int64
	rng      *rand.Rand
	requests []Request
}

// Request is what the page shows of a request. Times are in seconds.
type Request struct {
	ID      int64   `json:"id"`
	Arrival float64 `json:"at"`
	Prompt  int     `json:"prompt"`
	Output  int     `json:"output"`
	TTFT    float64 `json:"ttft"`
	TPOT    float64 `json:"tpot"`
	E2E     float64 `json:"e2e"`
}

// NewSample returns a sample of at most limit requests.
func NewSample(limit int) *Sample {
	return &Sample{limit: limit, rng: rand.New(rand.NewPCG(0, 0))}
}

// Finished implements sim.Observer.
func (s *Sample) Finished(q *sim.Sequence) {
	s.seen++
	at := len(s.requests)
	if at == s.limit {
		if at = int(s.rng.Int64N(s.seen)); at >= s.limit {
			return
		}
	} else {
		s.requests = append(s.requests, Request{})
	}
	s.requests[at] = Request{
		ID: q.ID, Arrival: short(q.Arrival), Prompt: q.Prompt, Output: q.Output,
		TTFT: short(q.TTFT()), TPOT: short(q.TPOT()), E2E: short(q.E2E()),
	}
}

// short is a time in seconds, to the microsecond: more digits would only make the page larger.
func short(t sim.Time) float64 { return float64(t/sim.Microsecond) / 1e6 }

// Requests returns the sample.
func (s *Sample) Requests() []Request { return s.requests }

// PartTime is the time of a part of a decode step of a batch, in milliseconds.
type PartTime struct {
	Batch int     `json:"batch"`
	Name  string  `json:"name"`
	Rank  int     `json:"rank"` // among the parts
	Time  float64 `json:"ms"`
	// Fits reports whether the KV memory has room for the batch.
	Fits bool `json:"fits"`
}

// StepBatches is the number of batch sizes whose steps are shown.
const StepBatches = 5

// shown lists the parts of decode steps in the order of the chart. There are no more without drafts
// than it has colours.
func shown() []steptime.Part {
	return []steptime.Part{steptime.ReadingWeights, steptime.ReadingKV,
		steptime.MovingActivations, steptime.Calculating, steptime.Exchanging,
		steptime.FixedTimes, steptime.OnHost, steptime.Drafting, steptime.Undivided}
}

// Rank returns the place of a part among all parts, which is also its colour's.
func Rank(part string) int {
	return slices.IndexFunc(shown(), func(p steptime.Part) bool { return p.String() == part })
}

// StepParts breaks decode steps of several sizes down, each sequence with the mean context of the
// run.
func StepParts(s *scenarios.Steps, r *scenarios.Result) []PartTime {
	context := 1024
	if d := r.Decode; d != nil && d.Batch > 0 {
		context = int(d.Context) / d.Batch
	}
	var list []PartTime
	for _, batch := range [StepBatches]int{1, 4, 16, 64, 256} {
		sum := s.Decode(batch, context-1).Ledger.Sum()
		for rank, part := range shown() {
			if t := sum.Parts[part]; t > 0 {
				list = append(list, PartTime{Batch: batch, Name: part.String(), Rank: rank,
					Time: t.Milliseconds(), Fits: batch <= s.Room(context)})
			}
		}
	}
	return slices.Clip(list)
}
