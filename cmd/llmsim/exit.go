package main

import (
	"context"
	"errors"

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
