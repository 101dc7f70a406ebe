// Package alarm waits for a moment more exactly than timers of the standard library, which on Linux
// are late by up to a millisecond (the runtime hands epoll whole milliseconds). What is sent or
// streamed at simulated times needs tens of microseconds.
package alarm

import (
	"sync/atomic"
	"time"
)

// Alarm wakes one goroutine at a time that is set, or earlier when another goroutine asks for it.
type Alarm struct {
	asleep atomic.Bool // a Wake must interrupt the wait
	due    atomic.Bool // a Wake came since the last wait
	sleeper
}

// New returns an alarm. Close frees what it holds.
func New() (*Alarm, error) {
	a := &Alarm{}
	return a, a.open()
}

// Wait returns when the time has come or after Wake was called, also if that was before Wait. The
// zero time means that only Wake ends the wait.
func (a *Alarm) Wait(until time.Time) {
	a.asleep.Store(true)
	if !a.due.Load() {
		a.sleep(until)
	}
	a.asleep.Store(false)
	a.due.Store(false)
}

// Wake ends the wait under way, or the next one. Any goroutine may call it.
func (a *Alarm) Wake() {
	if !a.due.Swap(true) && a.asleep.Load() {
		a.interrupt()
	}
}

// Close frees the alarm, which nobody may use any more.
func (a *Alarm) Close() error { return a.close() }
