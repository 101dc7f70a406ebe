package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// On a machine that is shared, the processor time of a computation says more about it than the time
// that passed: the time that other programs had the processors is left out, though not what they
// took of caches and memory.

// ThreadTime returns the processor time that the calling thread has used, and whether the system
// has a clock for it. Call it from a goroutine that is locked to its thread.
func ThreadTime() (used time.Duration, ok bool) { return read(unix.CLOCK_THREAD_CPUTIME_ID), true }

// ProcessTime returns the processor time that all threads of the program have used together, and
// whether the system has a clock for it.
func ProcessTime() (used time.Duration, ok bool) {
	return read(unix.CLOCK_PROCESS_CPUTIME_ID), true
}

func read(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // both clocks are part of every kernel
	}
	return time.Duration(t.Nano())
}
