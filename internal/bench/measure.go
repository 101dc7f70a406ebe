package bench

import (
	"context"
	"fmt"
)

// Options say what is measured.
type Options struct {
	// Program is the path of the build that is measured, and Against the path of another one; empty
	// without one.
	Program, Against string
	// Rounds is the number of runs of each case, at least 1.
	Rounds int
	// Requests replaces the number of requests of each case; 0 keeps them.
	Requests int
}

// Result is the measured cost of a case.
type Result struct {
	Case     string `json:"case"`
	Requests int    `json:"requests"`
	// Seconds is the processor's time of a run (median), and Microseconds the time of a request.
	Seconds      float64 `json:"cpu_seconds"`
	Microseconds float64 `json:"us_per_request"`
	// Memory is the most that a run had at once, in bytes.
	Memory int64 `json:"memory,omitempty"`
	// Ratio is the time of a request over the base's, the first case (median over rounds in which
	// both ran), and Goal the ratio that is wanted. The base has neither.
	Ratio float64 `json:"ratio,omitempty"`
	Goal  float64 `json:"goal,omitempty"`
	// Counts are the simulation's; nil for cases that run several simulations or write files.
	Counts *Counts `json:"counts,omitempty"`
	// Against compares the build with the other one; nil without one.
	Against *Pairs `json:"against,omitempty"`
}

// Measure runs the cases in rounds, and calls progress before each run. In each round every case
// runs once, or once with each of two builds, which take turns to begin.
func Measure(ctx context.Context, cases []Case, o Options, progress func(string)) ([]Result,
	error) {
	results := make([]Result, len(cases))
	times := make([][]float64, len(cases)) // seconds a request by case and round
	others := make([][]float64, len(cases))
	for i := range cases {
		c, r := &cases[i], &results[i]
		r.Case, r.Requests, r.Goal = c.Name, c.Requests, c.Goal
		if o.Requests > 0 {
			r.Requests = o.Requests
		}
	}
	for round := range o.Rounds {
		for i := range cases {
			c, r := &cases[i], &results[i]
			progress(fmt.Sprintf("%s: round %d of %d", c.Name, round+1, o.Rounds))
			for _, program := range o.turns(round) {
				cost, err := run(ctx, program, c, r.Requests)
				if err != nil {
					return nil, err
				}
				if program == o.Against {
					others[i] = append(others[i], cost.Seconds/float64(r.Requests))
					continue
				}
				times[i] = append(times[i], cost.Seconds/float64(r.Requests))
				r.Memory = max(r.Memory, cost.Memory)
			}
		}
	}
	for i := range results {
		r := &results[i]
		r.Seconds = median(times[i]) * float64(r.Requests)
		r.Microseconds = median(times[i]) * 1e6
		if i > 0 {
			r.Ratio = median(ratios(times[i], times[0]))
		}
		if o.Against != "" {
			r.Against = compare(times[i], others[i])
		}
	}
	return results, addCounts(ctx, cases, results, progress)
}

// addCounts counts what the cases cost. It comes after the runs: a process counts as if it had had
// the memory of the one that started it.
func addCounts(ctx context.Context, cases []Case, results []Result, progress func(string)) error {
	for i := range cases {
		c := &cases[i]
		if c.Interval || c.Out {
			continue
		}
		progress(c.Name + ": counts")
		counts, err := Count(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		results[i].Counts = &counts
	}
	return nil
}

// turns returns the builds that run in a round, in their order.
func (o *Options) turns(round int) []string {
	switch {
	case o.Against == "":
		return []string{o.Program}
	case round%2 == 1:
		return []string{o.Against, o.Program}
	}
	return []string{o.Program, o.Against}
}
