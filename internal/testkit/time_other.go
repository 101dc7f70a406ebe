//go:build !unix

package testkit

import "time"

// processorTime is the time of day, where no other is at hand.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
