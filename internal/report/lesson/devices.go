// Package lesson shows two lessons with their numbers. Devices holds measured rates of one user on
// many machines against the two laws: tokens written a second are bandwidth over bytes read, tokens
// of prompts read a second are FLOP/s over FLOP. Drafts shows speculative sampling on a vocabulary
// of six words: the law of the target and of the drafter, the coin, what is drawn after a
// rejection, and that the words that come out obey the target's law. Its algorithms are the
// engine's.
package lesson

import (
	_ "embed"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// measured cites single figures of GPU-Benchmarks-on-LLM-Inference: llama.cpp, one user, 512 tokens
// from an empty context, and a prompt of 512 (rows of Llama-2: 512 to 1,024 tokens are written).
// FLOP/s are of 16-bit formats with sums in fp32, as in the catalogue.
//
//go:embed measured.csv
var measured string

// Source says where the measured rates are from.
const Source = "llama.cpp, one user, some 512 tokens from an empty context, prompts of 512: " +
	"XiongjieDai/GPU-Benchmarks-on-LLM-Inference, commit 00dd2bde"

// Device is a machine that serves one user.
type Device struct {
	Device string `json:"device"`
	Model  string `json:"model"`
	// Weights is the number format of the weights.
	Weights string `json:"weights"`
	// Bandwidth is in B/s, Bytes what is read for a token; Peak is in FLOP/s, FLOPs what is
	// computed for a token of a prompt.
	Bandwidth float64 `json:"bandwidth"`
	Bytes     float64 `json:"bytes_per_token"`
	Peak      float64 `json:"peak_flops"`
	FLOPs     float64 `json:"flops_per_prompt_token"`
	Decode    Rate    `json:"decode"`
	Prefill   Rate    `json:"prefill"`
}

// Rate is tokens a second: as the law has it, Bandwidth over Bytes or Peak over FLOPs, as measured,
// and as predicted, 0 where the catalogue does not have the machine.
type Rate struct {
	Law       float64 `json:"law"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted,omitempty"`
}

const (
	// meanContext is the mean context of generating 512 tokens from an empty context.
	meanContext = 256
	// prompt is the length of the prompts.
	prompt = 512
)

// Devices returns the machines.
func Devices() ([]Device, error) {
	catalog, err := models.Load()
	if err != nil {
		return nil, err
	}
	measurements, err := files.ReadTable[measurement]("measured.csv", []byte(measured))
	if err != nil {
		return nil, err
	}
	var list []Device
	for i := range measurements {
		r, err := newDevice(catalog, &measurements[i])
		if err != nil {
			return nil, fmt.Errorf("measured.csv: %s: %w", measurements[i].Device, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// measurement is a row of measured.csv. Catalogue names the machine in the catalogue, if it has it;
// bandwidth is in GB/s, the peak in TFLOP/s, rates in tokens/s.
type measurement struct {
	Device          string  `csv:"device"`
	Catalogue       string  `csv:"catalogue"`
	Bandwidth       float64 `csv:"bandwidth_gb_s"`
	BandwidthSource string  `csv:"bandwidth_source"`
	Peak            float64 `csv:"tflops"`
	PeakSource      string  `csv:"tflops_source"`
	Model           string  `csv:"model"`
	Weights         string  `csv:"weights"`
	Decode          float64 `csv:"tokens_per_s"`
	Prefill         float64 `csv:"prompt_tokens_per_s"`
}

// newDevice holds a measurement beside the laws and the prediction.
func newDevice(catalog *models.Catalog, m *measurement) (Device, error) {
	r := Device{Device: m.Device, Weights: m.Weights, Bandwidth: 1e9 * m.Bandwidth,
		Peak: 1e12 * m.Peak, Decode: Rate{Measured: m.Decode}, Prefill: Rate{Measured: m.Prefill}}
	model, err := catalog.Lookup(m.Model)
	if err != nil {
		return r, err
	}
	r.Model = model.Name
	weights := hardware.DType(r.Weights)
	if weights == "f16" {
		weights = hardware.FP16
	}
	r.Bytes = float64(model.StreamedBytes(weights))
	r.FLOPs, err = flops(model.Name)
	if err != nil {
		return r, err
	}
	r.Decode.Law, r.Prefill.Law = r.Bandwidth/r.Bytes, r.Peak/r.FLOPs
	if m.Catalogue == "" {
		return r, nil
	}
	clock, err := clockOf(model.Name, m.Catalogue, string(weights))
	if err != nil {
		return r, err
	}
	r.Decode.Predicted = 1 / clock.Duration(&sim.Step{Decodes: 1, DecodeTokens: 1,
		Context: meanContext}).Seconds()
	r.Prefill.Predicted = prompt / clock.Duration(promptStep()).Seconds()
	return r, nil
}

func promptStep() *sim.Step { return &sim.Step{Prefill: []sim.Chunk{{New: prompt, Last: true}}} }

// flops returns what a model computes for a token of a prompt. It does not depend on the machine.
func flops(model string) (float64, error) {
	clock, err := clockOf(model, "a100-80gb-pcie", "q4_0")
	if err != nil {
		return 0, err
	}
	return clock.Work(promptStep()).FLOPs / prompt, nil
}

// clockOf predicts the steps of llama.cpp.
func clockOf(model, accelerator, weights string) (*steptime.Clock, error) {
	file, err := scenarios.Describe(model, accelerator, "engine.preset=llama.cpp",
		"engine.weights="+weights)
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return nil, err
	}
	return steps.Clock, nil
}

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
