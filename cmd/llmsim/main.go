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
	// Commands and simulations keep little, so collecting garbage often only costs time: with the
	// usual 100, two cores that plan are a tenth slower. The variable GOGC says otherwise.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(run())
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
