package main

import (
	"context"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Simulations keep little, so collecting garbage often only costs time: with the usual 100, two
// cores that plan are a tenth slower. The weights of GPT-2 are kept: with 400, processes with 124M
// take 1.3 GB at the peak, with 100 1 GB.
const (
	growthOfSimulations = 400
	growthOfWeights     = 100
)

// collectGarbage sets how much is allocated before garbage is collected, in percent of what is
// kept. The variable GOGC has precedence.
func collectGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// defaultGrace is how long a command that is interrupted may tidy up. One that waits for a file to
// be read, say, cannot look whether it is interrupted, and is left behind. A command may ask for
// more.
const defaultGrace = 800 * time.Millisecond

// gracePeriod is how long the command of a context may take to end once it is interrupted.
type gracePeriod struct{ atomic.Int64 }

// leaveIn is the key of the leave of a context.
type leaveIn struct{}

// takeLeave lets the command of a context take some time to end once it is interrupted, beside the
// usual time to tidy up.
func takeLeave(ctx context.Context, span time.Duration) {
	if l, ok := ctx.Value(leaveIn{}).(*gracePeriod); ok {
		l.Store(int64(span + defaultGrace))
	}
}
