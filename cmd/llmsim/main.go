// Command llmsim simulates serving large language models: a scenario in, numbers to act on out.
// Each command has a file here that turns flags into calls; what they do is in the packages below.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/scenarios"
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

// standardOutput is standard output, with the first error of writing to it: a disk may be full.
type standardOutput struct {
	io.Writer
	err error
}

// Write writes on.
func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd returns the number of the file, which says whether there is a terminal.
func (o *standardOutput) Fd() uintptr {
	if file, ok := o.Writer.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0) // no file
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "llmsim", scenarios.Version())
			return err
		},
	}
}
