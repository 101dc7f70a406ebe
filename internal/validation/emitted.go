package validation

import (
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Emitted is the scenario by which a row is predicted. Trace is the file RequestsFile beside it,
// and nil where the scenario draws its requests.
type Emitted struct{ Scenario, Trace []byte }

// RequestsFile is the name of the file of requests beside an emitted scenario.
const RequestsFile = "requests.csv"

// Classes of an emitted trace: requests of the row, and requests that only load the server.
const (
	ofRow    = "row"
	loadOnly = "load"
)

// emitted returns the server as a scenario under its own load, or with requests that are sent.
func (d *deployment) emitted(sent *sending) (*Emitted, error) {
	own, result := *d, &Emitted{}
	switch {
	case sent == nil:
	case sent.law != nil:
		own.Workload = *sent.law
	default:
		own.Workload = scenarios.Workload{Trace: &scenarios.Trace{File: RequestsFile},
			Classes: []scenarios.Class{{Name: ofRow}, {Name: loadOnly}}}
		text, err := sent.trace()
		if err != nil {
			return nil, err
		}
		result.Trace = text
	}
	text, err := strict.Encode(own.scenario(policies.Default()), func(string) bool { return true })
	result.Scenario = text
	return result, err
}

// traced is a request in llmsim's own format of traces. Prompts that share all of their tokens have
// the same prefix.
type traced struct {
	Arrival      float64 `csv:"arrival_s" format:"%.11f"`
	Prompt       int     `csv:"prompt_tokens"`
	Output       int     `csv:"output_tokens"`
	Class        string  `csv:"class"`
	Prefix       uint64  `csv:"prefix,optional"`
	PrefixTokens int     `csv:"prefix_tokens,optional"`
}

// trace returns the requests as a file. Where a prompt has several parts in common with others,
// only the last part counts: prompts that share it are the same.
func (s *sending) trace() ([]byte, error) {
	var rows []traced
	for i := range s.requests {
		r := &s.requests[i]
		row := traced{Arrival: r.Arrival.Seconds(), Prompt: r.Prompt, Output: r.Output,
			Class: loadOnly}
		if s.counts(r.Arrival) {
			row.Class = ofRow
		}
		for _, part := range r.Content {
			row.Prefix, row.PrefixTokens = part.ID, row.PrefixTokens+part.Tokens
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	err := files.WriteTable(&b, rows)
	return []byte(b.String()), err
}
