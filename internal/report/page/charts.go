package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
)

// chart is a place that the script draws into, with what it shows in words and as a table.
type chart struct {
	ID, Title, Class string
	Words            []string
	Table            template.HTML
}

// charts lists the charts of runs. The chart of replicas is there where their number changes.
func charts(runs []Run, d *pageData) []chart {
	list := []chart{
		{ID: "timeline", Title: "Batch and queue", Words: each(runs, queueWords),
			Table: doc.Blocks{seriesTable(d)}.HTML()},
		{ID: "memory", Title: "KV memory", Words: each(runs, memoryWords)},
	}
	if slices.ContainsFunc(d.Runs, func(r runData) bool { return Scales(r.Series) }) {
		list = append(list, chart{ID: "replicas", Title: "Replicas that are up",
			Words: each(runs, replicaWords)})
	}
	return append(list,
		chart{ID: "scatter", Title: "Time to first token by arrival",
			Words: each(runs, func(r *Run) string {
				return latencyWords("TTFT", r.Result.MedianTTFT, r.Result.P99TTFT)
			})},
		chart{ID: "ttft", Title: "Time to first token", Class: "half",
			Words: []string{"Requests by their time to first token."}},
		chart{ID: "tpot", Title: "Time per output token", Class: "half",
			Words: each(runs, func(r *Run) string {
				return latencyWords("TPOT", r.Result.MedianTPOT, r.Result.P99TPOT)
			})},
		chart{ID: "operators", Title: "A decode step by its parts", Words: each(runs, stepWords),
			Table: doc.Blocks{partsTable(d)}.HTML()})
}

// each says something of every run, under its name where there are several.
func each(runs []Run, words func(*Run) string) []string {
	var list []string
	for i := range runs {
		text := words(&runs[i])
		if len(runs) > 1 {
			text = name(runs[i]) + ": " + text
		}
		list = append(list, text)
	}
	return list
}

func queueWords(r *Run) string {
	return fmt.Sprintf("%s requests are in a batch on average, up to %d; %s wait, up to %d. "+
		"The lines join samples.", units.Significant(r.Result.MeanRunning, 3),
		r.Result.PeakRunning, units.Significant(r.Result.MeanWaiting, 3), r.Result.PeakWaiting)
}

func memoryWords(r *Run) string {
	return fmt.Sprintf("%s%% of the KV memory is in use on average, %s%% at most.",
		units.Significant(100*r.Result.KVUsage, 2), units.Significant(100*r.Result.PeakKVUsage, 2))
}

func replicaWords(r *Run) string {
	if f := r.Result.Fleet; f != nil {
		return fmt.Sprintf("%s of %d replicas are up on average.",
			units.Significant(f.MeanReplicas, 3), f.Replicas)
	}
	return "The number of replicas does not change."
}

func latencyWords(short string, median, p99 float64) string {
	if p99 == 0 {
		return "No request has a " + short + "."
	}
	return fmt.Sprintf("Half of the requests have a %s within %s, 99%% within %s.", short,
		units.FormatDuration(median/1000), units.FormatDuration(p99/1000))
}

// stepWords compares the smallest batch with the largest that the KV memory has room for.
func stepWords(r *Run) string {
	sums, fits := map[int]float64{}, true
	batches := []int{}
	for _, p := range StepParts(r.Steps, r.Result) {
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
func seriesTable(d *pageData) doc.Block {
	t := doc.Block{Kind: doc.Table, Header: []string{"time", "in a batch", "waiting", "KV memory",
		"replicas up"}}
	for i := range d.Runs {
		points := d.Runs[i].Series
		for k := range min(tableRows, len(points)) {
			p := points[k*len(points)/min(tableRows, len(points))]
			at := units.FormatDuration(p.At)
			if len(d.Runs) > 1 {
				at = d.Runs[i].Name + ", " + at
			}
			t.Rows = append(t.Rows, []string{at, strconv.Itoa(p.Running), strconv.Itoa(p.Waiting),
				units.Significant(100*p.KV, 2) + "%", strconv.Itoa(p.Up)})
		}
	}
	return t
}

// partsTable shows the parts of decode steps in milliseconds.
func partsTable(d *pageData) doc.Block {
	t := doc.Block{Kind: doc.Table, Header: []string{"part", "sequences", "time", "fits"}}
	for i := range d.Runs {
		for _, p := range d.Runs[i].Parts {
			label, fits := p.Name, "yes"
			if len(d.Runs) > 1 {
				label = d.Runs[i].Name + ", " + label
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
