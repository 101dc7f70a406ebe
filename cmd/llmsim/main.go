// Command llmsim simulates serving large language models: a scenario in, numbers to act on out.
// Each command has a file here that turns flags into calls; what they do is in the packages below.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	collectGarbage(growthOfSimulations)
	os.Exit(run())
}

// Simulations keep little, so collecting garbage often only costs time: with the usual 100, two
// cores that plan are a tenth slower. The weights of GPT-2 are kept: with 400, those of 124M take
// 1.3 GB at the peak, with 100 1 GB.
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

// leaving is how long a command that is interrupted may tidy up. One that waits for a file to be
// read, say, cannot look whether it is interrupted, and is left behind. A command may ask for more.
const leaving = 800 * time.Millisecond

// leave is how long the command of a context may take to end once it is interrupted.
type leave struct{ atomic.Int64 }

// leaveIn is the key of the leave of a context.
type leaveIn struct{}

// takeLeave lets the command of a context take some time to end once it is interrupted, beside the
// usual time to tidy up.
func takeLeave(ctx context.Context, span time.Duration) {
	if l, ok := ctx.Value(leaveIn{}).(*leave); ok {
		l.Store(int64(span + leaving))
	}
}

// run is main, with its exit code returned.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var left leave
	left.Store(int64(leaving))
	ctx = context.WithValue(ctx, leaveIn{}, &left)
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, os.Args[1:], os.Stdout, os.Stderr) }()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
		stop() // a second signal ends the process at once
	}
	select {
	case code := <-ended:
		return code
	case <-time.After(time.Duration(left.Load())):
		fmt.Fprintln(os.Stderr, "llmsim: interrupted")
		return exitFailed
	}
}
