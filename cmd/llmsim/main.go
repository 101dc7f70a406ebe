// Command llmsim simulates serving large language models: a scenario in, numbers to act on out.
// Each command has a file here that turns flags into calls; what they do is in the packages below.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
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
// read, say, cannot look whether it is interrupted, and is left behind.
const leaving = 800 * time.Millisecond

// run is main, with its exit code returned.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
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
	case <-time.After(leaving):
		fmt.Fprintln(os.Stderr, "llmsim: interrupted")
		return exitFailed
	}
}
