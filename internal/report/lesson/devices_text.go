package lesson

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/units"
)

// phase is one of the two halves of serving, and what bounds it.
type phase struct {
	title, law, axis, diagonal, amount, words string

	resource func(*Device) string
	rate     func(*Device) *Rate
}

func decoding() phase {
	return phase{
		title: "One user on many machines: decoding is bound by memory bandwidth",
		law: "The law is bandwidth over the bytes that a token reads, in tokens/s: every weight " +
			"once.",
		axis: "bandwidth / bytes read for a token (tokens/s)", amount: "GB/s",
		diagonal: "the law: all of the bandwidth", words: "tokens/s of one user",
		resource: func(r *Device) string { return units.Figure(r.Bandwidth / 1e9) },
		rate:     func(r *Device) *Rate { return &r.Decode },
	}
}

func prompts() phase {
	return phase{
		title: "Prompts on many machines: prefill is bound by arithmetic",
		law: "The law is FLOP/s over the FLOP of a token of the prompt: two for each weight, and " +
			"attention.",
		axis: "FLOP/s / FLOP for a token of a prompt (tokens/s)", amount: "TFLOP/s",
		diagonal: "the law: all of the FLOP/s", words: "tokens/s of a prompt",
		resource: func(r *Device) string { return units.Figure(r.Peak / 1e12) },
		rate:     func(r *Device) *Rate { return &r.Prefill },
	}
}

// DeviceBlocks shows the machines as two tables, and what they show.
func DeviceBlocks(rows []Device) (p doc.Blocks) {
	decode, prefill := decoding(), prompts()
	for _, h := range []*phase{&decode, &prefill} {
		h.add(&p, rows)
		p.Gap()
	}
	p.Text("Weights of 4 bits are read four times as fast as weights of 16 bits, but the " +
		"arithmetic is the same. So they move a point to the right in the first table only. The " +
		"A100 is farthest from the law of decoding, because of its kernels for 4 bits.")
	if words := farthest(rows); words != "" {
		p.Text(words)
	}
	p.Text("Measured with " + Source + ". A prediction is shown for machines of the catalogue.")
	return p
}

// farthest names the prediction that is farthest from what was measured.
func farthest(rows []Device) string {
	words, worst := "", 0.0
	for i := range rows {
		for what, rate := range map[string]*Rate{"tokens": &rows[i].Decode,
			"prompts": &rows[i].Prefill} {
			if off := math.Abs(math.Log(rate.Predicted / rate.Measured)); rate.Predicted > 0 &&
				off > worst {
				worst = off
				words = fmt.Sprintf("The largest error is that of %s on %s, %s in %s: the "+
					"prediction is %s/s, and %s/s were "+
					"measured.", what, rows[i].Device, rows[i].Model,
					rows[i].Weights, units.Figure(rate.Predicted), units.Figure(rate.Measured))
			}
		}
	}
	return words
}

func (h *phase) add(p *doc.Blocks, rows []Device) {
	p.Heading(h.title)
	p.Gap()
	var cells [][]string
	least, most := math.Inf(1), 0.0
	for i := range rows {
		r := &rows[i]
		rate := h.rate(r)
		predicted := "–"
		if rate.Predicted > 0 {
			predicted = units.Figure(rate.Predicted)
		}
		cells = append(cells, []string{
			r.Device, r.Model, r.Weights, h.resource(r), units.Figure(rate.Law),
			units.Figure(rate.Measured), units.Percent(rate.Measured / rate.Law), predicted,
		})
		least, most = min(least, rate.Measured/rate.Law), max(most, rate.Measured/rate.Law)
	}
	p.Table([]string{"machine", "model", "weights", h.amount, "law", "measured", "of law",
		"predicted"}, cells, 0, 1, 2)
	p.Gap()
	p.Text(fmt.Sprintf("%s The machines reach %s to %s of it.", h.law, units.Percent(least),
		units.Percent(most)))
}

// DevicePictures draws measured and predicted rates against the laws, on logarithmic axes: devices
// and devices-prompts.
func DevicePictures(rows []Device) (map[string]*plot.Plot, error) {
	decode, prefill := decoding(), prompts()
	pictures := map[string]*plot.Plot{}
	for name, h := range map[string]*phase{"devices": &decode, "devices-prompts": &prefill} {
		p, err := h.plot(rows)
		if err != nil {
			return nil, err
		}
		pictures[name] = p
	}
	return pictures, nil
}

func (h *phase) plot(rows []Device) (*plot.Plot, error) {
	a := plots.Accuracy{Title: h.title, Unit: "tokens/s", X: h.axis, Y: h.words,
		Diagonal: h.diagonal}
	series := map[bool]*plots.AccuracySeries{false: {Name: "measured, 4 bits"},
		true: {Name: "measured, 16 bits"}}
	predicted := plots.AccuracySeries{Name: "predicted", Colour: color.Gray{0x30}, Hollow: true}
	for i := range rows {
		r, rate := &rows[i], h.rate(&rows[i])
		s := series[r.Weights == "f16"]
		s.Measured, s.Predicted = append(s.Measured, rate.Law), append(s.Predicted, rate.Measured)
		s.Labels = append(s.Labels, r.Device)
		if rate.Predicted > 0 {
			predicted.Measured, predicted.Predicted = append(predicted.Measured, rate.Law),
				append(predicted.Predicted, rate.Predicted)
		}
	}
	a.Series = []plots.AccuracySeries{*series[false], *series[true], predicted}
	return a.Draw()
}
