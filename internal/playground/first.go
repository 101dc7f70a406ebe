package playground

import (
	"context"
	"encoding/json"
	"strings"
)

// First is what the page shows before the simulator of the browser runs: the scenario as it is
// shipped, from a moment at which requests decode. All of it is what the simulator itself returns.
type First struct {
	Options  json.RawMessage `json:"options"`
	Result   string          `json:"result"`
	Overview *Overview       `json:"overview"`
	// From is the time in milliseconds from which on there are frames.
	From   float64 `json:"from"`
	Frames []Frame `json:"frames"`
	// Steps are those that the first acts of the book's opening show, and the first picture of each
	// chapter that draws steps of a server.
	Steps []Answered `json:"steps"`
}

// Answered is a step of the scenario, with what the page asks for to have it: its ledger finds an
// answer by these fields in this order.
type Answered struct {
	Asked struct {
		Kind     string   `json:"kind"`
		Settings []string `json:"settings"`
		Prompts  []any    `json:"prompts"` // of numbers, or of Chunks
		Decodes  int      `json:"decodes"`
		Context  int      `json:"context"`
	} `json:"asked"`
	Answer *Step `json:"answer"`
}

// firstSteps are a prompt of 512 tokens, alone and beside an answer, and up to sixteen answers at
// once, for the opening, and what each chapter asks for first.
func firstSteps() (all []Answered, err error) {
	var servers Servers
	for _, s := range []struct {
		settings         string
		prompt           any
		decodes, context int
	}{
		{"", 512, 0, 512}, {"", 512, 1, 512}, {"", nil, 1, 512}, {"", nil, 2, 512},
		{"", nil, 4, 512}, {"", nil, 8, 512}, {"", nil, 16, 512},
		{"model=llama-3.1-8b hardware=h100-sxm", nil, 1, 1024},
		{"model=llama-3.1-8b hardware=h100-sxm hardware.bandwidth=3.35TB/s", nil, 1, 512},
		{"model=llama-3.1-8b hardware=h100-sxm", Chunk{New: 1024}, 0, 1024},
		{"model=llama-2-7b hardware=h100-sxm", nil, 32, 2048},
		{"model=llama-3.1-70b hardware=h100-sxm parallelism.tensor=4 " +
			"speculation.method=draft-model speculation.draft=llama-3.2-1b " +
			"speculation.tokens=4 speculation.acceptance=0.7", nil, 1, 512},
		{"model=llama-3.1-8b hardware=h100-sxm attention=naive", 6000, 0, 0},
		{"model=llama-3.1-8b hardware=h100-sxm attention=flash", 6000, 0, 0},
		{"model=llama-3.1-8b hardware=h100-sxm hardware.bandwidth=3.35TB/s " +
			"parallelism.tensor=2", nil, 1, 1024},
		{"model=qwen3-32b hardware=h200-sxm engine.weights=fp8", nil, 1, 1024},
		{"model=llama-3.1-8b hardware=desktop-50gbs", nil, 1, 512},
	} {
		var a Answered
		a.Asked.Kind, a.Asked.Prompts = "step", []any{}
		a.Asked.Settings = strings.Fields(s.settings)
		a.Asked.Decodes, a.Asked.Context = s.decodes, s.context
		var chunks []Chunk
		switch p := s.prompt.(type) {
		case int:
			a.Asked.Prompts, chunks = []any{p}, []Chunk{{New: p}}
		case Chunk:
			a.Asked.Prompts, chunks = []any{p}, []Chunk{p}
		}
		a.Answer, err = servers.Step(a.Asked.Settings, chunks, s.decodes, s.context)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// NewFirst simulates the scenario.
func NewFirst() (*First, error) {
	const from, frames = 2000, 120
	options, err := Choices()
	if err != nil {
		return nil, err
	}
	result, err := Result(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	overview, err := NewOverview(context.Background(), nil, nil)
	if err != nil {
		return nil, err
	}
	stage, err := NewStage(nil, nil)
	if err != nil {
		return nil, err
	}
	if err := stage.Skip(from); err != nil {
		return nil, err
	}
	first := &First{Options: options, Result: string(result), Overview: overview, From: from}
	if first.Frames, err = stage.Next(frames); err != nil {
		return nil, err
	}
	first.Steps, err = firstSteps()
	return first, err
}
