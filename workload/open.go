// Package workload makes the stream of requests that a simulation serves.
//
// Open makes a stream from a Config. Requests are drawn from classes, or come from a trace. They
// are sent at the times of an arrival process, by a fixed number of users who each wait for their
// answer, or at the recorded times. The parts are:
//
//	lengths    distributions of prompt and output lengths
//	arrivals   arrival processes, rates that change, thinking times
//	trace      recorded workloads and their formats
//
// Arrivals, bursts, choice of class, prompt lengths, output lengths, choice of shared prefix, turns
// and thinking draw from random streams of their own, and every length takes exactly one number. So
// changing one part of a workload leaves the others as they were, and two runs can be compared
// under common random numbers. The same Config gives the same stream on every machine, as far as
// the last digit of exp and log is the same there.
package workload

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/trace"
)

// Source is a stream of requests that can describe itself.
type Source interface {
	sim.Source
	// Closer closes the trace, if there is one.
	io.Closer
	// Summary returns a description of the workload.
	Summary() Summary
	// Counts says what happened to the rows of the trace in one pass, so far; zero without a
	// trace.
	Counts() trace.Counts
}

// Open checks c and starts the workload. It returns an error if the parts do not go together, a
// parameter is out of range, or the trace cannot be read. Err returns errors that are found later
// in a trace.
func Open(c Config) (Source, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	limit := limit{left: c.Requests, until: c.Duration}
	if c.Requests == 0 {
		limit.left = math.MaxInt64
	}
	if c.Duration == 0 {
		limit.until = sim.Never
	}
	source, err := start(c, limit)
	if err == nil && len(c.Escalations) > 0 {
		source = withEscalations(source, c.Escalations, len(c.Classes), c.Seed)
	}
	if err != nil {
		return nil, err
	}
	all, err := withPatience(source, c)
	if err == nil && c.Adapters != nil {
		all, err = withAdapters(all, c.Adapters, c.Seed)
	}
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return all, nil
}

// start starts a workload that was checked.
func start(c Config, limit limit) (ended, error) {
	switch {
	case len(c.Traces) > 0:
		return newMerged(c, limit)
	case c.replays():
		r, err := newReplay(c.Trace, c.Seed, c.KeepCut, limit)
		if err != nil {
			return nil, err
		}
		r.summary = c.summary()
		return r, nil
	}
	return newGenerator(c, limit)
}
