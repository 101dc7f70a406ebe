package waterfall

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/report/life"
	"github.com/llmsim/llmsim/sim"
)

// Document is waterfalls as JSON. Times are in milliseconds from the arrival of the request, and
// exact: the parts of a request add up to its e2el_ms, and so do its totals.
type Document struct {
	Waterfalls []document `json:"waterfalls"`
}

type document struct {
	Name         string  `json:"name,omitempty"`
	Request      int64   `json:"request"`
	PromptTokens int     `json:"prompt_tokens"`
	OutputTokens int     `json:"output_tokens"`
	CachedTokens int     `json:"cached_tokens"`
	Replica      int     `json:"replica"`
	Preemptions  int     `json:"preemptions"`
	Retries      int     `json:"retries"`
	Arrival      millis  `json:"arrival_ms"` // from the beginning of the run
	TTFT         millis  `json:"ttft_ms"`
	E2E          millis  `json:"e2el_ms"`
	Totals       []total `json:"totals"`
	Parts        []part  `json:"parts"`
}

type total struct {
	Kind  string  `json:"kind"`
	Span  millis  `json:"ms"`
	Share float64 `json:"share"`
	Parts int     `json:"parts"`
	Steps int64   `json:"steps"`
}

type part struct {
	Kind    string `json:"kind"`
	From    millis `json:"from_ms"`
	Span    millis `json:"ms"`
	Replica int    `json:"replica"`
	Steps   int64  `json:"steps"`
	Tokens  int    `json:"tokens"`
}

// millis is a time that is written in milliseconds with all its digits.
type millis sim.Time

// MarshalJSON implements json.Marshaler.
func (m millis) MarshalJSON() ([]byte, error) {
	unit := int64(sim.Millisecond)
	text := fmt.Sprintf("%d.%08d", int64(m)/unit, int64(m)%unit)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// NewDocument returns waterfalls as a document.
func NewDocument(all []Waterfall) Document {
	var d Document
	for _, w := range all {
		d.Waterfalls = append(d.Waterfalls, w.document())
	}
	return d
}

func (w *Waterfall) document() document {
	d := document{Name: w.Name, Request: w.ID, PromptTokens: w.Prompt, OutputTokens: w.Output,
		CachedTokens: w.Cached, Replica: w.Replica, Preemptions: w.Preemptions, Retries: w.Retries,
		Arrival: millis(w.Arrival), TTFT: millis(w.TTFT()), E2E: millis(w.E2E())}
	for _, t := range w.Totals() {
		d.Totals = append(d.Totals, total{t.Kind.String(), millis(t.Span), share(t, w.Life),
			t.Parts, t.Steps})
	}
	for i := range w.Parts {
		p := &w.Parts[i]
		d.Parts = append(d.Parts, part{p.Kind.String(), millis(p.From - w.Arrival),
			millis(p.Span()), p.Replica, p.Steps, p.Tokens})
	}
	return d
}

// share returns what part of the latency of l is of a kind, in [0, 1].
func share(t life.Total, l *life.Life) float64 {
	return float64(t.Span) / float64(max(1, l.E2E()))
}
