//go:build !linux

package cputime

import "time"

// Thread returns false: there is no clock of a thread's own.
func Thread() (used time.Duration, ok bool) { return 0, false }

// Process returns false.
func Process() (used time.Duration, ok bool) { return 0, false }
