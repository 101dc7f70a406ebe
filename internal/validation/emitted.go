package validation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
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

// emitted returns the scenario of a row.
func (e *emission) emitted() (*Emitted, error) {
	own, result := *e.server, &Emitted{}
	switch {
	case e.sent == nil:
	case e.sent.law != nil:
		own.Workload = *e.sent.law
	default:
		own.Workload = scenarios.Workload{Trace: &scenarios.Trace{File: RequestsFile},
			Classes: []scenarios.Class{{Name: ofRow}, {Name: loadOnly}}}
		text, err := e.sent.trace()
		if err != nil {
			return nil, err
		}
		result.Trace = text
	}
	text, err := strict.Encode(own.scenario(), func(string) bool { return true })
	if e.figures != "" {
		text = slices.Concat([]byte("# "+e.figures+"\n"), text)
	}
	result.Scenario = text
	return result, err
}

// together returns the load of n equal requests that come at once. Where nothing decodes, output
// is 1.
func together(n, prompt, output int) scenarios.Workload {
	w := sent(int64(max(1, n)), fixed(max(1, prompt)), fixed(max(1, output)))
	w.Arrivals.Process = "at-once"
	return w
}

// ofStep returns the server of a row that is one step, under requests for which it takes such
// steps.
func (d *deployment) ofStep(s *sim.Step) emission {
	own := *d
	own.Workload = together(s.Decodes, int(s.Context)/max(1, s.Decodes), 2)
	if n := len(s.Prefill); n > 0 {
		own.Workload = together(n+s.Decodes, s.Prefill[0].New+s.Prefill[0].Cached, 2)
	}
	return emission{server: &own, figures: "The row is one step of this server: " + showStep(s)}
}

// showStep describes a step, with the command that shows it where there is one. FILE is the
// scenario's.
func showStep(s *sim.Step) string {
	n, text := len(s.Prefill), loadOf(s)
	switch {
	case n > 0 && s.Decodes > 0:
		return describeStep(s)
	case n == 1 && s.Prefill[0].Cached == 0:
		text += fmt.Sprintf(" (llmsim roofline FILE --prompt %d)", s.Prefill[0].New)
	case n == 0 && s.Context > int64(s.Decodes):
		text += fmt.Sprintf(" (llmsim roofline FILE --batch %d --context %d)", s.Decodes,
			s.Context/int64(s.Decodes)-1)
	}
	return text
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

// loadOf describes a step.
func loadOf(s *sim.Step) string {
	if s.Decodes > 0 {
		return fmt.Sprintf("batch %d at %d tokens", s.Decodes, s.Context/int64(s.Decodes))
	}
	if n := len(s.Prefill); n > 1 || s.Prefill[0].Cached > 0 {
		return fmt.Sprintf("batch %d of %d tokens after %d", n, s.Prefill[0].New,
			s.Prefill[0].Cached)
	}
	return fmt.Sprintf("%d tokens", s.Prefill[0].New)
}

// describeStep describes a step by its sums.
func describeStep(s *sim.Step) string {
	tokens := 0
	for i := range s.Prefill {
		tokens += s.Prefill[i].New
	}
	return fmt.Sprintf("%d prompt tokens, %d sequences", tokens, s.Decodes)
}

// prefill returns the step that computes n chunks of the given length after cached tokens.
func prefill(n, tokens, cached int) *sim.Step {
	s := &sim.Step{}
	for range n {
		s.Prefill = append(s.Prefill, sim.Chunk{New: tokens, Cached: cached, Last: true})
	}
	return s
}

// decode returns the step in which n sequences attend to the given number of tokens each.
func decode(n, context int) *sim.Step {
	return &sim.Step{Decodes: n, DecodeTokens: n, Context: int64(n) * int64(context)}
}
