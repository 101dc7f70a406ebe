package plots

import (
	"errors"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// SaveRun draws a run into dir: how its latencies are distributed, its queue, batch, KV memory and
// replicas over time, and where the time of a decode step goes.
func (s Style) SaveRun(dir string, run *page.Run) error {
	pictures := map[string]*plot.Plot{}
	data, result := page.NewData(run), run.Result
	var errs [4]error
	pictures["latencies"], errs[0] = Latencies(data.Requests, sloLines(data.SLO))
	pictures["queue"], pictures["memory"], errs[1] = State(data.Series)
	pictures["steps"], errs[2] = StepParts(data.Parts)
	if page.Scales(data.Series) {
		pictures["replicas"], errs[3] = Replicas(data.Series)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
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

// sloLines returns the limits that there are.
func sloLines(l *page.Limits) (list []sloLine) {
	for i, at := range []float64{l.TPOT, l.TTFT, l.E2E} {
		if at > 0 {
			list = append(list, sloLine{i, at})
		}
	}
	return list
}

// Latencies draws the cumulative distributions of TTFT, TPOT and the whole request, and the limits
// of the SLO.
func Latencies(requests []page.Request, limits []sloLine) (*plot.Plot, error) {
	p := newChart("Latencies", "time", "requests that take at most as long (%)")
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"}, {Value: 0.25, Label: "25"}, {Value: 0.5, Label: "50"},
		{Value: 0.75, Label: "75"}, {Value: 1, Label: "100"},
	}
	p.X.Tick.Marker = logTimes{1}
	names := p.beside(9) // of curves where they end, and of limits
	name := func(curve int, at plotter.XY, words string) {
		names.add(at, words)
		names.colours = append(names.colours, colour(curve))
	}
	curves := latencyCurves(requests)
	for i, c := range curves {
		if c = c.on(true, false); len(c.X) > 0 {
			p.line("", downsample(points(&c)), stroke(i, 1.5), plotter.NoStep)
			name(i, plotter.XY{X: c.X[len(c.X)-1], Y: 1}, c.Name)
		}
	}
	for _, l := range limits {
		if len(curves[l.curve].X) > 0 { // an answer has a second token, say
			top := plotter.XY{X: math.Log10(l.at), Y: 1.08}
			p.line("", plotter.XYs{{X: top.X}, top}, draw.LineStyle{Color: colour(l.curve),
				Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(3)}},
				plotter.NoStep)
			name(l.curve, top, "SLO "+units.FormatDuration(l.at))
		}
	}
	p.Y.Min, p.Y.Max = 0, 1.15
	return p.done()
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
	batch := overTime("Batch and queue", "requests", state)
	batch.steps(0, running)
	batch.steps(1, waiting)
	roomForLegend(batch.Plot, 2)
	batch.Legend.XOffs = -4
	used := overTime("KV memory", "in use (%)", state)
	used.steps(0, kv)
	used.Y.Min, used.Y.Tick.Marker = 0, plainTicks{most: 100}
	if used.Y.Max > 50 { // the end of the memory is in sight
		used.Y.Max = 100
		used.limit(100, "all of the KV memory")
		roomForLegend(used.Plot, 1)
	}
	return batch.Plot, used.Plot, errors.Join(batch.err, used.err)
}

// timed is a chart whose horizontal axis is time.
type timed struct {
	*chart
	seconds float64 // of a unit of the axis
}

// overTime returns a chart over the times of points. The axis has the unit in which the last of
// them is short to write.
func overTime(title, y string, state []page.Point) timed {
	most := 0.0
	if len(state) > 0 {
		most = state[len(state)-1].At
	}
	unit, seconds := TimeUnit(most)
	return timed{newChart(title, "time ("+unit+")", y), seconds}
}

// steps draws values that stay until the next, by times in seconds.
func (c timed) steps(i int, s Series) {
	at := points(&s)
	for j := range at {
		at[j].X /= c.seconds
	}
	for j, piece := range pieces(downsample(at)) {
		name := ""
		if j == 0 {
			name = s.Name
		}
		c.line(name, piece, draw.LineStyle{Color: colour(i), Width: vg.Points(1)}, plotter.PostStep)
	}
}

// Replicas draws the number of replicas that serve, start or finish what they have, over time.
func Replicas(state []page.Point) (*plot.Plot, error) {
	p := overTime("Replicas that are up", "replicas", state)
	var s Series
	for _, point := range state {
		s.X, s.Y = append(s.X, point.At), append(s.Y, float64(point.Up))
	}
	p.steps(2, s)
	p.Y.Min = 0
	p.Y.Max++
	return p.done()
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

// StepParts draws where the time of a decode step goes, for batches of several sizes. Batches that
// the KV memory has no room for are left out; the title says so where no batch remains.
func StepParts(parts []page.PartTime) (*plot.Plot, error) {
	title := "Where the time of a decode step goes"
	batches, stack := stepStack(parts)
	if len(batches) == 0 {
		title += "\nThe KV memory has no room for these batches"
	}
	return stacked(title, "sequences in the batch", "time of a step (ms)", batches, stack,
		func(_ int, name string) color.Color { return stackColour(page.Rank(name), name) })
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
