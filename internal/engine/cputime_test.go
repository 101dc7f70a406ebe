package engine

import (
	"runtime"
	"testing"
	"time"
)

// TestWorkTakesTime spins until each clock that there is has moved, which it does for work, and
// never backwards.
func TestWorkTakesTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, clock := range map[string]func() (time.Duration, bool){
		"thread": ThreadTime, "process": ProcessTime} {
		begin, ok := clock()
		if !ok {
			continue
		}
		for last := begin; last == begin; {
			now, _ := clock()
			if now < last {
				t.Fatalf("the processor time of the %s runs backwards", name)
			}
			last = now
		}
	}
}
