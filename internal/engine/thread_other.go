//go:build !linux

package engine

import "time"

// ThreadTime returns false: there is no clock of a thread's own.
func ThreadTime() (used time.Duration, ok bool) { return 0, false }

// ProcessTime returns false.
func ProcessTime() (used time.Duration, ok bool) { return 0, false }
