// Command llmsim simulates serving large language models: a scenario in, numbers to act on out.
// Each command has a file here that turns flags into calls; what they do is in the packages below.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	collectGarbage(growthOfSimulations)
	os.Exit(run())
}

// run is main, with its exit code returned.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var left gracePeriod
	left.Store(int64(defaultGrace))
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
