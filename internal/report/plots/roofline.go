package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/units"
)

const tera = 1e12

// Roofline draws the roof, each step as a large mark and its operators as small ones of the same
// colour.
func Roofline(r *report.Roofline) (*plot.Plot, error) {
	p := newLogarithmic(fmt.Sprintf("%s on %s", r.Model, r.Accelerator),
		"arithmetic intensity (FLOP for each byte moved)", "rate reached (TFLOP/s)")
	p.Legend.XOffs = -4
	low, high := r.Span()
	addRoof(p, r, low, high)
	names, named := p.beside(7), map[string]bool{}
	for i := range r.Steps {
		addStep(p, &r.Steps[i], i)
		// Of each phase, the operators of one step are named: of others they lie in the same order.
		if s := &r.Steps[i]; s.Fits && !named[s.Phase] && (s.Phase != "decode" || s.Tokens > 1) {
			named[s.Phase] = true
			for _, o := range s.Operators {
				if o.Placed() {
					names.add(logXY(o.Intensity, o.Rate/tera), o.Name)
				}
			}
		}
	}
	p.Y.Min, p.Y.Max = math.Log10(low*r.Bandwidth/tera/10), math.Log10(2*r.Peak/tera)
	return p.done()
}

func addRoof(p *chart, r *report.Roofline, low, high float64) {
	// The line of the ridge ends above the legend.
	ridge := p.line("", plotter.XYs{logXY(r.Ridge, r.Peak/tera/15), logXY(r.Ridge, r.Peak/tera)},
		draw.LineStyle{Color: color.Gray{0x80}, Width: vg.Points(1),
			Dashes: []vg.Length{vg.Points(3), vg.Points(3)}}, plotter.NoStep)
	p.line(fmt.Sprintf("roof: %s, %s", units.FormatByteRate(r.Bandwidth),
		units.FormatFLOPRate(r.Peak)), plotter.XYs{logXY(low, low*r.Bandwidth/tera),
		logXY(r.Ridge, r.Peak/tera), logXY(high, r.Peak/tera)},
		draw.LineStyle{Color: color.Black, Width: vg.Points(2)}, plotter.NoStep)
	p.Legend.Add(fmt.Sprintf("ridge: %.0f FLOP for each byte", r.Ridge), ridge)
}

func addStep(p *chart, s *report.RooflineStep, i int) {
	small := make(plotter.XYs, 0, len(s.Operators))
	for _, o := range s.Operators {
		if o.Placed() {
			small = append(small, logXY(o.Intensity, o.Rate/tera))
		}
	}
	style := draw.GlyphStyle{Color: colour(i), Radius: vg.Points(5), Shape: shape(i)}
	words := fmt.Sprintf("prefill of %d tokens", s.Tokens)
	if s.Phase == "decode" {
		words = fmt.Sprintf("decode, batch %d", s.Tokens)
	}
	if !s.Fits {
		words += " (does not fit)"
		style.Color = color.Gray{0xb8}
	}
	operator := style
	operator.Radius = vg.Points(2)
	p.marks("", small, operator)
	p.marks(words, plotter.XYs{logXY(s.Intensity, s.Rate/tera)}, style)
}
