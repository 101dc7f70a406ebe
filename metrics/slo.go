package metrics

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// SLO is a service level objective. It has limits that a share of the requests must keep all at
// once, and limits of percentiles, which must each be kept by itself.
type SLO struct {
	// TTFT, TPOT and E2E are the limits for a single request; 0 means no limit.
	TTFT, TPOT, E2E sim.Time
	// Share is the share of the requests that must keep all these limits, in (0, 1]. If it is 0, no
	// share is required, and the limits only define goodput.
	Share float64
	// Percentiles holds the limits of percentiles.
	Percentiles []PercentileLimit
}

// PercentileLimit is a limit of a percentile of a latency. Requests whose users had no first token
// count as slower than any other.
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
	return s.TTFT == 0 && s.TPOT == 0 && s.E2E == 0 && len(s.Percentiles) == 0
}

// verdict says which limits a request kept.
type verdict struct{ ttft, tpot, e2e bool }

func (v verdict) all() bool { return v.ttft && v.tpot && v.e2e }

// judge says which limits a request kept whose user had the first token, given its E2E latency, or
// what Cut says of it.
func (s *SLO) judge(q *sim.Sequence, e2e sim.Time) verdict {
	return verdict{
		ttft: s.TTFT == 0 || q.TTFT() <= s.TTFT,
		tpot: s.TPOT == 0 || q.TPOT() <= s.TPOT,
		e2e:  s.E2E == 0 || e2e <= s.E2E,
	}
}

// Kept reports whether a request kept every limit for single requests, given its E2E latency.
func (s SLO) Kept(q *sim.Sequence, e2e sim.Time) bool { return s.judge(q, e2e).all() }

// Cut returns a request whose user left in the middle of the answer as one whose answer has only
// the tokens that the user had, and the E2E latency that it would have had if the other tokens had
// come at the same pace: a user who leaves says nothing about a server that is quick enough, and
// excuses none that is too slow. Cut reports false if the request ended otherwise.
func Cut(s *sim.Sequence, why sim.Rejection) (part sim.Sequence, e2e sim.Time, cut bool) {
	if why != sim.Cancelled || s.Answered == 0 {
		return part, 0, false
	}
	part = *s
	part.Output, part.LastToken = s.Answered, max(s.FirstToken, s.LastToken)
	rest := float64(part.TPOT()) * float64(s.Output-s.Answered)
	return part, part.E2E() + sim.Time(min(rest, float64(sim.Never/4))), true
}

// LimitResult says how well one limit of an SLO was kept.
type LimitResult struct {
	Latency Latency `json:"latency"`
	// Percentile is the share of the requests that must keep the limit, in percent.
	Percentile float64 `json:"percentile" jsonschema:"share in percent that must keep the limit; of arrived requests, or of gaps of admitted requests"`
	// Joint reports whether the requests must keep other limits at the same time.
	Joint bool `json:"joint"`
	// Limit is the limit, and Measured the percentile of the requests whose answers began, both in
	// milliseconds. E2E latencies of answers that were cut are as Cut says.
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

// Binding returns the limit that binds. Among the missed limits, or among all if each is kept, it
// is the limit that is used by the largest share. Binding returns nil if there is no limit.
func Binding(limits []LimitResult) *LimitResult {
	if i := binding(limits); i >= 0 {
		return &limits[i]
	}
	return nil
}

// binding returns the index of the limit that binds, or -1 without limits.
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
