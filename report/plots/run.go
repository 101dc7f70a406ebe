package plots

import (
	"errors"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/llmsim/llmsim/report/page"
	"github.com/llmsim/llmsim/scenarios"
)

// SaveRun draws a run into dir: how its latencies are distributed, its queue, batch and KV memory over time, and where the time of
// a decode step goes.
func SaveRun(dir string, result *scenarios.Result, sample *page.Sample, steps *scenarios.Steps) error {
	latencies, err := Latencies(sample.Requests())
	if err != nil {
		return err
	}
	queue, memory, err := State(page.Points(result))
	if err != nil {
		return err
	}
	parts, err := StepParts(page.StepParts(steps, result))
	if err != nil {
		return err
	}
	return errors.Join(
		Save(dir, "latencies", latencies), Save(dir, "queue", queue), Save(dir, "memory", memory), Save(dir, "steps", parts),
	)
}

// Latencies draws the cumulative distributions of TTFT, TPOT and the whole request.
func Latencies(requests []page.Request) (*plot.Plot, error) {
	p := newPlot("Latencies", "seconds", "requests that take at most so long (%)")
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"}, {Value: 0.25, Label: "25"}, {Value: 0.5, Label: "50"}, {Value: 0.75, Label: "75"}, {Value: 1, Label: "100"},
	}
	p.X.Tick.Marker = logTicks{}
	p.Y.Min, p.Y.Max = 0, 1.3 // room for the legend
	addGrid(p)
	for i, l := range []struct {
		name  string
		value func(r *page.Request) float64
	}{
		{"time per output token", func(r *page.Request) float64 { return r.TPOT }},
		{"time to first token", func(r *page.Request) float64 { return r.TTFT }},
		{"whole request", func(r *page.Request) float64 { return r.E2E }},
	} {
		line, err := plotter.NewLine(cumulative(requests, l.value))
		if errors.Is(err, plotter.ErrNoData) {
			continue // no answer has a second token, say
		}
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes = colour(i), vg.Points(1.5), dashes(i)
		p.Add(line)
		p.Legend.Add(l.name, line)
	}
	p.Legend.Top, p.Legend.XOffs = true, -4
	return p, nil
}

// cumulative returns the points of a cumulative distribution, on a logarithmic axis. Zeros are left out: there is no such latency.
func cumulative(requests []page.Request, value func(r *page.Request) float64) plotter.XYs {
	var values []float64
	for i := range requests {
		if v := value(&requests[i]); v > 0 {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	points := make(plotter.XYs, len(values))
	for i, v := range values {
		points[i] = logXY(v, 1)
		points[i].Y = float64(i+1) / float64(len(values))
	}
	return points
}

// State draws requests in a batch and waiting, and the KV memory in use, over time.
func State(points []page.Point) (queue, memory *plot.Plot, err error) {
	running, waiting, kv := make(plotter.XYs, len(points)), make(plotter.XYs, len(points)), make(plotter.XYs, len(points))
	for i, s := range points {
		running[i] = plotter.XY{X: s.At, Y: float64(s.Running)}
		waiting[i] = plotter.XY{X: s.At, Y: float64(s.Waiting)}
		kv[i] = plotter.XY{X: s.At, Y: 100 * s.KV}
	}
	queue = newPlot("Batch and queue", "time (s)", "requests")
	memory = newPlot("KV memory", "time (s)", "in use (%)")
	for _, p := range []*plot.Plot{queue, memory} {
		p.Y.Min = 0
		addGrid(p)
	}
	err = errors.Join(
		addLine(queue, 0, "in a batch", running), addLine(queue, 1, "waiting", waiting), addLine(memory, 0, "", kv),
	)
	queue.Legend.Top, queue.Legend.XOffs = true, -4
	return queue, memory, err
}

func addLine(p *plot.Plot, i int, name string, points plotter.XYs) error {
	if len(points) == 0 {
		return nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.StepStyle = colour(i), plotter.PostStep
	p.Add(line)
	if name != "" {
		p.Legend.Add(name, line)
	}
	return nil
}

// StepParts draws where the time of a decode step goes, for batches of several sizes.
func StepParts(parts []page.PartTime) (*plot.Plot, error) {
	p := newPlot("Where the time of a decode step goes", "sequences in the batch", "time of a step (ms)")
	p.Y.Min = 0
	var batches []string
	index := map[int]int{}
	byName := map[string]plotter.Values{}
	var names []string
	for _, part := range parts {
		if _, known := index[part.Batch]; !known {
			index[part.Batch] = len(batches)
			batches = append(batches, strconv.Itoa(part.Batch))
		}
		if byName[part.Name] == nil {
			names = append(names, part.Name)
			byName[part.Name] = make(plotter.Values, page.StepBatches)
		}
		byName[part.Name][index[part.Batch]] = part.Time
	}
	var below *plotter.BarChart
	for _, name := range names {
		bars, err := plotter.NewBarChart(byName[name][:len(batches)], vg.Points(40))
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = colour(page.Rank(name)), 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(name, bars)
	}
	p.NominalX(batches...)
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4
	return p, nil
}
