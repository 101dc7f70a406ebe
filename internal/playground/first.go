package playground

import (
	"context"
	"encoding/json"
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
	// Steps are the steps of the server that the first acts of the book's opening show.
	Steps []Answered `json:"steps"`
}

// Answered is a step of the scenario, with what the page asks for to have it: its ledger finds an
// answer by these fields in this order.
type Answered struct {
	Asked struct {
		Kind     string   `json:"kind"`
		Settings []string `json:"settings"`
		Prompts  []int    `json:"prompts"`
		Decodes  int      `json:"decodes"`
		Context  int      `json:"context"`
	} `json:"asked"`
	Answer *Step `json:"answer"`
}

// openingSteps returns the steps of the opening: a prompt of 512 tokens, alone and beside an
// answer, and up to sixteen answers at once.
func openingSteps() (all []Answered, err error) {
	var servers Servers
	for _, s := range []struct{ prompt, decodes int }{{512, 0}, {512, 1}, {0, 1}, {0, 2}, {0, 4},
		{0, 8}, {0, 16}} {
		var a Answered
		a.Asked.Kind, a.Asked.Settings, a.Asked.Prompts = "step", []string{}, []int{}
		a.Asked.Decodes, a.Asked.Context = s.decodes, 512
		var chunks []Chunk
		if s.prompt > 0 {
			a.Asked.Prompts = []int{s.prompt}
			chunks = []Chunk{{New: s.prompt}}
		}
		if a.Answer, err = servers.Step(nil, chunks, s.decodes, 512); err != nil {
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
	first.Steps, err = openingSteps()
	return first, err
}
