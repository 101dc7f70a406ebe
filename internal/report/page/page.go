// Package page writes the outcome of runs as one HTML file that needs nothing else: its charts,
// their data and the library that draws them (Vega-Lite) are inside.
package page

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
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
