package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// SLO is a service level objective. It has limits that a share of the requests must keep all at
// once, and limits of percentiles, which must each be kept by itself. A limit of zero is not set.
type SLO struct {
	TTFT       Limits  `json:"ttft,omitzero" jsonschema:"Longest time to first token."`
	TPOT       Limits  `json:"tpot,omitzero" jsonschema:"Longest mean time per output token, after the first token."`
	ITL        Limits  `json:"itl,omitzero" except:"request" jsonschema:"Longest gap between tokens, for percentiles of all gaps."`
	E2E        Limits  `json:"e2e,omitzero" jsonschema:"Longest time from request to last token."`
	Percentile float64 `json:"percentile,omitempty" above:"0" max:"100" jsonschema:"Share of the requests, in percent, that must keep all limits for single requests at once. Default: 99."`
}

// defaultSLO is the limit of MLPerf Inference 4.0 for Llama-2-70B in the server scenario: a time to
// first token of 2 s and 200 ms a token, each in 99 % of the requests.
func defaultSLO() SLO {
	return SLO{TTFT: Limits{Request: Span(2 * sim.Second)},
		TPOT: Limits{Request: Span(200 * sim.Millisecond)}, Percentile: 99}
}

// latencyLimits is the limits of one latency of an SLO, with its key.
type latencyLimits struct {
	key metrics.Latency
	*Limits
}

// each returns the limits of all latencies.
func (s *SLO) each() []latencyLimits {
	return []latencyLimits{{metrics.TTFT, &s.TTFT}, {metrics.TPOT, &s.TPOT}, {metrics.ITL, &s.ITL},
		{metrics.E2E, &s.E2E}}
}

// Joint reports whether there are limits for single requests, which requests must keep at once.
func (s SLO) Joint() bool { return s.TTFT.Request > 0 || s.TPOT.Request > 0 || s.E2E.Request > 0 }

// complete fills in the defaults of an SLO.
func (s *SLO) complete() {
	if *s == (SLO{Percentile: s.Percentile}) {
		percentile := s.Percentile
		*s = defaultSLO()
		s.Percentile = cmp.Or(percentile, s.Percentile)
	}
	if s.Joint() {
		s.Percentile = cmp.Or(s.Percentile, 99)
	}
}

// Complete returns the SLO with its defaults filled in.
func (s SLO) Complete() SLO {
	s.complete()
	return s
}

// limits returns the SLO in the form of package metrics. If there is no limit for single requests,
// the limits of the highest percentiles define which requests count for goodput.
func (s *SLO) limits() metrics.SLO {
	m := metrics.SLO{
		TTFT: sim.Time(s.TTFT.Request), TPOT: sim.Time(s.TPOT.Request),
		E2E: sim.Time(s.E2E.Request), Share: s.Percentile / 100,
	}
	if !s.Joint() {
		m.TTFT, m.TPOT, m.E2E = sim.Time(s.TTFT.Strictest()), sim.Time(s.TPOT.Strictest()),
			sim.Time(s.E2E.Strictest())
	}
	for _, l := range s.each() {
		for _, p := range l.percentiles() {
			if p.most > 0 {
				m.Percentiles = append(m.Percentiles,
					metrics.PercentileLimit{Latency: l.key, Percentile: p.percent,
						Most: sim.Time(p.most)})
			}
		}
	}
	return m
}

// WithoutGaps returns the SLO without limits of gaps, which are not kept by class.
func (s SLO) WithoutGaps() SLO {
	s.ITL = Limits{}
	return s
}

// Check calls problem for each contradiction in the SLO. Prefix is the place of the SLO in the
// scenario, such as "slo".
func (s *SLO) Check(prefix string, problem func(field, format string, args ...any)) {
	if s.ITL.Request > 0 {
		problem(prefix+".itl",
			"found %v for a request; gaps between tokens have percentiles, such as {p95: %v}",
			s.ITL.Request, s.ITL.Request)
	}
	if s.Percentile > 0 && !s.Joint() && *s != (SLO{Percentile: s.Percentile}) {
		problem(prefix+".percentile",
			"has no meaning where every limit is that of a percentile; leave it out, or give a "+
				"limit for requests, such as ttft: {request: 2s}")
	}
	for _, l := range s.each() {
		lower := percentileLimit{}
		for _, p := range l.percentiles() {
			if p.most == 0 {
				continue
			}
			if lower.most > p.most {
				problem(fmt.Sprintf("%s.%s.%s", prefix, l.key, lower.key),
					"found %v, but the limit of %v for %s is tighter and implies it; want less, "+
						"or leave it out",
					lower.most, p.most, p.key)
			}
			lower = p
		}
	}
}

// Words returns the SLO in words.
func (s SLO) Words() string {
	var parts []string
	if s.Joint() {
		parts = append(parts, fmt.Sprintf("in %.4g%% of the requests %s", s.Percentile,
			s.RequestWords()))
	}
	for _, l := range s.each() {
		for _, p := range l.percentiles() {
			if p.most > 0 {
				parts = append(parts, fmt.Sprintf("%s %s ≤ %v", p.key, l.name(), p.most))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// RequestWords lists the limits that requests must keep at once, such as "TTFT ≤ 2s and TPOT ≤
// 50ms".
func (s SLO) RequestWords() string {
	var list []string
	for _, l := range s.each() {
		if l.Request > 0 {
			list = append(list, fmt.Sprintf("%s ≤ %v", l.name(), l.Request))
		}
	}
	return strings.Join(list, " and ")
}

func (l *latencyLimits) name() string { return strings.ToUpper(string(l.key)) }

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

// Strictest returns the limit for single requests, or otherwise the limit of the highest
// percentile; 0 without one.
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
