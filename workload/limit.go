package workload

import "github.com/llmsim/llmsim/sim"

// limit ends a stream.
type limit struct {
	// left is the number of requests that may still be sent, and until the time from which no
	// request is.
	left  int64
	until sim.Time
	timed bool // the time ended the stream
}

// apply returns at, or sim.Never where no request may be sent then.
func (l *limit) apply(at sim.Time) sim.Time {
	l.timed = l.left > 0 && at >= l.until && at != sim.Never
	if l.left <= 0 || at >= l.until {
		return sim.Never
	}
	return at
}

// Until implements sim.Timed.
func (l *limit) Until() sim.Time {
	if l.timed {
		return l.until
	}
	return 0
}
