// Package playground is what a page in a browser asks of the simulator: a scenario's result, its
// YAML, its steps one by one, and what there is to choose from. It reads no files, and all it
// returns is JSON or text.
package playground

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Name is the shipped scenario that settings change.
const Name = "playground"

// Load returns the scenario with settings of the form key.path=value, as --set takes them, and with
// the accelerator that settings of the page change (see tuned).
func Load(settings []string) (*scenarios.File, error) {
	text, err := scenarios.ReadShipped(Name)
	if err != nil {
		return nil, err
	}
	settings, tune, err := tuned(settings)
	if err != nil {
		return nil, err
	}
	file, err := scenarios.Parse(Name, text, settings...)
	if err == nil {
		file.FS, file.Tune = embed.FS{}, tune // there are no files
	}
	return file, err
}

// Result runs the scenario with settings of the form key.path=value, and returns what the command
//
//	llmsim scenario playground --set … --format json --no-interval
//
// prints, byte by byte. Settings that begin with Training describe a training run.
func Result(ctx context.Context, settings []string) ([]byte, error) {
	if len(settings) > 0 && settings[0] == Training {
		return train(settings[1:])
	}
	file, err := Load(settings)
	if err != nil {
		return nil, err
	}
	return ResultOf(ctx, file)
}

// ResultOf returns the same of any scenario.
func ResultOf(ctx context.Context, file *scenarios.File) ([]byte, error) {
	result, err := file.Run(ctx, policies.Default())
	if err != nil {
		return nil, err
	}
	return encode(diagnosis.NewDocument(result))
}

// encode returns what commands print with --format json. The program for browsers has no package
// report, whose renderers are large.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return out.Bytes(), err
}

// YAML returns a scenario file that says the same as the settings.
func YAML(settings []string) ([]byte, error) {
	file, err := Load(settings)
	if err != nil {
		return nil, err
	}
	if file.Tune != nil {
		return nil, errNoSuchHardware
	}
	return strict.Encode(file.Scenario, func(string) bool { return true })
}
