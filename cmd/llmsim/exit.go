package main

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/scenarios"
)

// Exit codes.
const (
	exitDone      = 0
	exitFailed    = 1 // the run failed, or was interrupted
	exitBadInput  = 2 // scenario, flags or arguments are wrong
	exitSLOMissed = 3 // with --check-slo; with --fail-on, a limit is passed; no twin, no host
	exitTraffic   = 4 // twin drift: only the traffic changed
)

var (
	errSLOMissed  = errors.New("the SLO is missed")
	errGateFailed = errors.New("a limit of --fail-on is broken")
)

// runError is an error that is not the fault of the input. Commands return it for what goes wrong
// once the input is read and checked; all other errors are about the input.
type runError struct{ error }

func (e runError) Unwrap() error { return e.error }

// failed marks an error as a failure of the run, unless it is nil or about the input after all.
func failed(err error) error {
	if err == nil || scenarios.IsInputError(err) {
		return err
	}
	return runError{err}
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var failure runError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errSLOMissed), errors.Is(err, errGateFailed),
		errors.Is(err, errMachineDrifted), errors.Is(err, errNoTwin),
		errors.Is(err, fit.ErrNoHost):
		return exitSLOMissed
	case errors.Is(err, errTrafficDrifted):
		return exitTraffic
	case errors.As(err, &failure), errors.As(err, new(files.Unwritten)),
		errors.Is(err, context.Canceled):
		return exitFailed
	}
	return exitBadInput
}

// Errors of llmsim twin adapt and drift.
var (
	errNoTwin = errors.New("the scenario is no twin of what was observed; " +
		"no file is written")
	errMachineDrifted = errors.New("the machine changed")
	errTrafficDrifted = errors.New("the traffic changed")
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
