// Package lesson shows two lessons with their numbers. Devices holds measured rates of one user on
// many machines against the two laws: tokens written a second are bandwidth over bytes read, tokens
// of prompts read a second are FLOP/s over FLOP. Drafts shows speculative sampling on a vocabulary
// of six words: the law of the target and of the drafter, the coin, what is drawn after a
// rejection, and that the words that come out obey the target's law. Its algorithms are the
// engine's.
package lesson

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
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
	// meanContext is that of generating 512 tokens from an empty context.
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
	records, err := csv.NewReader(strings.NewReader(measured)).ReadAll()
	if err != nil {
		return nil, err
	}
	var list []Device
	for _, record := range records[1:] {
		r, err := newRow(catalog, record)
		if err != nil {
			return nil, fmt.Errorf("measured.csv: %v: %w", record, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// newRow reads a record of measured.csv.
func newRow(catalog *models.Catalog, record []string) (Device, error) {
	r := Device{Device: record[0], Weights: record[7]}
	model, err := catalog.Lookup(record[6])
	for column, to := range map[int]*float64{2: &r.Bandwidth, 4: &r.Peak, 8: &r.Decode.Measured,
		9: &r.Prefill.Measured} {
		value, failed := strconv.ParseFloat(record[column], 64)
		*to, err = value, errors.Join(err, failed)
	}
	if err != nil {
		return r, err
	}
	r.Model, r.Bandwidth, r.Peak = model.Name, 1e9*r.Bandwidth, 1e12*r.Peak
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
	if record[1] == "" {
		return r, nil
	}
	clock, err := clockOf(model.Name, record[1], string(weights))
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
