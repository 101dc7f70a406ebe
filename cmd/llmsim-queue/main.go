// Command llmsim-queue is the NATS server that llmsim starts for a sweep or plan with --listen. It
// takes its options from its input and ends with it; nobody needs to call it by hand.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/llmsim/llmsim/internal/planner/queue/host"
)

func main() {
	// A terminal sends Ctrl-C to llmsim too, which ends this process when it has tidied up.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := host.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "llmsim-queue:", err)
		os.Exit(1)
	}
}
