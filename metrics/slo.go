package metrics

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// SLO is a service level objective. It has limits that a share of the requests must keep all at
// once, and limits of percentiles, each of which must be kept by itself.
type SLO struct {
	// TTFT, TPOT and E2E are the limits for a single request; 0 means no limit.
	TTFT, TPOT, E2E sim.Time
	// Share is the share of the requests that must keep all these limits, in (0, 1]. If it is 0, no
	// share is required, and the limits only define goodput.
	Share float64
	// Percentiles holds the limits of percentiles.
	Percentiles []PercentileLimit
}

// PercentileLimit is a limit of a percentile of a latency. Requests that ended before the latency
// was over count as slower than any other: for TTFT and TPOT those without a first token, and for
// E2E those without a whole answer.
type PercentileLimit struct {
	Latency    Latency
	Percentile float64 // in (0, 100)
	Most       sim.Time
}

// Latency is a kind of latency that an SLO limits.
type Latency string

// Kinds of latency. ITL is the gap between two tokens; the others are latencies of requests.
const (
	TTFT Latency = "ttft"
	TPOT Latency = "tpot"
	ITL  Latency = "itl"
	E2E  Latency = "e2e"
)

// None reports whether s has no limit.
func (s SLO) None() bool {
	return s.TTFT == 0 && s.TPOT == 0 && s.E2E == 0 &&
		len(s.Percentiles) == 0
}

// verdict says which limits a request kept.
type verdict struct{ ttft, tpot, e2e bool }

func (v verdict) all() bool { return v.ttft && v.tpot && v.e2e }

// judge says which limits a request kept that finished or was cut. A user who leaves in the middle
// of an answer has had its first token, and others at a pace; only the whole answer is missing.
func (s *SLO) judge(q *sim.Sequence, cut bool) verdict {
	return verdict{
		ttft: s.TTFT == 0 || q.TTFT() <= s.TTFT,
		tpot: s.TPOT == 0 || q.TPOT() <= s.TPOT,
		e2e:  s.E2E == 0 || !cut && q.E2E() <= s.E2E,
	}
}

// Kept reports whether a request that finished, or that Cut returned, kept every limit for single
// requests.
func (s SLO) Kept(q *sim.Sequence, cut bool) bool { return s.judge(q, cut).all() }

// Cut returns a request that ended without its last token as one whose answer has only the tokens
// that its user had. It reports false if there were none, or if another reason than the user's
// leaving ended it.
func Cut(s *sim.Sequence, why sim.Rejection) (part sim.Sequence, cut bool) {
	if why != sim.Cancelled || s.Answered == 0 {
		return part, false
	}
	part = *s
	part.Output, part.LastToken = s.Answered, max(s.FirstToken, s.LastToken)
	return part, true
}

// LimitResult says how well one limit of an SLO was kept.
type LimitResult struct {
	Latency Latency `json:"latency"`
	// Percentile is the share of the requests that must keep the limit, in percent.
	Percentile float64 `json:"percentile" jsonschema:"share in percent that must keep the limit; of arrived requests, or of gaps of admitted requests"`
	// Joint reports whether the requests must keep other limits at the same time.
	Joint bool `json:"joint"`
	// Limit is the limit, and Measured the percentile of the answered requests, both in
	// milliseconds.
	Limit    float64 `json:"limit_ms" jsonschema:"the limit; of arrived requests"`
	Measured float64 `json:"measured_ms,omitzero" jsonschema:"the percentile; of begun requests"`
	// Within is the share of all requests, or of all gaps, that keeps the limit, in [0, 1].
	Within float64 `json:"within" jsonschema:"share that keeps the limit; of arrived requests, or of gaps of admitted requests"`
	Met    bool    `json:"met"`
}

// Name names the limit, such as "p99 TTFT".
func (l *LimitResult) Name() string {
	return fmt.Sprintf("p%g %s", l.Percentile, strings.ToUpper(string(l.Latency)))
}

// Used returns the measured percentile as a share of the limit.
func (l *LimitResult) Used() float64 { return ratio(l.Measured, l.Limit) }

// Binding returns the limit that binds. Among the missed limits, or among all if none is missed, it
// is the limit of which the largest share is used. Binding returns nil if there is no limit.
func Binding(limits []LimitResult) *LimitResult {
	if i := binding(limits); i >= 0 {
		return &limits[i]
	}
	return nil
}

// binding returns the index of the limit that binds, or -1 if there is none.
func binding(limits []LimitResult) int {
	best := -1
	for i := range limits {
		switch l := &limits[i]; {
		case best < 0 || !l.Met && limits[best].Met:
			best = i
		case l.Met == limits[best].Met && l.Used() > limits[best].Used():
			best = i
		}
	}
	return best
}
