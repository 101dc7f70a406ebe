// Package plots draws results for print: one style, colours that colour-blind readers can tell
// apart, units on every axis.
package plots

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
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

// shape returns the shape of series i. Colours repeat when each shape has had a series; then each
// has another shape.
func shape(i int) draw.GlyphDrawer {
	all := shapes()
	return all[(i+i/len(colours()))%len(all)]
}

// Style is what a picture is made for.
type Style string

// Styles of pictures: half a page of print, and a slide of 16:9, on which letters are larger.
const (
	Print Style = "print"
	Slide Style = "slide"
)

// size returns the width and height of a picture, and the dots of an inch in a PNG. Letters have
// the same size in points, so that they are larger on a smaller picture.
func (s Style) size() (width, height vg.Length, dpi int) {
	if s == Slide {
		return 14.4 * vg.Centimeter, 8.1 * vg.Centimeter, 339 // 1,920 dots wide
	}
	return 18 * vg.Centimeter, 11.5 * vg.Centimeter, 200
}

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

// Logarithmic axes hold the decimal logarithms of their values: with gonum's own logarithmic scale
// the room for an axis label is reckoned off centre, and the picture shrinks.

// logXY returns a point on logarithmic axes. Both values are positive.
func logXY(x, y float64) plotter.XY { return plotter.XY{X: math.Log10(x), Y: math.Log10(y)} }

// newLogarithmic returns a chart whose axes are both logarithmic, for points made by logXY.
func newLogarithmic(title, x, y string) *chart {
	c := newChart(title, x, y)
	c.X.Tick.Marker, c.Y.Tick.Marker = logTicks{}, logTicks{}
	return c
}

// chart is a plot that is made layer by layer. After a layer that cannot be drawn, err says why,
// and the chart is of no more use.
type chart struct {
	*plot.Plot
	err error
}

// newChart returns an empty chart in the common style, with a grid that stays behind the data and
// the legend. Axis labels have their unit.
func newChart(title, x, y string) *chart {
	c := &chart{Plot: newPlot(title, x, y)}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	c.Add(grid)
	return c
}

// done returns the plot of a chart, or why a layer cannot be drawn.
func (c *chart) done() (*plot.Plot, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.Plot, nil
}

// legend places the legend at the top, on the left or the right.
func (c *chart) legend(left bool) {
	c.Legend.Top, c.Legend.Left, c.Legend.XOffs = true, left, -4
	if left {
		c.Legend.XOffs = 4
	}
}

// finite returns the points with finite coordinates, which logarithms of 0 do not have.
func finite(at plotter.XYs) plotter.XYs {
	return slices.DeleteFunc(slices.Clone(at), func(xy plotter.XY) bool {
		return plotter.CheckFloats(xy.X, xy.Y) != nil
	})
}

// marks draws points that are in the coordinates of the axes, and adds them to the legend under a
// name that is not empty. Without a finite point it adds nothing.
func (c *chart) marks(name string, at plotter.XYs, style draw.GlyphStyle) {
	if at = finite(at); len(at) == 0 {
		return
	}
	marks := &plotter.Scatter{XYs: at, GlyphStyle: style}
	c.Add(marks)
	if name != "" {
		c.Legend.Add(name, marks)
	}
}

// line draws a line through points that are in the coordinates of the axes, and adds it to the
// legend under a name that is not empty. Without points it adds nothing, and returns nil.
func (c *chart) line(name string, at plotter.XYs, style draw.LineStyle,
	step plotter.StepKind) *plotter.Line {
	if len(at) == 0 {
		return nil
	}
	line, err := plotter.NewLine(at)
	if err != nil {
		c.err = errors.Join(c.err, err)
		return nil
	}
	line.LineStyle, line.StepStyle = style, step
	c.Add(line)
	if name != "" {
		c.Legend.Add(name, line)
	}
	return line
}

// stroke is the style of line i, of a width in points, that is told apart without colour.
func stroke(i int, width float64) draw.LineStyle {
	return draw.LineStyle{Color: colour(i), Width: vg.Points(width), Dashes: dashes(i)}
}

// nominalX writes names at 0, 1, 2, … of the horizontal axis; without names the axis is hidden.
func nominalX(p *plot.Plot, names []string) {
	if len(names) == 0 {
		p.HideX()
		return
	}
	p.NominalX(names...)
}

// fontFamily is what an SVG names for its letters. Arial and Helvetica are as wide.
const fontFamily = "font-family:Liberation Sans"

// margin is left free around a picture.
const margin = 3 * vg.Millimeter

// breakLines breaks words into lines of at most a width.
func breakLines(words *string, style text.Style, width vg.Length) {
	var lines []string
	for line := range strings.SplitSeq(*words, "\n") {
		current := ""
		for word := range strings.FieldsSeq(line) {
			longer := strings.TrimLeft(current+" "+word, " ")
			if current != "" && style.Width(longer) > width {
				lines = append(lines, current)
				longer = word
			}
			current = longer
		}
		lines = append(lines, current)
	}
	*words = strings.Join(lines, "\n")
}

// SVG draws p for a page, as an element of it.
func SVG(p *plot.Plot) (string, error) {
	text, err := Print.vector(p)
	if err != nil {
		return "", err
	}
	return text.String()[strings.Index(text.String(), "<svg"):], nil
}

// vector draws p as an SVG file. Its title and the label of its vertical axis are broken to fit,
// the title also where a browser has wider letters only, which begin at the same place.
func (s Style) vector(p *plot.Plot) (*bytes.Buffer, error) {
	width, height, _ := s.size()
	breakLines(&p.Title.Text, p.Title.TextStyle, 0.7*width) // other letters are a fifth wider
	breakLines(&p.Y.Label.Text, p.Y.Label.TextStyle, height-8*margin)
	canvas, text := vgsvg.New(width, height), new(bytes.Buffer)
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	if _, err := canvas.WriteTo(text); err != nil {
		return nil, err
	}
	return bytes.NewBuffer(bytes.ReplaceAll(text.Bytes(), []byte(fontFamily+";"),
		[]byte(fontFamily+",Arial,Helvetica,sans-serif;"))), nil
}

// Save draws p for print, as Style.Save does.
func Save(dir, name string, p *plot.Plot) error { return Print.Save(dir, name, p) }

// Save draws p and writes it as name.svg and name.png into dir, which is made if needed. Nothing is
// written unless both can be drawn.
func (s Style) Save(dir, name string, p *plot.Plot) error {
	vector, err := s.vector(p)
	if err != nil {
		return err
	}
	width, height, dpi := s.size()
	pixels := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	drawn := map[string]*bytes.Buffer{"svg": vector, "png": {}}
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

// writePNG writes a picture. Pictures have few colours, so that most are written with a palette: a
// third of the size, in a fifth of the time.
func writePNG(w io.Writer, canvas *vgimg.Canvas) error {
	picture := canvas.Image()
	if full, ok := picture.(*image.RGBA); ok {
		if few := indexed(full); few != nil {
			picture = few
		}
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	return encoder.Encode(w, picture)
}

// indexed returns an opaque picture with at most 256 colours of 5 bits a channel, nil if it has
// more.
func indexed(full *image.RGBA) *image.Paletted {
	few := image.NewPaletted(full.Rect, nil)
	// the place of a colour in the palette, and 1; 0 where it is not in it
	var known [1 << 15]uint16
	for i := range few.Pix {
		r, g, b := full.Pix[4*i]>>3, full.Pix[4*i+1]>>3, full.Pix[4*i+2]>>3
		place := &known[int(r)<<10|int(g)<<5|int(b)]
		if *place == 0 {
			if len(few.Palette) == 256 {
				return nil
			}
			few.Palette = append(few.Palette, color.RGBA{r<<3 | r>>2, g<<3 | g>>2, b<<3 | b>>2,
				0xff})
			*place = uint16(len(few.Palette))
		}
		few.Pix[i] = byte(*place - 1)
	}
	return few
}
