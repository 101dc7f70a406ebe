package steptime

import "github.com/llmsim/llmsim/sim"

// memo keeps the values of a cost that depends on a count. Values for counts beyond its limit are
// computed each time.
type memo struct {
	times []sim.Time
	fill  func(n int) sim.Time
}

// memoLimit bounds the memory of a memo: 8 MiB.
const memoLimit = 1 << 20

func (m *memo) at(n int) sim.Time {
	if n < len(m.times) && m.times[n] > 0 {
		return m.times[n]
	}
	if n == 0 || n >= memoLimit {
		return m.fill(n)
	}
	if missing := n + 1 - len(m.times); missing > 0 {
		m.times = append(m.times, make([]sim.Time, missing)...)
	}
	m.times[n] = m.fill(n)
	return m.times[n]
}

// verification is what a step that verifies drafts, and has no prompts, takes beside attention: the
// time of the accelerators, the time of adapters, and what the host adds. It does not depend on the
// context, so that it is the same in most steps of a leap.
type verification struct {
	sequences, tokens             int
	rest, adapters, floor, serial sim.Time
}

// verifications is a number of places that is a power of two. Each keeps the last verification that
// falls there.
type verifications [64]verification
