package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// chart is a place that the script draws into, with what it shows in words and as a table.
type chart struct {
	ID, Title, Class string
	Words            []string
	Table            template.HTML
}

// charts lists the charts of runs. The chart of replicas is there where their number changes.
func charts(runs []Run) []chart {
	list := []chart{
		{ID: "timeline", Title: "Batch and queue", Words: each(runs, drawn("batch", "queue")),
			Table: doc.Blocks{seriesTable(runs)}.HTML()},
		{ID: "memory", Title: "KV memory", Words: each(runs, drawn("KV cache"))},
	}
	if slices.ContainsFunc(runs, func(r Run) bool { return Scales(r.data.Series) }) {
		list = append(list, chart{ID: "replicas", Title: "Replicas that are up"})
	}
	return append(list,
		chart{ID: "scatter", Title: "Time to first token by arrival"},
		chart{ID: "ttft", Title: "Requests by their time to first token", Class: "half",
			Words: each(runs, drawn("TTFT"))},
		chart{ID: "tpot", Title: "Requests by their time per output token", Class: "half",
			Words: each(runs, drawn("TPOT"))},
		chart{ID: "operators", Title: "A decode step by its parts", Words: each(runs, stepWords),
			Table: doc.Blocks{partsTable(runs)}.HTML()})
}

// each says something of every run, under its name where there are several.
func each(runs []Run, words func(*Run) string) []string {
	var list []string
	for i := range runs {
		text := words(&runs[i])
		if len(runs) > 1 {
			text = runs[i].name() + ": " + text
		}
		list = append(list, text)
	}
	return list
}

// drawn returns what the outcome of a run says beside its charts of these names.
func drawn(names ...string) func(*Run) string {
	return func(r *Run) string {
		var list []string
		for _, b := range r.outcome {
			if b.Kind == doc.Chart && slices.Contains(names, b.Name) {
				list = append(list, b.Name+" "+b.Words)
			}
		}
		return strings.Join(list, "; ")
	}
}

// stepWords compares the smallest batch with the largest that the KV memory has room for.
func stepWords(r *Run) string {
	sums, fits := map[int]float64{}, true
	batches := []int{}
	for _, p := range r.data.Parts {
		fits = fits && p.Fits
		if !p.Fits {
			continue
		}
		if sums[p.Batch] == 0 {
			batches = append(batches, p.Batch)
		}
		sums[p.Batch] += p.Time
	}
	if len(batches) == 0 {
		return "The KV memory has no room for these batches."
	}
	first, last := batches[0], batches[len(batches)-1]
	words := fmt.Sprintf("A step of %d takes %s, of %d %s.", first,
		units.FormatDuration(sums[first]/1000), last, units.FormatDuration(sums[last]/1000))
	if !fits {
		words += " The KV memory has no room for the pale ones."
	}
	return words
}

// Scales reports whether the number of replicas changes.
func Scales(series []Point) bool {
	return slices.ContainsFunc(series, func(p Point) bool { return p.Up != series[0].Up })
}

// tableRows is how many moments the table of a run shows.
const tableRows = 12

// seriesTable shows the state of the fleets at some moments.
func seriesTable(runs []Run) doc.Block {
	t := doc.Block{Kind: doc.Table, Header: []string{"time", "in a batch", "waiting", "KV memory",
		"replicas up"}}
	for i := range runs {
		points := runs[i].data.Series
		for k := range min(tableRows, len(points)) {
			p := points[k*len(points)/min(tableRows, len(points))]
			at := units.FormatDuration(p.At)
			if len(runs) > 1 {
				at = runs[i].name() + ", " + at
			}
			t.Rows = append(t.Rows, []string{at, strconv.Itoa(p.Running), strconv.Itoa(p.Waiting),
				units.Significant(100*p.KV, 2) + "%", strconv.Itoa(p.Up)})
		}
	}
	return t
}

// partsTable shows the parts of decode steps in milliseconds.
func partsTable(runs []Run) doc.Block {
	t := doc.Block{Kind: doc.Table, Header: []string{"part", "sequences", "time", "fits"}}
	for i := range runs {
		for _, p := range runs[i].data.Parts {
			label, fits := p.Name, "yes"
			if len(runs) > 1 {
				label = runs[i].name() + ", " + label
			}
			if !p.Fits {
				fits = "no"
			}
			t.Rows = append(t.Rows,
				[]string{label, strconv.Itoa(p.Batch), units.FormatDuration(p.Time / 1000), fits})
		}
	}
	return t
}

// waterfall shows of what the latency of a mean request is made.
type waterfall struct {
	Words string
	Parts []waterfallPart
}

type waterfallPart struct {
	Name, Class, Time string
	Share             float64
}

func newWaterfall(r *scenarios.Result) *waterfall {
	if r.Phases == nil {
		return nil
	}
	ttft := r.MeanQueue + r.MeanPrefill + r.MeanFrontEnd
	total := ttft + r.MeanDecode
	ms := func(x float64) string { return units.FormatDuration(x / 1000) }
	w := &waterfall{Words: fmt.Sprintf(
		"TTFT = queueing + prefill, which gives the first token, + front end: here %s. Latency = "+
			"TTFT + TPOT × (output tokens − 1): %s more for the %s that follow on average.",
		ms(ttft), ms(r.MeanDecode),
		units.Significant(float64(r.TotalOutputTokens)/float64(max(1, r.Completed))-1, 4))}
	for _, p := range []struct {
		name, class string
		time        float64
	}{{"waiting", "queue", r.MeanQueue}, {"prefill", "prefill", r.MeanPrefill},
		{"front end", "front-end", r.MeanFrontEnd}, {"decode", "decode", r.MeanDecode}} {
		w.Parts = append(w.Parts, waterfallPart{p.name, p.class, ms(p.time), p.time / total})
	}
	return w
}
