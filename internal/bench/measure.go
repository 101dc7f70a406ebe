package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/sim"
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

// Cost is a process's CPU time on all processors in seconds, and the most memory that it
// had at once in bytes, 0 where the system does not tell.
type Cost struct {
	Seconds float64
	Memory  int64
}

// run runs the case in a process of its own with the given program.
func run(ctx context.Context, program string, c *Case, requests int) (cost Cost, err error) {
	folder, err := os.MkdirTemp("", "llmsim-bench")
	if err != nil {
		return Cost{}, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "bench.yaml")
	if err := files.WriteBytes(file, []byte(scenario), 0o600); err != nil {
		return Cost{}, err
	}
	cmd := exec.CommandContext(ctx, program,
		c.arguments(requests, file, filepath.Join(folder, "out"))...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // a second one makes it quicker, but not cheaper
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return Cost{}, ctx.Err()
		}
		return Cost{}, fmt.Errorf("%s: %s: %w: %s", c.Name, program, err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	state := cmd.ProcessState
	return Cost{(state.UserTime() + state.SystemTime()).Seconds(), peak(state)}, nil
}

// Pairs compares two builds by the ratios of their times in pairs of runs.
type Pairs struct {
	// Ratio is the median of the ratios, less than 1 where the build is faster than the other one.
	Ratio float64 `json:"ratio"`
	// From and To bound the median of all such ratios with the given confidence, which is the
	// least that is at least 0.9, or the largest that so few pairs can give.
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Confidence float64 `json:"confidence"`
	Pairs      int     `json:"pairs"`
}

// compare compares times with another build's, pair by pair.
func compare(times, others []float64) *Pairs {
	list := ratios(times, others)
	slices.Sort(list)
	from, confidence := bounds(len(list))
	return &Pairs{Ratio: median(list), From: list[from], To: list[len(list)-1-from],
		Confidence: confidence, Pairs: len(list)}
}

// bounds returns which of n sorted values bounds their median from below, as the one as far from
// the end does from above, and with what confidence. The number of values below the median is
// binomial with n trials of chance 1/2, whatever their distribution.
func bounds(n int) (from int, confidence float64) {
	const wanted = 0.9
	chance := 1.0 // that exactly k values are below the median
	for range n {
		chance /= 2
	}
	confidence = 1 - 2*chance
	for k := 1; k < (n+1)/2; k++ {
		chance *= float64(n-k+1) / float64(k)
		if confidence-2*chance < wanted {
			break
		}
		from, confidence = k, confidence-2*chance
	}
	return from, max(0, confidence)
}

// ratios divides values pair by pair.
func ratios(above, below []float64) []float64 {
	list := make([]float64, len(above))
	for i := range list {
		list[i] = above[i] / below[i]
	}
	return list
}

// median returns the median of some values, at least one.
func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[n/2] + list[(n-1)/2]) / 2
}

// layOut returns the results for people. Pairs with another build take the place of the counts.
func layOut(results []Result) doc.Blocks {
	t := doc.Block{Kind: doc.Table, Left: []int{0},
		Header: []string{"case", "CPU s", "µs", "ratio", "goal", "MB"}}
	paired := len(results) > 0 && results[0].Against != nil
	if paired {
		t.Header = append(t.Header, "new/other", "interval")
	} else {
		t.Header = append(t.Header, "steps", "allocs", "bytes")
	}
	for i := range results {
		r := &results[i]
		row := []string{r.Case, fmt.Sprintf("%.2f", r.Seconds),
			fmt.Sprintf("%.2f", r.Microseconds), known(r.Ratio, "%.2f"), known(r.Goal, "%g"),
			known(float64(r.Memory)/1e6, "%.0f")}
		switch c, p := r.Counts, r.Against; {
		case paired:
			row = append(row, fmt.Sprintf("%.3f", p.Ratio),
				fmt.Sprintf("%.3f–%.3f (%.0f%%)", p.From, p.To, 100*p.Confidence))
		case c != nil:
			row = append(row, fmt.Sprintf("%.1f", c.Steps),
				fmt.Sprintf("%.2f", c.Allocations), fmt.Sprintf("%.0f", c.Bytes))
		}
		t.Rows = append(t.Rows, row)
	}
	return doc.Blocks{t}
}

// WriteTable writes the results for a terminal.
func WriteTable(w io.Writer, results []Result) error {
	return doc.Print(w, layOut(results))
}

// WriteMarkdown writes the results as a table for a page.
func WriteMarkdown(w io.Writer, results []Result) error {
	return layOut(results).Markdown(w)
}

// known prints a figure, or nothing where it is 0, which means that it is not known.
func known(x float64, format string) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}
