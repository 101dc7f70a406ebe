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

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
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
