package drift

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Replay is a run with its requests, measured and predicted.
type Replay struct {
	Name  string     `json:"name"`
	Pairs []fit.Pair `json:"requests"`
	// Spread is how far predictions of the server may be off.
	Spread evidence.Spread `json:"spread"`
}

// Simulate runs what was observed through the twin, with the factors that its scenario has.
func Simulate(ctx context.Context, server *fit.Server, o *observed.Observed) ([]Replay, error) {
	known, err := server.Evidence()
	if err != nil {
		return nil, err
	}
	var list []Replay
	for i := range o.Runs {
		pairs, err := server.Compare(ctx, scenarios.Factors{}, &o.Runs[i])
		if err != nil {
			return nil, err
		}
		if len(pairs) > 0 {
			list = append(list, Replay{o.Runs[i].Name, pairs, known.Spread})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("nothing to replay: no run has requests or intervals with latencies")
	}
	return list, nil
}

// quantity is a latency of a pair.
type quantity struct {
	name string
	of   func(p *fit.Pair) [2]float64
}

func quantities() []quantity {
	return []quantity{
		{"TTFT", func(p *fit.Pair) [2]float64 { return p.TTFT }},
		{"TPOT", func(p *fit.Pair) [2]float64 { return p.TPOT }},
		{"E2E", func(p *fit.Pair) [2]float64 { return p.E2E }},
	}
}

// mostWorst is the number of requests that a page lists, mostPoints the number of points of a
// curve.
const (
	mostWorst  = 20
	mostPoints = 100
)

// WriteReplayPage writes the page of runs: how far predictions are off, the distributions of each
// latency, and the requests that are farthest from their prediction.
func WriteReplayPage(w io.Writer, title string, runs []Replay) error {
	var p doc.Blocks
	p.Text("Observed requests, and what the twin predicts for the same requests: measured / " +
		"predicted, and by how much the prediction is off.")
	for i := range runs {
		r := &runs[i]
		p.Heading(r.Name)
		p.Text(fmt.Sprintf("%d requests or intervals.", len(r.Pairs)))
		rows, pictures, err := r.latencies()
		if err != nil {
			return err
		}
		p.Table([]string{"latency", "mean", "p50", "p90", "p99", "80 % range of p99"}, rows, 0)
		for _, picture := range pictures {
			p.Picture(picture)
		}
		if far := worstOf(r.Pairs); len(far) > 0 {
			p.Text("Farthest from their prediction:")
			p.Table([]string{"sent at", "prompt", "answer", "measured", "predicted", "ratio"}, far)
		}
	}
	return p.Page(w, title)
}

// WriteReplay prints by how much predictions are off: measured / predicted, of each run.
func WriteReplay(w io.Writer, runs []Replay) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "run\tlatency\tmean\tp50\tp90\tp99\t80 % range of p99")
	for i := range runs {
		for _, q := range quantities() {
			measured, predicted := sortedValues(runs[i].Pairs, q)
			if len(measured) > 0 {
				fmt.Fprintln(table, runs[i].Name+"\t"+
					strings.Join(runs[i].compared(q.name, measured, predicted), "\t"))
			}
		}
	}
	return table.Flush()
}

// latencies returns a row and a picture for each latency that was measured and predicted.
func (r *Replay) latencies() (rows [][]string, pictures []string, err error) {
	for _, q := range quantities() {
		measured, predicted := sortedValues(r.Pairs, q)
		if len(measured) == 0 {
			continue
		}
		rows = append(rows, r.compared(q.name, measured, predicted))
		p, err := (&plots.Curves{Title: q.name, X: q.name + " (s)", Y: "requests (%)",
			Series: []plots.Series{cumulative("measured", measured),
				cumulative("predicted", predicted)}, Percent: true}).Draw()
		if err != nil {
			return nil, nil, err
		}
		picture, err := svg(p)
		if err != nil {
			return nil, nil, err
		}
		pictures = append(pictures, picture)
	}
	return rows, pictures, nil
}

// sortedValues returns the measured and the predicted values, each in order of size.
func sortedValues(pairs []fit.Pair, q quantity) (measured, predicted []float64) {
	for i := range pairs {
		if both := q.of(&pairs[i]); both[0] > 0 && both[1] > 0 {
			measured, predicted = append(measured, both[0]), append(predicted, both[1])
		}
	}
	slices.Sort(measured)
	slices.Sort(predicted)
	return measured, predicted
}

// compared is a row of a table: a latency's mean, p50, p90 and p99, and the range in which the
// measured p99 is in four of five cases.
func (r *Replay) compared(name string, measured, predicted []float64) []string {
	row := []string{name}
	add := func(m, p float64) {
		row = append(row, fmt.Sprintf("%s / %s (%+.1f %%)", units.FormatDuration(m),
			units.FormatDuration(p), 100*(p/m-1)))
	}
	n := len(measured)
	var m, p float64
	for i := range n {
		m, p = m+measured[i], p+predicted[i]
	}
	add(m/float64(n), p/float64(n))
	for _, q := range []float64{0.5, 0.9, 0.99} {
		i := int(q*float64(n-1) + 0.5)
		add(measured[i], predicted[i])
	}
	off, p99 := r.Spread.Of(name, 0.99), predicted[int(0.99*float64(n-1)+0.5)]
	return append(row, units.FormatDuration(p99*math.Exp(off.Bias-off.Within))+" to "+
		units.FormatDuration(p99*math.Exp(off.Bias+off.Within)))
}

// cumulative returns the share of values up to each value.
func cumulative(name string, values []float64) plots.Series {
	s := plots.Series{Name: name}
	n := min(len(values), mostPoints)
	for k := range n {
		i := (k+1)*len(values)/n - 1 // the last point is the largest value
		s.X = append(s.X, values[i])
		s.Y = append(s.Y, 100*float64(i+1)/float64(len(values)))
	}
	return s
}

func svg(p *plot.Plot) (string, error) {
	c := vgsvg.New(14*vg.Centimeter, 9*vg.Centimeter)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	text := b.String()
	return text[max(0, strings.Index(text, "<svg")):], nil
}

// worstOf lists the requests whose E2E latency, or else TTFT, differs most from the predicted one.
func worstOf(pairs []fit.Pair) (rows [][]string) {
	type off struct {
		pair  *fit.Pair
		both  [2]float64
		ratio float64
	}
	var list []off
	for i := range pairs {
		p := &pairs[i]
		both := p.E2E
		if both[0] == 0 {
			both = p.TTFT
		}
		if both[0] > 0 && both[1] > 0 {
			list = append(list, off{p, both, both[0] / both[1]})
		}
	}
	far := func(o *off) float64 { return max(o.ratio, 1/o.ratio) }
	slices.SortStableFunc(list, func(a, b off) int { return cmp.Compare(far(&b), far(&a)) })
	for _, o := range list[:min(len(list), mostWorst)] {
		rows = append(rows, []string{units.FormatDuration(o.pair.At), fmt.Sprint(o.pair.Prompt),
			fmt.Sprint(o.pair.Output), units.FormatDuration(o.both[0]),
			units.FormatDuration(o.both[1]), fmt.Sprintf("%.2f", o.ratio)})
	}
	return rows
}
