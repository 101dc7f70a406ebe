package metrics

import "github.com/llmsim/llmsim/sim"

// SLO is a service level objective: limits that a share of the requests must keep.
type SLO struct {
	// TTFT, TPOT and E2E are the limits; 0 means none.
	TTFT, TPOT, E2E sim.Time
	// Share is the part of the requests that must keep all limits, in (0, 1].
	Share float64
}

// None reports whether s has no limit.
func (s SLO) None() bool { return s.TTFT == 0 && s.TPOT == 0 && s.E2E == 0 }

// verdict says which limits a request kept.
type verdict struct{ ttft, tpot, e2e bool }

func (v verdict) all() bool { return v.ttft && v.tpot && v.e2e }

func (s SLO) judge(q *sim.Sequence) verdict {
	return verdict{
		ttft: s.TTFT == 0 || q.TTFT() <= s.TTFT,
		tpot: s.TPOT == 0 || q.TPOT() <= s.TPOT,
		e2e:  s.E2E == 0 || q.E2E() <= s.E2E,
	}
}

// Kept reports whether a finished request kept every limit of s.
func (s SLO) Kept(q *sim.Sequence) bool { return s.judge(q).all() }
