// Package page writes the outcome of runs as one HTML file that needs nothing else: its charts, their data and the library that
// draws them (Vega-Lite) are inside.
package page

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
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
	Result *scenarios.Result
	Sample *Sample
	// Steps predicts the steps of the scenario, for the chart of operators.
	Steps *scenarios.Steps
}

// view is what the template shows.
type view struct {
	Title, Words, Version, Scenario string
	Seed                            uint64
	Of                              string // which of several pools the steps are of
	Columns                         []column
	Style                           template.CSS
	Scripts                         []template.JS
	Data                            template.JS
}

// Write writes the page of one run, or of several side by side.
func Write(w io.Writer, runs ...Run) error {
	first := runs[0].Result
	v := view{
		Title: title(first), Words: first.Setup + ". " + first.Load + ".", Version: first.Version, Seed: first.Seed,
		Style:   template.CSS(style),
		Scripts: []template.JS{template.JS(vega), template.JS(vegaLite), template.JS(vegaEmbed), template.JS(script)},
	}
	if len(runs) > 1 {
		v.Title, v.Words = "Comparison of "+fmt.Sprint(len(runs))+" runs", "The first is "+first.Setup+". "+first.Load+"."
	}
	if pools := first.Pools; slices.ContainsFunc(pools, func(p scenarios.PoolResult) bool { return p.Hardware != pools[0].Hardware || p.Model != pools[0].Model }) {
		v.Of = ", in pool " + pools[0].Name
	}
	var echo strings.Builder
	for _, r := range runs {
		c := newColumn(r.Result)
		if len(runs) > 1 {
			c.Name = title(r.Result)
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
	data, err := json.Marshal(newData(runs))
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

func title(r *scenarios.Result) string {
	if r.Name != "" {
		return r.Name
	}
	return r.Setup
}

// pageData is what the script draws.
type pageData struct {
	Runs []runData `json:"runs"`
}

type runData struct {
	Name      string     `json:"name"`
	Completed int64      `json:"completed"`
	Series    []Point    `json:"series"`
	Requests  []Request  `json:"requests"`
	Parts     []PartTime `json:"parts"`
}

// Point is the state of the fleet at a moment: At in seconds, KV the share of its memory in use.
type Point struct {
	At      float64 `json:"at"`
	Running int     `json:"running"`
	Waiting int     `json:"waiting"`
	KV      float64 `json:"kv"`
}

func newData(runs []Run) pageData {
	var d pageData
	for i, r := range runs {
		name := title(r.Result)
		if len(runs) > 1 {
			name = fmt.Sprintf("%d: %s", i+1, name)
		}
		rd := runData{Name: name, Completed: r.Result.Completed, Requests: r.Sample.requests, Parts: StepParts(r.Steps, r.Result)}
		rd.Series = Points(r.Result)
		d.Runs = append(d.Runs, rd)
	}
	return d
}

// Points returns the state of the fleet over time, with no more digits than a chart shows.
func Points(r *scenarios.Result) []Point {
	points := make([]Point, len(r.Series))
	for i, p := range r.Series {
		points[i] = Point{At: short(p.At), Running: p.Running, Waiting: p.Waiting, KV: float64(int(1e4*p.KVUsage)) / 1e4}
	}
	return points
}
