package scenarios

import "github.com/llmsim/llmsim/sim"

// What a scenario gets that says nothing about its load.
const (
	defaultRate     PerSecond = 1
	defaultRequests int64     = 1000
)

func defaultPrompt() Length {
	return Length{Distribution: "normal", Mean: 500, Std: 200, Min: 2, Max: 2000}
}

func defaultOutput() Length {
	return Length{Distribution: "normal", Mean: 250, Std: 100, Min: 2, Max: 1000}
}

// defaultSLO is the limit of MLPerf Inference 4.0 for Llama-2-70B in the server scenario: a time to first token of 2 s and 200 ms
// a token, each in 99 % of the requests.
func defaultSLO() SLO {
	return SLO{TTFT: Span(2 * sim.Second), TPOT: Span(200 * sim.Millisecond), Percentile: 99}
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

// complete fills in what a distribution leaves open; longest bounds it where nothing else does. A default length takes at most
// half of the context, so that a default prompt and a default output fit together.
func (l *Length) complete(otherwise Length, longest int) {
	if *l == (Length{}) {
		*l = otherwise
		l.Max = max(1, min(l.Max, longest/2))
		l.Min = min(l.Min, l.Max)
	}
	if l.Distribution != "" && l.Distribution != "fixed" && l.Distribution != "empirical" {
		l.Min, l.Max = orDefault(l.Min, 1), orDefault(l.Max, longest)
	}
}

// complete fills in what the rate leaves open.
func (r *Rate) complete() {
	switch r.Pattern {
	case "", "steady":
		r.Value = orDefault(r.Value, defaultRate)
	case "wave":
		r.Period = orDefault(r.Period, Span(24*60*60*sim.Second))
	}
}

// Complete returns the SLO with its defaults filled in.
func (s SLO) Complete() SLO {
	s.complete()
	return s
}
