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
