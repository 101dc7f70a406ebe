package cputime

import (
	"runtime"
	"testing"
)

// TestWorkTakesTime spins until both clocks have moved, which they do for work, and never
// backwards.
func TestWorkTakesTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, process := Thread(), Process()
	for Thread() == thread || Process() == process {
		if Thread() < thread || Process() < process {
			t.Fatal("processor time runs backwards")
		}
	}
}
