package plots

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/scenarios"
)

// SaveRun draws a run into dir: how its latencies are distributed, its queue, batch and KV memory
// over time, and where the time of a decode step goes.
func SaveRun(dir string, result *scenarios.Result, sample *page.Sample,
	steps *scenarios.Steps) error {
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
	for _, p := range []*plot.Plot{latencies, queue, memory, parts} {
		if result.Name != "" {
			p.Title.Text += ": " + result.Name
		}
	}
	return errors.Join(
		Save(dir, "latencies", latencies), Save(dir, "queue", queue), Save(dir, "memory", memory),
		Save(dir, "steps", parts),
	)
}

// Latencies draws the cumulative distributions of TTFT, TPOT and the whole request.
func Latencies(requests []page.Request) (*plot.Plot, error) {
	p := newPlot("Latencies", "time (s)", "requests that take at most so long (%)")
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"}, {Value: 0.25, Label: "25"}, {Value: 0.5, Label: "50"},
		{Value: 0.75, Label: "75"}, {Value: 1, Label: "100"},
	}
	p.X.Tick.Marker = logTicks{}
	p.Y.Min, p.Y.Max = 0, 1.3 // room for the legend
	addGrid(p)
	for i, c := range latencyCurves(requests) {
		points := make(plotter.XYs, len(c.X))
		for j := range points {
			points[j] = plotter.XY{X: math.Log10(c.X[j]), Y: c.Y[j]}
		}
		line, err := plotter.NewLine(thin(points))
		if errors.Is(err, plotter.ErrNoData) {
			continue // no answer has a second token, say
		}
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes = colour(i), vg.Points(1.5), dashes(i)
		p.Add(line)
		p.Legend.Add(c.Name, line)
	}
	p.Legend.Top, p.Legend.XOffs = true, -4
	return p, nil
}

// latencyCurves returns, for each latency, its values in seconds and the share of the requests that
// take at most so long.
func latencyCurves(requests []page.Request) []Series {
	var tpot, ttft, e2e []float64
	for _, r := range requests {
		tpot, ttft, e2e = append(tpot, r.TPOT), append(ttft, r.TTFT), append(e2e, r.E2E)
	}
	return []Series{
		cumulative("time per output token", tpot), cumulative("time to first token", ttft),
		cumulative("whole request", e2e),
	}
}

// cumulative returns the cumulative distribution of values. Zeros are left out: there is no such
// latency.
func cumulative(name string, values []float64) Series {
	values = slices.DeleteFunc(values, func(v float64) bool { return v == 0 })
	slices.Sort(values)
	s := Series{Name: name, X: values, Y: make([]float64, len(values))}
	for i := range s.Y {
		s.Y[i] = float64(i+1) / float64(len(values))
	}
	return s
}

// State draws requests in a batch and waiting, and the KV memory in use, over time.
func State(state []page.Point) (queue, memory *plot.Plot, err error) {
	running, waiting, kv := stateCurves(state)
	queue = newPlot("Batch and queue", "time (s)", "requests")
	memory = newPlot("KV memory", "time (s)", "in use (%)")
	for _, p := range []*plot.Plot{queue, memory} {
		addGrid(p)
	}
	err = errors.Join(
		addLine(queue, 0, running), addLine(queue, 1, waiting), addLine(memory, 0, kv),
	)
	roomForLegend(queue)
	queue.Legend.XOffs = -4
	memory.Y.Min = 0
	return queue, memory, err
}

// stateCurves returns numbers of requests, and the KV memory in use in percent, over time in
// seconds.
func stateCurves(state []page.Point) (running, waiting, kv Series) {
	running.Name, waiting.Name = "in a batch", "waiting"
	for _, s := range state {
		running.X, running.Y = append(running.X, s.At), append(running.Y, float64(s.Running))
		waiting.X, waiting.Y = append(waiting.X, s.At), append(waiting.Y, float64(s.Waiting))
		kv.X, kv.Y = append(kv.X, s.At), append(kv.Y, 100*s.KV)
	}
	return running, waiting, kv
}

func addLine(p *plot.Plot, i int, s Series) error {
	if len(s.X) == 0 {
		return nil
	}
	for j, piece := range pieces(thin(points(&s))) {
		line, err := plotter.NewLine(piece)
		if err != nil {
			return err
		}
		line.Color, line.StepStyle = colour(i), plotter.PostStep
		p.Add(line)
		if j == 0 && s.Name != "" {
			p.Legend.Add(s.Name, line)
		}
	}
	return nil
}

// StepParts draws where the time of a decode step goes, for batches of several sizes.
func StepParts(parts []page.PartTime) (*plot.Plot, error) {
	p := newPlot("Where the time of a decode step goes", "sequences in the batch",
		"time of a step (ms)")
	p.Y.Min = 0
	batches, stack := stepStack(parts)
	var below *plotter.BarChart
	for _, part := range stack {
		bars, err := plotter.NewBarChart(plotter.Values(part.Y), vg.Points(40))
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = colour(page.Rank(part.Name)), 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(part.Name, bars)
	}
	p.NominalX(batches...)
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4
	return p, nil
}

// stepStack returns sizes of batches, and for each part of a step its time in milliseconds by size.
func stepStack(parts []page.PartTime) (batches []string, stack []Series) {
	index := map[int]int{}
	for _, part := range parts {
		if _, known := index[part.Batch]; !known {
			index[part.Batch] = len(batches)
			batches = append(batches, strconv.Itoa(part.Batch))
		}
	}
	for _, part := range parts {
		i := slices.IndexFunc(stack, func(s Series) bool { return s.Name == part.Name })
		if i < 0 {
			i = len(stack)
			stack = append(stack, Series{Name: part.Name, Y: make([]float64, len(batches))})
		}
		stack[i].Y[index[part.Batch]] = part.Time
	}
	return batches, stack
}
