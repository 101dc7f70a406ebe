//go:build !linux

package cputime

import "time"

var begin = time.Now()

// Thread returns wall time: there is no clock of a thread's own.
func Thread() time.Duration { return time.Since(begin) }

// Process returns wall time.
func Process() time.Duration { return time.Since(begin) }
