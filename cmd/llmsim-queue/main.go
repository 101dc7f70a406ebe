// Command llmsim-queue is the NATS server that llmsim starts for a sweep or plan with --listen. It
// takes its configuration file as its argument and ends with its input; nobody needs to call it by
// hand.
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
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "llmsim-queue: want a configuration file, which llmsim writes")
		os.Exit(2)
	}
	if err := host.Serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "llmsim-queue:", err)
		os.Exit(1)
	}
}
