// Package plots draws results for print: one style, colours that colour-blind readers can tell
// apart, units on every axis.
package plots

import (
	"bytes"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/llmsim/llmsim/internal/files"
)

// Colours of Okabe and Ito, "Color Universal Design" (2008), without the yellow that is too light
// for lines.
func colours() []color.Color {
	return []color.Color{
		color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
		color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermillion
		color.RGBA{0x00, 0x9e, 0x73, 0xff}, // bluish green
		color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
		color.RGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
		color.RGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
		color.RGBA{0x33, 0x33, 0x33, 0xff}, // near black
	}
}

func colour(i int) color.Color {
	all := colours()
	return all[i%len(all)]
}

// dashes tell lines apart without colour.
func dashes(i int) []vg.Length {
	all := [][]vg.Length{nil, {vg.Points(5), vg.Points(2)}, {vg.Points(1.5), vg.Points(1.5)},
		{vg.Points(6), vg.Points(2), vg.Points(1.5), vg.Points(2)}}
	return all[i%len(all)]
}

// shapes are told apart without colour.
func shapes() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
		draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{},
	}
}

// shape returns the shape of series i. Colours repeat after as many series as there are shapes;
// then each has another shape.
func shape(i int) draw.GlyphDrawer {
	all := shapes()
	return all[(i+i/len(colours()))%len(all)]
}

// Width and Height fit half a page, and a projector.
const (
	Width  = 18 * vg.Centimeter
	Height = 11.5 * vg.Centimeter
	dpi    = 200 // of PNG
)

// newPlot returns an empty plot in the common style. Axis labels have their unit.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.BackgroundColor = color.White
	p.Title.TextStyle.Font.Size = 12
	p.Title.Padding = 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size = 10
		axis.Tick.Label.Font.Size = 9
		axis.Label.Padding = 4
		axis.Tick.Marker = plainTicks{}
	}
	p.Legend.TextStyle.Font.Size = 9
	p.Legend.Padding = 3
	p.Legend.ThumbnailWidth = 14
	for _, style := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		style.Variant = "Sans"
	}
	return p
}

// plainTicks are gonum's, with numbers as people write them: 2500 and not 2500.00. Labels have six
// digits, or as many as it takes for neighbours to differ.
type plainTicks struct{}

// Ticks implements plot.Ticker.
func (plainTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for digits := 6; digits <= 17; digits++ {
		if labelled(ticks, digits) {
			break
		}
	}
	return ticks
}

// labelled labels the major ticks with a number of digits, and reports whether neighbours differ.
func labelled(ticks []plot.Tick, digits int) bool {
	last, differ := "", true
	for i := range ticks {
		if ticks[i].Label == "" {
			continue
		}
		ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', digits, 64)
		differ = differ && ticks[i].Label != last
		last = ticks[i].Label
	}
	return differ
}

// Logarithmic axes hold the decimal logarithms of their values: with gonum's own logarithmic scale
// the room for an axis label is reckoned off centre, and the picture shrinks.

// logXY returns a point on logarithmic axes. Both values are positive.
func logXY(x, y float64) plotter.XY { return plotter.XY{X: math.Log10(x), Y: math.Log10(y)} }

// logTicks marks powers of ten with plain numbers, and their multiples without, as far as the
// powers are labels enough: over less than two decades 2 and 5 times a power are labelled too, over
// less than half a decade all multiples.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(low); e <= math.Ceil(high); e++ {
		for m := 1.0; m < 10; m++ {
			tick := plot.Tick{Value: e + math.Log10(m)}
			if tick.Value < low || tick.Value > high {
				continue
			}
			if m == 1 || (m == 2 || m == 5) && high-low < 2 || high-low < 0.5 {
				tick.Label = strconv.FormatFloat(m*math.Pow(10, e), 'g', 12, 64)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// logarithmic makes both axes logarithmic, for points made by logXY.
func logarithmic(p *plot.Plot) { p.X.Tick.Marker, p.Y.Tick.Marker = logTicks{}, logTicks{} }

// addGrid draws a grid that stays behind the data and the legend.
func addGrid(p *plot.Plot) {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
}

// margin is left free around a picture.
const margin = 3 * vg.Millimeter

// Save draws p and writes it as name.svg and name.png into dir, which is made if needed. Nothing is
// written unless both can be drawn.
func Save(dir, name string, p *plot.Plot) error {
	vector, pixels := vgsvg.New(Width, Height), vgimg.NewWith(vgimg.UseWH(Width, Height),
		vgimg.UseDPI(dpi))
	drawn := map[string]*bytes.Buffer{"svg": {}, "png": {}}
	p.Draw(draw.Crop(draw.New(vector), margin, -margin, margin, -margin))
	if _, err := vector.WriteTo(drawn["svg"]); err != nil {
		return err
	}
	p.BackgroundColor = nil // pixels are white already, and painting them takes time
	p.Draw(draw.Crop(draw.New(pixels), margin, -margin, margin, -margin))
	if err := writePNG(drawn["png"], pixels); err != nil {
		return err
	}
	for format, picture := range drawn {
		err := files.Write(filepath.Join(dir, name+"."+format), func(w io.Writer) error {
			_, err := picture.WriteTo(w)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
