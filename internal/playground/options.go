package playground

import (
	"encoding/json"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Options is what the page offers.
type Options struct {
	Version      string        `json:"version"`
	Models       []Model       `json:"models"`
	Accelerators []Accelerator `json:"accelerators"`
	Batching     []Batching    `json:"batching"`
}

// Model is one of the catalogue; Parameters is how many it has.
type Model struct {
	Name       string  `json:"name"`
	Parameters float64 `json:"parameters"`
}

// Accelerator is one of the catalogue: bytes, B/s and FLOP/s of BF16, 0 where it has no such rate,
// and dollars an hour.
type Accelerator struct {
	Name      string  `json:"name"`
	Title     string  `json:"title"`
	Memory    float64 `json:"memory"`
	Bandwidth float64 `json:"bandwidth"`
	Peak      float64 `json:"peak"`
	Price     float64 `json:"price"`
}

// Batching is a policy, and the names of its parameters that bound a batch in sequences and a step
// in tokens; empty without one.
type Batching struct {
	Name   string `json:"name"`
	Doc    string `json:"doc"`
	Limit  string `json:"limit"`
	Budget string `json:"budget"`
}

// Choices returns the options as JSON.
func Choices() ([]byte, error) {
	catalog, err := models.Load()
	if err != nil {
		return nil, err
	}
	devices, err := hardware.Load()
	if err != nil {
		return nil, err
	}
	o := Options{Version: scenarios.Version()}
	for _, m := range catalog.All() {
		o.Models = append(o.Models, Model{m.Name, float64(m.Parameters().Total())})
	}
	for _, a := range devices.Accelerators {
		o.Accelerators = append(o.Accelerators, Accelerator{a.Name, a.Title, a.Memory, a.Bandwidth,
			a.Peak[hardware.BF16], a.Price})
	}
	for _, p := range policies.Default().Batching.Policies {
		b := Batching{Name: p.Name, Doc: p.Doc}
		if limit := p.Param(policies.Sequences, policies.Requests); limit != nil {
			b.Limit = limit.Name
		}
		if budget := p.Param(policies.Tokens, policies.PromptTokens); budget != nil {
			b.Budget = budget.Name
		}
		o.Batching = append(o.Batching, b)
	}
	return json.Marshal(o)
}
