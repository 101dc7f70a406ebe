package bench

import (
	"context"
	"runtime"

	"github.com/llmsim/llmsim/sim"
)

// Counts is the cost of a request in counts that depend neither on the machine nor on its load.
type Counts struct {
	// Steps is the number of times that a replica forms a step; steps that it leaps over do not
	// count.
	Steps float64 `json:"steps"`
	// Allocations and Bytes count what is allocated during the run.
	Allocations float64 `json:"allocations"`
	Bytes       float64 `json:"bytes"`
}

// Count returns the counts of a request of the case: the counts of a run with many requests less
// the counts of a run with few, so that what a run costs by itself does not count.
func Count(ctx context.Context, c *Case) (Counts, error) {
	const few, many = 10_000, 30_000
	if _, err := count(ctx, c, few); err != nil { // fills what all runs share
		return Counts{}, err
	}
	less, err := count(ctx, c, few)
	if err != nil {
		return Counts{}, err
	}
	more, err := count(ctx, c, many)
	return Counts{
		Steps:       (more.Steps - less.Steps) / (many - few),
		Allocations: (more.Allocations - less.Allocations) / (many - few),
		Bytes:       (more.Bytes - less.Bytes) / (many - few),
	}, err
}

// count returns the counts of a whole run.
func count(ctx context.Context, c *Case, requests int) (Counts, error) {
	s, err := c.Build(requests)
	if err != nil {
		return Counts{}, err
	}
	var seen counter
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := s.Run(ctx, &seen); err != nil {
		return Counts{}, err
	}
	runtime.ReadMemStats(&after)
	return Counts{
		Steps:       float64(seen),
		Allocations: float64(after.Mallocs - before.Mallocs),
		Bytes:       float64(after.TotalAlloc - before.TotalAlloc),
	}, nil
}

// counter counts the steps that were formed and have ended.
type counter int64

// Steps implements sim.Observer.
func (c *counter) Steps(*sim.Leap) { *c++ }

// Finished implements sim.Observer.
func (c *counter) Finished(*sim.Sequence) {}

// Rejected implements sim.Observer.
func (c *counter) Rejected(*sim.Request, sim.Rejection) {}

// Sampled implements sim.Observer.
func (c *counter) Sampled(sim.Time, int, sim.State) {}
