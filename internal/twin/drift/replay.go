package drift

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"text/tabwriter"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

//go:embed page.html
var layout string

// Replay is a run with its requests, measured and predicted.
type Replay struct {
	Name  string     `json:"name"`
	Pairs []fit.Pair `json:"requests"`
}

// Simulate runs what was observed through the twin, with the factors that its scenario has.
func Simulate(ctx context.Context, server *fit.Server, o *observed.Observed) ([]Replay, error) {
	var list []Replay
	for i := range o.Runs {
		pairs, err := server.Compare(ctx, scenarios.Factors{}, &o.Runs[i])
		if err != nil {
			return nil, err
		}
		if len(pairs) > 0 {
			list = append(list, Replay{o.Runs[i].Name, pairs})
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

// row is a line of a table.
type row struct {
	Name, Mean, P50, P90, P99 string
}

// section is what the page shows of a run.
type section struct {
	Name     string
	Count    int
	Rows     []row
	Pictures []template.HTML
	Worst    []worst
}

// worst is a request whose latency is far from what was predicted.
type worst struct{ At, Prompt, Output, Measured, Predicted, Ratio string }

// mostWorst is the number of requests that a page lists, mostPoints the number of points of a
// curve.
const (
	mostWorst  = 20
	mostPoints = 100
)

// WriteReplayPage writes the page.
func WriteReplayPage(w io.Writer, title string, runs []Replay) error {
	t, err := template.New("replay").Parse(layout)
	if err != nil {
		return err
	}
	view := struct {
		Title    string
		Sections []section
	}{Title: title}
	for i := range runs {
		s, err := newSection(&runs[i])
		if err != nil {
			return err
		}
		view.Sections = append(view.Sections, s)
	}
	return t.Execute(w, view)
}

// WriteReplay prints by how much predictions are off: measured / predicted, of each run.
func WriteReplay(w io.Writer, runs []Replay) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "run\tlatency\tmean\tp50\tp90\tp99")
	for i := range runs {
		for _, q := range quantities() {
			measured, predicted := sortedValues(runs[i].Pairs, q)
			if len(measured) > 0 {
				r := compared(q.name, measured, predicted)
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", runs[i].Name, r.Name, r.Mean, r.P50,
					r.P90, r.P99)
			}
		}
	}
	return table.Flush()
}

func newSection(r *Replay) (section, error) {
	s := section{Name: r.Name, Count: len(r.Pairs)}
	for _, q := range quantities() {
		measured, predicted := sortedValues(r.Pairs, q)
		if len(measured) == 0 {
			continue
		}
		s.Rows = append(s.Rows, compared(q.name, measured, predicted))
		p, err := (&plots.Curves{Title: q.name, X: q.name + " (s)", Y: "requests (%)",
			Series: []plots.Series{cumulative("measured", measured),
				cumulative("predicted", predicted)}, Percent: true}).Draw()
		if err != nil {
			return s, err
		}
		picture, err := svg(p)
		if err != nil {
			return s, err
		}
		s.Pictures = append(s.Pictures, picture)
	}
	s.Worst = worstOf(r.Pairs)
	return s, nil
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

func compared(name string, measured, predicted []float64) row {
	words := func(of func(list []float64) float64) string {
		m, p := of(measured), of(predicted)
		return fmt.Sprintf("%s / %s (%+.1f %%)", units.FormatDuration(m), units.FormatDuration(p),
			100*(p/m-1))
	}
	at := func(p float64) func(list []float64) float64 {
		return func(list []float64) float64 { return list[int(p*float64(len(list)-1)+0.5)] }
	}
	return row{Name: name, P50: words(at(0.5)), P90: words(at(0.9)), P99: words(at(0.99)),
		Mean: words(func(list []float64) float64 {
			sum := 0.0
			for _, v := range list {
				sum += v
			}
			return sum / float64(len(list))
		})}
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

func svg(p *plot.Plot) (template.HTML, error) {
	c := vgsvg.New(14*vg.Centimeter, 9*vg.Centimeter)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	text := b.Bytes()
	if i := bytes.Index(text, []byte("<svg")); i > 0 {
		text = text[i:]
	}
	return template.HTML(text), nil
}

// worstOf lists the requests whose E2E latency, or else TTFT, differs most from the predicted one.
func worstOf(pairs []fit.Pair) []worst {
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
	var made []worst
	for _, o := range list[:min(len(list), mostWorst)] {
		made = append(made, worst{units.FormatDuration(o.pair.At), fmt.Sprint(o.pair.Prompt),
			fmt.Sprint(o.pair.Output), units.FormatDuration(o.both[0]),
			units.FormatDuration(o.both[1]), fmt.Sprintf("%.2f", o.ratio)})
	}
	return made
}
