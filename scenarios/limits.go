package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/scenarios/strict"
)

// Limits holds the limits of one latency, for single requests and for percentiles.
type Limits struct {
	Request Span `json:"request,omitempty" short:"true" above:"0" jsonschema:"Limit for a single request; see slo.percentile."`
	P50     Span `json:"p50,omitempty" above:"0" jsonschema:"Limit for this percentile."`
	P90     Span `json:"p90,omitempty" above:"0" jsonschema:"Limit for this percentile."`
	P95     Span `json:"p95,omitempty" above:"0" jsonschema:"Limit for this percentile."`
	P99     Span `json:"p99,omitempty" above:"0" jsonschema:"Limit for this percentile."`
}

// percentileLimit is the limit of a percentile, in (0, 100), with its key.
type percentileLimit struct {
	key     string
	percent float64
	most    Span
}

// percentiles returns the limits of percentiles, the lowest first.
func (l *Limits) percentiles() []percentileLimit {
	return []percentileLimit{{"p50", 50, l.P50}, {"p90", 90, l.P90}, {"p95", 95, l.P95},
		{"p99", 99, l.P99}}
}

// Strictest returns the limit for single requests, or else that of the highest percentile; 0 if
// there is none.
func (l Limits) Strictest() Span {
	limit := Span(0)
	for _, p := range l.percentiles() {
		limit = cmp.Or(p.most, limit)
	}
	return cmp.Or(l.Request, limit)
}

// Scaled returns the limits times a factor.
func (l Limits) Scaled(by float64) Limits {
	for _, limit := range []*Span{&l.Request, &l.P50, &l.P90, &l.P95, &l.P99} {
		*limit = Span(float64(*limit) * by)
	}
	return l
}

// MarshalJSON writes the limits as a scenario does: a limit for single requests alone is written
// without a mapping.
func (l Limits) MarshalJSON() ([]byte, error) {
	plain, err := strict.Plain(l)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// Words returns the limits in words, such as "≤ 2s, p50 ≤ 300ms".
func (l Limits) Words() string {
	var parts []string
	if l.Request > 0 {
		parts = append(parts, fmt.Sprintf("≤ %v", l.Request))
	}
	for _, p := range l.percentiles() {
		if p.most > 0 {
			parts = append(parts, fmt.Sprintf("%s ≤ %v", p.key, p.most))
		}
	}
	return strings.Join(parts, ", ")
}
