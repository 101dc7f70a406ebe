package clients

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// perfConfig is the part of inference-perf's configuration that decides the load
// (kubernetes-sigs/inference-perf, config.yml and examples/vllm).
type perfConfig struct {
	Load struct {
		Type   string      `yaml:"type"`
		Stages []perfStage `yaml:"stages"`
		// Rest takes the keys that change no arrival.
		Rest map[string]any `yaml:",inline"`
	} `yaml:"load"`
	Data struct {
		Type   string         `yaml:"type"`
		Input  map[string]any `yaml:"input_distribution"`
		Output map[string]any `yaml:"output_distribution"`
		Shared map[string]any `yaml:"shared_prefix"`
		Rest   map[string]any `yaml:",inline"`
	} `yaml:"data"`
}

// perfStage is a stretch of the load: a rate for a time, or a number of requests in flight.
type perfStage struct {
	Rate        any            `yaml:"rate"`
	Duration    any            `yaml:"duration"`
	Requests    any            `yaml:"num_requests"`
	Concurrency any            `yaml:"concurrency_level"`
	Rest        map[string]any `yaml:",inline"`
}

// FindPerf reads the configuration of inference-perf in a text, a load for each stage; nothing
// without one.
func FindPerf(text string) ([]*Load, error) {
	var part strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		words := strings.TrimSpace(line)
		if words != "" && strings.TrimLeft(line, " -\t") == line { // a key of the top
			inside = words == "load:" || words == "data:"
		}
		if inside {
			part.WriteString(line)
		}
	}
	if !strings.Contains(part.String(), "stages:") {
		return nil, nil
	}
	var c perfConfig
	if err := files.DecodeYAML([]byte(part.String()), &c); err != nil {
		return nil, fmt.Errorf("inference-perf's load and data: %w", err)
	}
	var list []*Load
	for _, s := range c.Load.Stages[:min(len(c.Load.Stages), 20)] {
		l := &Load{Tool: "inference-perf", Terms: map[string]string{"pattern": c.Load.Type}}
		for term, value := range map[string]any{"rate": s.Rate, "duration": s.Duration,
			"requests": s.Requests, "concurrency": s.Concurrency,
			"input": c.Data.Input["mean"], "output": c.Data.Output["mean"]} {
			l.take(term, value)
		}
		for term, of := range map[string]map[string]any{"input-std": c.Data.Input,
			"output-std": c.Data.Output} {
			l.take(term, of["std"])
			l.take(term, of["std_dev"])
		}
		for term, key := range map[string]string{"groups": "num_groups",
			"prefix": "system_prompt_len", "input": "question_len", "output": "output_len"} {
			l.take(term, c.Data.Shared[key])
		}
		if strings.EqualFold(c.Data.Type, "shareGPT") {
			l.Terms["dataset"] = "sharegpt"
			l.dataset(&tool{})
		}
		list = append(list, l)
	}
	return list, nil
}

// take sets a term to a number; a distribution in its place is left out.
func (l *Load) take(term string, value any) {
	switch value.(type) {
	case int, float64:
		l.Terms[term] = fmt.Sprint(value)
	}
}
