package devices

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/units"
)

// Write prints the machines as a table, and what it shows.
func Write(out io.Writer, rows []Row) error {
	p := report.NewPrinter(out)
	p.Heading("One user on many machines: decoding is bound by memory bandwidth")
	p.Gap()
	var cells [][]string
	least, most := math.Inf(1), 0.0
	for i := range rows {
		r := &rows[i]
		predicted := "–"
		if r.Predicted > 0 {
			predicted = report.Figure(r.Predicted)
		}
		cells = append(cells, []string{
			r.Device, r.Model, r.Weights, units.FormatByteRate(r.Bandwidth), report.Figure(r.Law),
			report.Figure(r.Measured),
			report.Percent(r.Measured / r.Law), predicted,
		})
		least, most = min(least, r.Measured/r.Law), max(most, r.Measured/r.Law)
	}
	p.Table([]string{"machine", "model", "weights", "bandwidth", "law", "measured", "of law",
		"predicted"}, cells, 0, 1, 2)
	p.Gap()
	p.Text(fmt.Sprintf("The law is bandwidth over the bytes that a token reads, in tokens/s: "+
		"every weight once. The machines reach %s to %s of it, "+
		"least where the kernels for 4 bits are at fault, as on the A100. A prediction is shown "+
		"for machines of the catalogue.", report.Percent(least), report.Percent(most)))
	p.Text("Measured with " + Source + ".")
	return p.Err()
}

// Plot draws measured and predicted rates against the law, on logarithmic axes.
func Plot(rows []Row) (*plot.Plot, error) {
	a := plots.Accuracy{
		Title: "One user on many machines: decoding is bound by memory bandwidth", Unit: "tokens/s",
		X: "bandwidth / bytes read for a token (tokens/s)", Y: "tokens/s of one user",
		Diagonal: "the law: all of the bandwidth",
	}
	series := map[bool]*plots.AccuracySeries{false: {Name: "measured, 4 bits"},
		true: {Name: "measured, 16 bits"}}
	predicted := plots.AccuracySeries{Name: "predicted", Colour: color.Gray{0x30}, Hollow: true}
	for i := range rows {
		r := &rows[i]
		s := series[r.Weights == "f16"]
		s.Measured, s.Predicted = append(s.Measured, r.Law), append(s.Predicted, r.Measured)
		s.Labels = append(s.Labels, r.Device)
		if r.Predicted > 0 {
			predicted.Measured, predicted.Predicted = append(predicted.Measured, r.Law),
				append(predicted.Predicted, r.Predicted)
		}
	}
	a.Series = []plots.AccuracySeries{*series[false], *series[true], predicted}
	return a.Draw()
}
