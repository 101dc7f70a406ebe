package scenarios

import (
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// SLO is a service level objective: limits that a share of the requests must keep. Limits of zero are not set.
type SLO struct {
	TTFT       Span    `json:"ttft,omitempty" above:"0" jsonschema:"The longest time to first token."`
	TPOT       Span    `json:"tpot,omitempty" above:"0" jsonschema:"The longest mean time per output token after the first."`
	E2E        Span    `json:"e2e,omitempty" above:"0" jsonschema:"The longest time from request to last token."`
	Percentile float64 `json:"percentile,omitempty" above:"0" max:"100" jsonschema:"The share of requests, in percent, that must keep all limits. Default: 99."`
}

// Complete returns the SLO with its defaults filled in.
func (s SLO) Complete() SLO {
	s.complete()
	return s
}

// complete fills in what an SLO leaves open.
func (s *SLO) complete() {
	if *s == (SLO{}) || *s == (SLO{Percentile: s.Percentile}) {
		percentile := s.Percentile
		*s = defaultSLO()
		s.Percentile = orDefault(percentile, s.Percentile)
	}
	s.Percentile = orDefault(s.Percentile, 99)
}

// defaultSLO is the limit of MLPerf Inference 4.0 for Llama-2-70B in the server scenario: a time to first token of 2 s and 200 ms
// a token, each in 99 % of the requests.
func defaultSLO() SLO {
	return SLO{TTFT: Span(2 * sim.Second), TPOT: Span(200 * sim.Millisecond), Percentile: 99}
}

func (s *SLO) limits() metrics.SLO {
	return metrics.SLO{TTFT: sim.Time(s.TTFT), TPOT: sim.Time(s.TPOT), E2E: sim.Time(s.E2E), Share: s.Percentile / 100}
}
