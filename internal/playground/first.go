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
	first.Frames, err = stage.Next(frames)
	return first, err
}
