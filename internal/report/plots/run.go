package plots

import (
	"errors"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// SaveRun draws a run into dir: how its latencies are distributed, its queue, batch, KV memory and
// replicas over time, and where the time of a decode step goes.
func (s Style) SaveRun(dir string, result *scenarios.Result, sample *page.Sample,
	steps *scenarios.Steps) error {
	pictures := map[string]*plot.Plot{}
	var err error
	if pictures["latencies"], err = Latencies(sample.Requests(), sloLines(result)); err != nil {
		return err
	}
	state := page.Points(result)
	if pictures["queue"], pictures["memory"], err = State(state); err != nil {
		return err
	}
	if pictures["steps"], err = StepParts(page.StepParts(steps, result)); err != nil {
		return err
	}
	if page.Scales(state) {
		if pictures["replicas"], err = Replicas(state); err != nil {
			return err
		}
	}
	for name, p := range pictures {
		if result.Name != "" {
			p.Title.Text += ": " + result.Name
		}
		if d := result.Diagnosis; name != "steps" && d != nil && d.Load == scenarios.Overloaded {
			p.Title.Text += "\nOVERLOADED: a longer run would show longer latencies"
		}
		if err := s.Save(dir, name, p); err != nil {
			return err
		}
	}
	return nil
}

// sloLine is the limit of an SLO on a latency of requests, in seconds.
type sloLine struct {
	curve int // of latencyCurves
	at    float64
}

// sloLines returns the limits of the SLO of a run, an empty list where each class has its own.
func sloLines(r *scenarios.Result) (list []sloLine) {
	if r.ByClass() {
		return nil
	}
	for i, l := range []scenarios.Limits{r.SLO.TPOT, r.SLO.TTFT, r.SLO.E2E} {
		if at := sim.Time(l.Strictest()).Seconds(); at > 0 {
			list = append(list, sloLine{i, at})
		}
	}
	return list
}

// Latencies draws the cumulative distributions of TTFT, TPOT and the whole request, and the limits
// of the SLO.
func Latencies(requests []page.Request, limits []sloLine) (*plot.Plot, error) {
	p := newPlot("Latencies", "time", "requests that take at most as long (%)")
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"}, {Value: 0.25, Label: "25"}, {Value: 0.5, Label: "50"},
		{Value: 0.75, Label: "75"}, {Value: 1, Label: "100"},
	}
	p.X.Tick.Marker = logTimes{1}
	addGrid(p)
	drawn := map[int]bool{}
	for i, c := range latencyCurves(requests) {
		if len(c.X) == 0 {
			continue // no answer has a second token, say
		}
		points := make(plotter.XYs, len(c.X))
		for j := range points {
			points[j] = plotter.XY{X: math.Log10(c.X[j]), Y: c.Y[j]}
		}
		line, err := plotter.NewLine(downsample(points))
		if err != nil {
			return nil, err
		}
		drawn[i] = true
		line.Color, line.Width, line.Dashes = colour(i), vg.Points(1.5), dashes(i)
		p.Add(line)
		p.Legend.Add(c.Name, line)
	}
	for _, l := range limits {
		if !drawn[l.curve] {
			continue
		}
		if err := addSLO(p, l); err != nil {
			return nil, err
		}
	}
	p.Y.Min, p.Y.Max = 0, 1.45 // room for the legend
	p.Legend.Top, p.Legend.XOffs = true, -4
	return p, nil
}

// addSLO draws a limit as a vertical line in the colour of its curve.
func addSLO(p *plot.Plot, l sloLine) error {
	x := math.Log10(l.at)
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: 0}, {X: x, Y: 1.1}})
	if err != nil {
		return err
	}
	line.Color, line.Width = colour(l.curve), vg.Points(1)
	line.Dashes = []vg.Length{vg.Points(2), vg.Points(3)}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: 1.11}},
		Labels: []string{"SLO " + units.FormatDuration(l.at)}})
	if err != nil {
		return err
	}
	style := &labels.TextStyle[0]
	style.Color, style.XAlign = colour(l.curve), text.XCenter
	style.Font.Size, style.Font.Variant = 8, "Sans"
	p.Add(line, labels)
	return nil
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
	unit, by := TimeUnit(length(state))
	for _, s := range []*Series{&running, &waiting, &kv} {
		for i := range s.X {
			s.X[i] /= by
		}
	}
	queue = newPlot("Batch and queue", "time ("+unit+")", "requests")
	memory = newPlot("KV memory", "time ("+unit+")", "in use (%)")
	for _, p := range []*plot.Plot{queue, memory} {
		addGrid(p)
	}
	err = errors.Join(
		addLine(queue, 0, running), addLine(queue, 1, waiting), addLine(memory, 0, kv),
	)
	roomForLegend(queue, 2)
	queue.Legend.XOffs = -4
	memory.Y.Min, memory.Y.Tick.Marker = 0, plainTicks{most: 100}
	if memory.Y.Max > 50 { // the end of the memory is in sight
		memory.Y.Max = 100
		err = errors.Join(err, addLimit(memory, 100, "all of the KV memory"))
		roomForLegend(memory, 1)
	}
	return queue, memory, err
}

// length is the time of the last point, in seconds.
func length(state []page.Point) float64 {
	if len(state) == 0 {
		return 0
	}
	return state[len(state)-1].At
}

// Replicas draws the number of replicas that serve, start or finish what they have, over time.
func Replicas(state []page.Point) (*plot.Plot, error) {
	unit, by := TimeUnit(length(state))
	p := newPlot("Replicas that are up", "time ("+unit+")", "replicas")
	addGrid(p)
	var s Series
	for _, point := range state {
		s.X, s.Y = append(s.X, point.At/by), append(s.Y, float64(point.Up))
	}
	err := addLine(p, 2, s)
	p.Y.Min = 0
	p.Y.Max++
	return p, err
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
	for j, piece := range pieces(downsample(points(&s))) {
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

// StepParts draws where the time of a decode step goes, for batches of several sizes. Batches that
// the KV memory has no room for are left out; the title says so where no batch remains.
func StepParts(parts []page.PartTime) (*plot.Plot, error) {
	p := newPlot("Where the time of a decode step goes", "sequences in the batch",
		"time of a step (ms)")
	p.Y.Min = 0
	batches, stack := stepStack(parts)
	ranked := func(_ int, name string) color.Color { return stackColour(page.Rank(name), name) }
	if len(batches) == 0 {
		p.Title.Text += "\nThe KV memory has no room for these batches"
	}
	if err := addStack(p, stack, ranked); err != nil {
		return nil, err
	}
	nominalX(p, batches)
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4
	leaveRoom(p, len(stack)+1)
	return p, nil
}

// addStack draws bars whose parts stand on each other. Shade returns the colour of a part by its
// place and name.
func addStack(p *plot.Plot, stack []Series, shade func(i int, name string) color.Color) error {
	var below *plotter.BarChart
	for i, part := range stack {
		if len(part.Y) == 0 {
			continue
		}
		bars, err := plotter.NewBarChart(plotter.Values(part.Y), vg.Points(40))
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = shade(i, part.Name), 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(part.Name, bars)
	}
	return nil
}

// stepStack returns sizes of batches that fit, and for each part of a step its time in milliseconds
// by size.
func stepStack(parts []page.PartTime) (batches []string, stack []Series) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(t page.PartTime) bool { return !t.Fits })
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
