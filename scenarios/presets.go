package scenarios

import (
	_ "embed"

	"github.com/llmsim/llmsim/scenarios/strict"
)

//go:embed presets.yaml
var shippedPresets []byte

// Preset describes the requests of a common kind.
type Preset struct {
	Name     string    `json:"name" required:"true"`
	Source   string    `json:"source" required:"true"`
	Prompt   Length    `json:"prompt" required:"true"`
	Output   Length    `json:"output" required:"true"`
	Prefix   *Prefix   `json:"prefix,omitempty"`
	Sessions *Sessions `json:"sessions,omitempty"`
}

// Presets lists the values of workload.preset.
func Presets() ([]Preset, error) {
	var list struct {
		Presets []Preset `json:"presets" required:"true"`
	}
	doc, err := strict.Parse("presets.yaml", shippedPresets)
	if err == nil {
		err = doc.Decode(&list)
	}
	return list.Presets, err
}

// preset returns the requests of the given kind, with the keys that are given in their place.
func (d *demand) preset(field, name string, given Class) Class {
	if name == "" {
		return given
	}
	presets, err := Presets()
	if err != nil {
		d.problem(field, "%v", err)
	}
	for _, p := range presets {
		if p.Name != name {
			continue
		}
		if given.Prompt == (Length{}) {
			given.Prompt = p.Prompt
		}
		if given.Output == (Length{}) {
			given.Output = p.Output
		}
		if given.Prefix == nil {
			given.Prefix = p.Prefix
		}
		if given.Sessions == nil && given.Distinct == 0 {
			given.Sessions = p.Sessions
		}
		return given
	}
	return given // the name is one of the enumeration of the key
}
