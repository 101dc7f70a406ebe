//go:build !linux

package alarm

import "time"

// sleeper waits for a timer of the standard library.
type sleeper struct{ woken chan struct{} }

func (s *sleeper) open() error {
	s.woken = make(chan struct{}, 1)
	return nil
}

func (s *sleeper) close() error { return nil }

func (s *sleeper) sleep(until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
	case <-s.woken:
	}
}

func (s *sleeper) interrupt() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}
