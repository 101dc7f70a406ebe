// Package devices holds measured rates of one user on many machines against the law of decoding:
// tokens a second are bandwidth over bytes read.
package devices

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// measured cites single figures of GPU-Benchmarks-on-LLM-Inference: llama.cpp, one user, 512 tokens
// from an empty context (rows of Llama-2: 512 to 1,024 tokens).
//
//go:embed measured.csv
var measured string

// Source says where the measured rates are from.
const Source = "llama.cpp, one user, some 512 tokens from an empty context: " +
	"XiongjieDai/GPU-Benchmarks-on-LLM-Inference, commit 00dd2bde"

// Row is a machine that decodes for one user.
type Row struct {
	Device string `json:"device"`
	Model  string `json:"model"`
	// Weights is the number format of the weights.
	Weights string `json:"weights"`
	// Bandwidth is in B/s, Bytes what is read for a token.
	Bandwidth float64 `json:"bandwidth"`
	Bytes     float64 `json:"bytes_per_token"`
	// Law is Bandwidth over Bytes; Measured and Predicted are rates too, in tokens a second.
	// Predicted is 0 where the catalogue does not have the machine.
	Law       float64 `json:"law"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted,omitempty"`
}

// meanContext is that of generating 512 tokens from an empty context.
const meanContext = 256

// Rows returns the machines.
func Rows() ([]Row, error) {
	catalog, err := models.Load()
	if err != nil {
		return nil, err
	}
	records, err := csv.NewReader(strings.NewReader(measured)).ReadAll()
	if err != nil {
		return nil, err
	}
	var list []Row
	for _, record := range records[1:] {
		bandwidth, err1 := strconv.ParseFloat(record[2], 64)
		rate, err2 := strconv.ParseFloat(record[6], 64)
		model, err3 := catalog.Lookup(record[4])
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, fmt.Errorf("measured.csv: %v: %v, %v, %v", record, err1, err2, err3)
		}
		r := Row{Device: record[0], Model: model.Name, Weights: record[5],
			Bandwidth: 1e9 * bandwidth, Measured: rate}
		weights := hardware.DType(r.Weights)
		if weights == "f16" {
			weights = hardware.FP16
		}
		r.Bytes = float64(model.StreamedBytes(weights))
		r.Law = r.Bandwidth / r.Bytes
		if record[1] != "" {
			if r.Predicted, err = predict(model.Name, record[1], string(weights)); err != nil {
				return nil, err
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// predict returns the rate of one user in tokens a second.
func predict(model, accelerator, weights string) (float64, error) {
	file, err := scenarios.Describe(model, accelerator, "engine.preset=llama.cpp",
		"engine.weights="+weights)
	if err != nil {
		return 0, err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return 0, err
	}
	return 1 / steps.Clock.Duration(&sim.Step{Decodes: 1, DecodeTokens: 1,
		Context: meanContext}).Seconds(), nil
}
